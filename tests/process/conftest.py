"""A server with two processes, one with TLS, and servers that a test may stop and kill.

The first two end with their module, as `server` does.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.companies import Company
from support.databases import FreshDatabase
from support.server import Server, ShareServer
from support.waiting import PATIENCE_SECONDS

StartServer = Callable[..., Server]
"""Starts a server; the arguments are those of `Server.over` after the folder."""


@pytest.fixture(scope="module")
def two(share_server: ShareServer) -> Server:
    """The service with two processes, which tests must not stop."""
    # of many writers, some wait long on a slow machine
    return share_server(workers=2, lock_seconds=PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def secure_server(
    fresh_sqlite: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """The service with TLS, which does not depend on the database; tests must not stop it."""
    folder = tmp_path_factory.mktemp("secure")
    with Server.over(fresh_sqlite, folder, https=True) as server:
        yield server


@pytest.fixture(scope="module", params=["http", "https"])
def either(request: pytest.FixtureRequest, server: Server, secure_server: Server) -> Server:
    """The service over both, because TLS has a transport of its own."""
    return secure_server if request.param == "https" else server


AGENTS = 1_000
"""Records of a response that comes in pieces."""


def with_agents(server: Server) -> Company:
    """A company with shipping agents."""
    company = server.new_company()
    company.load("shippingAgentsExt", *({"code": f"{n}", "name": "x" * 90} for n in range(AGENTS)))
    return company


@pytest.fixture
def start_server(fresh_database: FreshDatabase, tmp_path: Path) -> Iterator[StartServer]:
    """Starts servers on one database, which end with the test."""
    with ExitStack() as servers:

        def start(workers: int = 1, wrapper: Sequence[str] = (), **given: float | str) -> Server:
            patient = {"lock_seconds": PATIENCE_SECONDS, "stop_seconds": PATIENCE_SECONDS}
            settings = {**patient, **given}
            server = Server.over(fresh_database, tmp_path, workers, wrapper, **settings)  # type: ignore[arg-type]
            return servers.enter_context(server)

        yield start
