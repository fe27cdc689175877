"""Servers of two processes, and of one's own: to be stopped and killed."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from support.databases import FreshDatabase
from support.server import Server


class StartServer(Protocol):
    """What `start_server` gives."""

    def __call__(
        self,
        workers: int = 1,
        wrapper: Sequence[str] = (),
        stop_seconds: float = 8.0,
        request_seconds: float = 60.0,
        stall_seconds: float = 60.0,
    ) -> Server: ...


@pytest.fixture(scope="session")
def two(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """The service as two processes, which are not to be stopped."""
    folder = tmp_path_factory.mktemp("two")
    settings = Settings(database=fresh_database(folder, MODEL), keys=str(folder / "keys"))
    with Server(settings, folder, workers=2) as server:
        yield server


@pytest.fixture
def start_server(fresh_database: FreshDatabase, tmp_path: Path) -> Iterator[StartServer]:
    """Starts a server on a database of its own; `workers` and `wrapper` as `Server` has them.

    `stop_seconds`, `request_seconds` and `stall_seconds` are the settings of these names.
    """
    with ExitStack() as servers:

        def start(
            workers: int = 1,
            wrapper: Sequence[str] = (),
            stop_seconds: float = 8.0,
            request_seconds: float = 60.0,
            stall_seconds: float = 60.0,
        ) -> Server:
            settings = Settings(
                database=fresh_database(tmp_path, MODEL),
                keys=str(tmp_path / "keys"),
                stop_seconds=stop_seconds,
                request_seconds=request_seconds,
                stall_seconds=stall_seconds,
            )
            return servers.enter_context(Server(settings, tmp_path, workers, wrapper))

        yield start
