"""Brings a database to the current schema, and tells whether it has it."""

import os
import sqlite3
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from comptoir.edm.model import Model
from comptoir.errors import OperatorError
from comptoir.sql.tables import build_tables
from comptoir.sql.trigrams import INDEX
from comptoir.store.sqlite.connection import connect, database_path

MIGRATIONS = Path(__file__).parent / "migrations"

Kind = Literal[
    "schema",
    "table",
    "column",
    "index",
    "unique_constraint",
    "foreign_key_constraint",
    "check_constraint",
]
Parent = Literal["schema_name", "table_name", "schema_qualified_table_name"]


def migrate(database: str, model: Model, *, lock_seconds: float = 30.0) -> str:
    """Create a database, or bring it up to date, and give its schema's revision.

    The database is locked meanwhile: of several processes that start at once, one migrates and
    the others find it done. Raises `OperatorError` when the database cannot be opened, or when its
    schema is newer than this program.
    """
    path = database_path(database)
    _make_room(path)
    # connecting by the service's own means sets the journal, and says in one line what is wrong
    connect(path, writes=True, lock_seconds=lock_seconds).close()
    try:
        with locked(path, lock_seconds) as connection:
            config = alembic_config(connection, model)
            scripts = ScriptDirectory.from_config(config)
            head = scripts.get_current_head() or ""
            current = MigrationContext.configure(connection).get_current_revision()
            if current is not None and current not in _known(scripts):
                raise OperatorError(
                    f"{path} has schema {current}, which is newer than this program knows "
                    f"({head}). Upgrade comptoir, or name another database."
                )
            if current != head:
                command.upgrade(config, "head")
            return head
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


def alembic_config(connection: Connection, model: Model) -> Config:
    """The configuration with which Alembic runs on a connection."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["metadata"] = build_tables(model).metadata
    return config


def is_declared(name: str | None, kind: Kind, _: MutableMapping[Parent, str | None]) -> bool:
    """Whether Alembic is to compare a thing that the database has with the declared schema.

    It leaves the search index alone, which a revision makes by hand, and the tables within it.
    """
    return kind != "table" or name is None or not name.startswith(INDEX)


def _known(scripts: ScriptDirectory) -> set[str]:
    return {script.revision for script in scripts.walk_revisions()}


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
