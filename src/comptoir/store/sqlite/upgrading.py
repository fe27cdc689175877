"""Runs revisions on a file, with Alembic and an engine of SQLAlchemy."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from comptoir.edm.model import Model
from comptoir.errors import OperatorError
from comptoir.store.revisions import upgrade
from comptoir.store.sqlite.statistics import store_statistics


def upgrade_file(path: Path, model: Model, lock_seconds: float) -> str:
    """Run the revisions that a file lacks while it is locked; returns the revision of its schema.

    Stores the planner's statistics too. Raises `OperatorError` if the file cannot be written, or if
    its schema is too new.
    """
    try:
        with locked(path, lock_seconds) as connection:
            state = upgrade(connection, model, str(path))
            store_statistics(connection, [each.name for each in model.stored])
            return state.revision or ""
    except DBAPIError as fault:
        raise OperatorError(
            f"cannot migrate {path}: {fault.orig}",
            "Check that the file is writable, that no other process uses it, and that the disk has "
            "space.",
        ) from fault


@contextmanager
def locked(path: Path, lock_seconds: float) -> Iterator[Connection]:
    """A connection within a transaction that holds the database's write lock."""
    engine = create_engine(
        f"sqlite:///{path}", poolclass=NullPool, connect_args={"timeout": lock_seconds}
    )

    @event.listens_for(engine, "connect")
    def disable_implicit_transactions(driver: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
        driver.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin_immediately(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()
