from pathlib import Path

import pytest

from auth.token_forger import TokenForger
from comptoir.auth.keys import KeyRing, load_keys


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> KeyRing:
    return load_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def forger(keys: KeyRing) -> TokenForger:
    return TokenForger(keys)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "auth" / "keys"
