"""Brings a file to the current schema."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from comptoir.edm.model import Model
from comptoir.errors import OperatorError
from comptoir.store.schema import upgrade
from comptoir.store.sqlite.connection import connect

LOCK_SECONDS = 30.0
"""How long one process waits for another that migrates the same file."""


def migrate_file(path: Path, model: Model) -> str:
    """Create a database, or bring it up to date, and give its schema's revision.

    It is locked meanwhile: of several processes that start at once, one migrates and the others
    find it done. Raises `OperatorError` when the file cannot be opened, or when its schema is too
    new.
    """
    _make_room(path)
    # connecting by the service's own means sets the journal, and says in one line what is wrong
    connect(path, writes=True, lock_seconds=LOCK_SECONDS).close()
    try:
        with locked(path, LOCK_SECONDS) as connection:
            return upgrade(connection, model, str(path)).revision or ""
    except DBAPIError as fault:
        raise OperatorError(f"cannot bring {path} up to date: {fault.orig}.") from fault


@contextmanager
def locked(path: Path, lock_seconds: float) -> Iterator[Connection]:
    """A connection within a transaction that holds the database's lock for writing."""
    engine = create_engine(
        f"sqlite:///{path}", poolclass=NullPool, connect_args={"timeout": lock_seconds}
    )

    @event.listens_for(engine, "connect")
    def leave_transactions_to_us(driver: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
        driver.isolation_level = None

    @event.listens_for(engine, "begin")
    def take_the_lock(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _make_room(path: Path) -> None:
    """Make the file and its folder, unless they are there, such that nobody else can read them.

    The files beside a database take its mode.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        raise OperatorError(
            f"cannot make the folder {path.parent}: {fault.strerror}. Make it, or name another "
            "database."
        ) from fault
    # whatever else is wrong with the file is told when it is opened
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
