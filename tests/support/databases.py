"""The databases that the suite runs on: each makes fresh ones with the schema of a model."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from alembic.autogenerate import produce_migrations
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.operations.ops import MigrateOperation, OpContainer
from sqlalchemy import Connection

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.sql.tables import build_tables
from comptoir.store.migrate import migrate
from comptoir.store.postgres.migrating import opened
from comptoir.store.schema import is_declared
from comptoir.store.sqlite.connection import database_path
from comptoir.store.sqlite.migrating import locked
from comptoir.store.urls import is_postgres

LOCK_SECONDS = 30.0

T = TypeVar("T")

FreshDatabase = Callable[[Path, Model], str]
"""Makes an empty database with the tables of a model, perhaps in a folder; gives its URL."""


def fresh_sqlite(folder: Path, model: Model = MODEL) -> str:
    """A new file, migrated; the kinds that no migration brings are brought by autogenerate."""
    url = f"sqlite:///{folder / 'test.db'}"
    migrate(Settings(database=url), MODEL)
    if model is not MODEL:
        in_database(url, partial(_add_kinds, model))
    return url


def in_database(url: str, work: Callable[[Connection], T]) -> T:
    """What `work` gives, within a transaction on a database of either sort."""
    if is_postgres(url):
        return asyncio.run(_in_server(url, work))
    with locked(database_path(url), LOCK_SECONDS) as connection:
        return work(connection)


async def _in_server(url: str, work: Callable[[Connection], T]) -> T:
    async with opened(Settings(), url, writes=True) as connection, connection.begin():
        return await connection.run_sync(work)


def _add_kinds(model: Model, connection: Connection) -> None:
    """Bring the kinds of a model that no revision brings."""
    context = MigrationContext.configure(
        connection, opts={"render_as_batch": True, "include_name": is_declared}
    )
    script = produce_migrations(context, build_tables(model).metadata)
    assert script.upgrade_ops is not None
    _invoke(Operations(context), script.upgrade_ops)


def _invoke(operations: Operations, step: MigrateOperation) -> None:
    if isinstance(step, OpContainer):
        for inner in step.ops:
            _invoke(operations, inner)
    else:
        operations.invoke(step)


FRESH: Mapping[str, FreshDatabase] = {"sqlite": fresh_sqlite}
"""Database to how a fresh one is made; whatever is added here, the whole suite runs on."""
