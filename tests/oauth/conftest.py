"""Services with the settings that tests of OAuth need."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.databases import FreshDatabase
from support.server import Server


@pytest.fixture
def proxied(fresh_database: FreshDatabase, tmp_path: Path) -> Iterator[Server]:
    """A service that trusts a proxy on this machine."""
    with Server.over(fresh_database, tmp_path, trusted_proxies="127.0.0.1") as server:
        yield server
