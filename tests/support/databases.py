"""The databases of the suite: each creates fresh ones with the schema of a model."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar
from zlib import crc32

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.sql.dialects.sqlite import INDEX
from comptoir.store.migration import migrate
from comptoir.store.revisions import declared_schema
from comptoir.store.schema import OF_SCHEMA, TEXT_INDEX
from comptoir.store.sqlite.connection import database_path
from comptoir.store.urls import is_postgres
from support import file_driver
from support.locks import held_alone
from support.postgres import Databases
from support.waiting import PATIENCE_SECONDS

T = TypeVar("T")

Fill = Callable[[str], None]
"""Adds the first data to the database at a URL."""


class FreshDatabase(Protocol):
    """Create a database with the tables of a model and the data of `fill`; return its URL.

    A folder has one database: a second call returns the same one. `fill` runs once, and later
    databases with the same data are copies.
    """

    def __call__(self, folder: Path, model: Model, fill: Fill | None = None) -> str: ...


class FreshSqlite:
    """SQLite files, copied from migrated ones in a folder that all processes of a run share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, folder: Path, model: Model, fill: Fill | None = None) -> str:
        path = folder / "test.db"
        if not path.exists():
            shutil.copy(self._template(model, fill), path)
        return f"sqlite:///{path}"

    def _template(self, model: Model, fill: Fill | None) -> Path:
        path = self._folder / f"{_name(model, fill)}.db"
        with held_alone(path.with_suffix(".lock")):
            if not path.exists():
                filled = path.with_suffix(".new")
                bring(f"sqlite:///{filled}", model, fill)
                filled.rename(path)
        return path


class FreshPostgres:
    """Databases on the server of the run, copied from a migrated one."""

    def __init__(self, server: Databases) -> None:
        self._server = server
        self._made: dict[Path, str] = {}

    def __call__(self, folder: Path, model: Model, fill: Fill | None = None) -> str:
        if folder not in self._made:
            self._made[folder] = migrated(self._server, model, fill)
        return self._made[folder]


def migrated(server: Databases, model: Model = MODEL, fill: Fill | None = None) -> str:
    """The URL of a new database on a server, with the current schema."""
    template = server.once(_name(model, fill), lambda url: bring(url, model, fill))
    return server.new_database(template)


FRESH = ("sqlite", "postgres")
"""The databases of the whole suite."""

ON_SQLITE = pytest.mark.parametrize("fresh_database", ["sqlite"], indirect=True)
"""Marks a test that concerns only SQLite, or that says nothing about the database."""


def bring(url: str, model: Model, fill: Fill | None) -> None:
    """Create the schema and the first data."""
    migrate(Settings(database=url), model)
    if fill is not None:
        fill(url)


def in_database(url: str, work: Callable[[Connection], T]) -> T:
    """The result of `work` in a transaction on an SQLite or PostgreSQL database."""
    if is_postgres(url):
        return asyncio.run(_in_server(url, work))
    with locked(database_path(url), PATIENCE_SECONDS) as connection:
        return work(connection)


def differences(url: str, model: Model) -> list[object]:
    """The differences that a migration would have to remove."""

    def compared(connection: Connection) -> list[object]:
        options = {"compare_type": True, "include_name": _is_compared}
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, declared_schema(model)))

    return in_database(url, compared)


def _is_compared(name: str | None, object_type: str, _: object) -> bool:
    """Whether an object is in the declared schema, as text indexes and the schema's state are not.

    SQLite has several tables for a text index.
    """
    if name is None:
        return True
    if object_type == "table":
        return name not in OF_SCHEMA.tables and not name.startswith(INDEX)
    return object_type != "index" or name != TEXT_INDEX


def run_sql(url: str, statement: str, **values: str | int) -> list[tuple[object, ...]]:
    """The committed result of a statement, with values for its `:name` parameters."""

    def run(connection: Connection) -> list[tuple[object, ...]]:
        result = connection.execute(text(statement), values)
        return [tuple(row) for row in result] if result.returns_rows else []

    return in_database(url, run)


@contextmanager
def writes_held(url: str) -> Iterator[Callable[[], object]]:
    """Block writes in all companies until the returned function is called."""
    with asyncio.Runner() as runner:
        if is_postgres(url):
            connection = runner.run(asyncpg.connect(url))
            runner.run(connection.execute("BEGIN; SELECT 1 FROM companies FOR UPDATE"))
            try:
                yield lambda: runner.run(connection.execute("ROLLBACK"))
            finally:
                # the server notices the end of a connection late, and holds its locks until then
                runner.run(connection.execute("ROLLBACK"))
                connection.terminate()
        else:
            with locked(database_path(url), PATIENCE_SECONDS) as file:
                yield file.rollback


@contextmanager
def locked(path: Path, lock_seconds: float) -> Iterator[Connection]:
    """A transaction that holds the write lock of a file."""
    engine = create_engine(
        f"sqlite:///{path}",
        module=file_driver,
        poolclass=NullPool,
        connect_args={"timeout": lock_seconds},
    )
    with engine.begin() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection


async def _in_server(url: str, work: Callable[[Connection], T]) -> T:
    connecting = partial(asyncpg.connect, url)
    engine = create_async_engine(
        "postgresql+asyncpg://",
        poolclass=NullPool,
        # the driver reads all of the URL, and through PgBouncer no statement may have a name
        connect_args={"async_creator_fn": connecting, "prepared_statement_cache_size": 0},
    )
    async with engine.begin() as connection:
        return await connection.run_sync(work)


def _name(model: Model, fill: Fill | None) -> str:
    """A name for the data of a model and a function: equal entity types have equal tables."""
    filled = "" if fill is None else f"{fill.__module__}.{fill.__qualname__}"
    return f"template_{crc32(repr([sorted(model.by_name), model.source, filled]).encode()):08x}"
