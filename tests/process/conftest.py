"""Servers of one's own: to be stopped and killed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from support.databases import FreshDatabase
from support.server import Server

StartServer = Callable[..., Server]


@pytest.fixture
def start_server(fresh_database: FreshDatabase, tmp_path: Path) -> Iterator[StartServer]:
    """Starts a server on a database of its own; `workers` and `wrapper` as `Server` has them."""
    with ExitStack() as servers:

        def start(workers: int = 1, wrapper: Sequence[str] = ()) -> Server:
            settings = Settings(database=fresh_database(tmp_path, MODEL), keys=f"{tmp_path}/keys")
            return servers.enter_context(Server(settings, tmp_path, workers, wrapper))

        yield start
