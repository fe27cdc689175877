"""Services with the settings that tests of OAuth need."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from support.databases import FreshDatabase
from support.server import Server


@pytest.fixture
def proxied(fresh_database: FreshDatabase, tmp_path: Path) -> Iterator[Server]:
    """A service that trusts a proxy on this machine."""
    settings = Settings(
        database=fresh_database(tmp_path, MODEL),
        keys=str(tmp_path / "keys"),
        trusted_proxies="127.0.0.1",
    )
    with Server(settings, tmp_path) as server:
        yield server
