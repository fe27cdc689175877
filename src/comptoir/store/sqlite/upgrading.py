"""Runs revisions on a file, with Alembic and an engine of SQLAlchemy."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from comptoir.edm.model import Model
from comptoir.errors import operator_rows as problems
from comptoir.store.revisions import upgrade

_RECORDS = 1_000_000_000
"""The assumed records of a table. With fewer, a plan might read those of all companies."""

_OF_COMPANY = 1_000_000
"""The assumed records of a company."""

_ALIKE = 10
"""The assumed records of a company with the same values in the next columns of an index."""

_INDEXES = (
    "SELECT CASE each.origin WHEN 'pk' THEN ?1 ELSE each.name END,"
    " (SELECT count(*) FROM pragma_index_info(each.name)) FROM pragma_index_list(?1) AS each"
)
"""The indexes of a table and the numbers of their columns; the primary key has the table's name."""


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
    except DBAPIError as error:
        raise problems.CANNOT_MIGRATE(path=path, reason=error.orig) from error


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


def store_statistics(connection: Connection, tables: Iterable[str]) -> None:
    """Store the statistics of tables of records; connections that are opened later use them.

    Without statistics, SQLite assumes that a company has ten records. It would rather read all of
    them in the order of their keys than sort the few that an index finds. They are fixed, so that
    no plan depends on when they were computed.

    The indexes of these tables begin with the company, and no two records have the same values in
    all columns of an index.
    """
    # this creates the table of the statistics
    connection.exec_driver_sql("ANALYZE sqlite_schema")
    connection.exec_driver_sql("DELETE FROM sqlite_stat1")
    for table in tables:
        for index, columns in connection.exec_driver_sql(_INDEXES, (table,)).all():
            rows = [_RECORDS, _OF_COMPANY, *[_ALIKE] * (columns - 2), 1]
            connection.exec_driver_sql(
                "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)",
                (table, index, " ".join(map(str, rows))),
            )
