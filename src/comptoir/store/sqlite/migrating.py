"""Migrates a file to the current schema, checks it, and stores fixed statistics for its planner."""

import os
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

import apsw

from comptoir.edm.model import Model
from comptoir.errors import operator_rows as problems
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Query
from comptoir.store.schema import HEAD, SERVES, SchemaState, state_of
from comptoir.store.sqlite.connection import Connection, cannot_open, connect, is_writable

LOCK_SECONDS = 30.0
"""Seconds that a process waits for others that migrate or use the same file."""

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


def migrate_file(path: Path, model: Model) -> str:
    """Create a database, or migrate it, and return the revision of its schema.

    An outdated file is locked meanwhile: of several processes that start at once, one migrates and
    the others find it done. Stores the planner's statistics too. Raises `OperatorError` if the file
    cannot be opened or written, or if its schema is too new.
    """
    _create_file(path)
    current = SchemaState(HEAD, SERVES[HEAD], catalog=model.source)
    with closing(connect(path, writes=True, lock_seconds=LOCK_SECONDS)) as connection:
        try:
            if connection.drive(state_of("sqlite")) == current:
                return HEAD
            from comptoir.store.revisions import upgrade  # noqa: PLC0415 - only if it is outdated

            connection.execute("BEGIN IMMEDIATE")
            state = connection.drive(upgrade(model, str(path), SQLITE.compiler))
            store_statistics(connection, [each.name for each in model.stored])
            connection.execute("COMMIT")
        except apsw.Error as error:
            raise problems.CANNOT_MIGRATE(path=path, reason=error) from error
        return state.revision or ""


def file_state(path: Path) -> SchemaState:
    """The state of the schema of a file; raises `OperatorError` if the file cannot be read."""
    with closing(connect(path, writes=False, lock_seconds=LOCK_SECONDS)) as connection:
        try:
            return connection.drive(state_of("sqlite"))
        except apsw.Error as error:
            raise cannot_open(path, error) from error


def check_writable(path: Path) -> None:
    """Raise `OperatorError` if a file exists and cannot be written."""
    if path.exists() and not is_writable(path):
        raise problems.READ_ONLY_DATABASE(path=path)


def _create_file(path: Path) -> None:
    """Create the file and its folder if missing, readable by their owner only.

    SQLite creates the files beside a database with the mode of the database.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise problems.NO_DATABASE_FOLDER(folder=path.parent, reason=error.strerror) from error
    # opening the file reports any other error
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def store_statistics(connection: Connection, tables: Iterable[str]) -> None:
    """Store the statistics of tables of records; connections that are opened later use them.

    Without statistics, SQLite assumes that a company has ten records. It would rather read all of
    them in the order of their keys than sort the few that an index finds. They are fixed, so that
    no plan depends on when they were computed.

    The indexes of these tables begin with the company, and no two records have the same values in
    all columns of an index.
    """
    # this creates the table of the statistics
    connection.execute("ANALYZE sqlite_schema")
    connection.execute("DELETE FROM sqlite_stat1")
    for table in tables:
        for index, columns in connection.run(Query(_INDEXES, (table,))):
            rows = [_RECORDS, _OF_COMPANY, *[_ALIKE] * (int(columns) - 2), 1]
            statistics = (table, index, " ".join(map(str, rows)))
            connection.execute("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", statistics)
