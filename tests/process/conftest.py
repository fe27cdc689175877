"""A server with two processes, one with TLS, and servers that a test may stop and kill."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings, Switch
from support.databases import FreshDatabase
from support.server import Server, with_tls
from support.waiting import PATIENCE_SECONDS


class StartServer(Protocol):
    """The type of the fixture `start_server`."""

    def __call__(
        self,
        workers: int = 1,
        wrapper: Sequence[str] = (),
        stop_seconds: float = PATIENCE_SECONDS,
        request_seconds: float = 60.0,
        stall_seconds: float = 60.0,
        *,
        https: bool = False,
        faults: Switch = "off",
    ) -> Server: ...


@pytest.fixture(scope="session")
def two(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """The service with two processes, which tests must not stop."""
    folder = tmp_path_factory.mktemp("two")
    settings = Settings(
        database=fresh_database(folder, MODEL),
        keys=str(folder / "keys"),
        # of many writers, some wait long on a slow machine
        lock_seconds=PATIENCE_SECONDS,
    )
    with Server(settings, folder, workers=2) as server:
        yield server


@pytest.fixture(scope="session")
def secure_server(
    fresh_sqlite: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """The service with TLS, which does not depend on the database; tests must not stop it."""
    folder = tmp_path_factory.mktemp("secure")
    settings = Settings(database=fresh_sqlite(folder, MODEL), keys=str(folder / "keys"))
    with Server(with_tls(settings, folder / "tls"), folder) as server:
        yield server


@pytest.fixture
def start_server(fresh_database: FreshDatabase, tmp_path: Path) -> Iterator[StartServer]:
    """Starts a server on its own database; the arguments are those of `Server` and settings."""
    with ExitStack() as servers:

        def start(
            workers: int = 1,
            wrapper: Sequence[str] = (),
            stop_seconds: float = PATIENCE_SECONDS,
            request_seconds: float = 60.0,
            stall_seconds: float = 60.0,
            *,
            https: bool = False,
            faults: Switch = "off",
        ) -> Server:
            settings = Settings(
                database=fresh_database(tmp_path, MODEL),
                keys=str(tmp_path / "keys"),
                lock_seconds=PATIENCE_SECONDS,
                stop_seconds=stop_seconds,
                request_seconds=request_seconds,
                stall_seconds=stall_seconds,
                faults=faults,
            )
            if https:
                settings = with_tls(settings, tmp_path / "tls")
            return servers.enter_context(Server(settings, tmp_path, workers, wrapper))

        yield start
