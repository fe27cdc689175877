"""The fixture `comptoir` as clients' tests use it, with the cache of the test run."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from comptoir.config import SettingValue


@pytest.fixture(scope="session")
def comptoir_settings(cache_folder: Path) -> Iterator[Mapping[str, SettingValue]]:
    """No settings; the sample company is created by this version of the code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache_folder))
        yield {}
