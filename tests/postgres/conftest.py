"""Servers of PostgreSQL that tests may stop, kill and fill, with services over them."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import asyncpg
import pytest

from comptoir.catalog import MODEL
from comptoir.edm.model import Model
from comptoir.store.postgres import replica_reads
from comptoir.store.postgres import store as postgres_store
from postgres.replication import Pair, ReplicatedService
from support.companies import Company
from support.databases import migrated, run_sql
from support.postgres import Databases, Postgres
from support.service import Service
from support.standby import Standby
from support.waiting import PATIENCE_SECONDS

Served = Callable[..., Service]
"""A service over the database at a URL, with settings of its own."""


@contextmanager
def locks_held(url: str, statement: str) -> Iterator[Callable[[], None]]:
    """Keep what a statement locks until the block ends, or the returned function is called."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(url))
        runner.run(connection.execute(f"BEGIN; {statement}"))

        def release() -> None:
            runner.run(connection.close())

        try:
            yield release
            release()
        finally:
            connection.terminate()


@contextmanager
def on_insert(url: str, table: str, statements: str) -> Iterator[None]:
    """Let each insert into a table begin with statements of PL/pgSQL, until the block ends."""
    function = f"$$BEGIN {statements}; RETURN NEW; END$$"
    run_sql(url, f"CREATE FUNCTION begun() RETURNS trigger LANGUAGE plpgsql AS {function}")
    event = f'BEFORE INSERT ON "{table}" FOR EACH ROW'
    run_sql(url, f"CREATE TRIGGER begun {event} EXECUTE FUNCTION begun()")
    yield
    run_sql(url, f'DROP TRIGGER begun ON "{table}"')


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a replica more than a second, which a busy machine may need to reach it.

    After a failure, reads avoid it until the test has counted them.
    """
    for module in (replica_reads, postgres_store):
        monkeypatch.setattr(module, "REACH_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(replica_reads, "PAUSE_SECONDS", PATIENCE_SECONDS)


@pytest.fixture(scope="session")
def lasting_server() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture
def own_server(lasting_server: Postgres) -> Iterator[Postgres]:
    """A server that a test may stop, kill and pause."""
    yield lasting_server
    if not lasting_server.is_running:
        lasting_server.start()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Services, which end with the test."""
    with ExitStack() as stack:

        def serve(url: str, **settings: float | str) -> Service:
            def fresh(_folder: Path, _model: Model) -> str:
                return url

            return stack.enter_context(Service(fresh, tmp_path, MODEL, **settings))

        yield serve


@pytest.fixture
def company(postgres_server: Databases, served: Served) -> Company:
    """A company in a database of its own."""
    return served(migrated(postgres_server)).new_company()


@pytest.fixture(scope="session")
def lasting_pair() -> Iterator[Pair]:
    with Postgres() as primary, Standby(primary) as standby:
        yield Pair(primary, standby)


@pytest.fixture
def pair(lasting_pair: Pair) -> Iterator[Pair]:
    """A server with a standby, which a test may stop, kill and pause."""
    yield lasting_pair
    lasting_pair.repair()


@pytest.fixture
def replicated(pair: Pair, served: Served) -> ReplicatedService:
    """A service with a replica."""
    return ReplicatedService.on(pair, served)
