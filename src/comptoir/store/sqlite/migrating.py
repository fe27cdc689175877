"""Migrates a file to the current schema."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from comptoir.edm.model import Model
from comptoir.errors import operator_rows as problems
from comptoir.store.schema import SchemaState, check_state, revisions
from comptoir.store.sqlite.connection import (
    connect,
    is_writable,
)

LOCK_SECONDS = 30.0
"""Seconds that a process waits for others that migrate or use the same file."""

_STATE = (
    "SELECT version_num, (SELECT value FROM schema_state WHERE name = 'revision'),"
    " (SELECT value FROM schema_state WHERE name = 'serves') FROM alembic_version"
)


def migrate_file(path: Path, model: Model) -> str:
    """Create a database, or migrate it, and return the revision of its schema.

    An outdated file is locked meanwhile: of several processes that start at once, one migrates and
    the others find it done. Raises `OperatorError` if the file cannot be opened, or if its schema
    is too new.
    """
    _create_file(path)
    # this connection sets the journal mode, and its errors have one line
    with closing(connect(path, writes=True, lock_seconds=LOCK_SECONDS)) as connection:
        if _is_current(connection):
            return revisions().head
    from comptoir.store.sqlite.upgrading import upgrade_file  # noqa: PLC0415 - brings Alembic

    return upgrade_file(path, model, LOCK_SECONDS)


def check_file(path: Path) -> None:
    """Raise `OperatorError` if a file that is only read lacks the current schema."""
    with closing(connect(path, writes=False, lock_seconds=LOCK_SECONDS)) as connection:
        try:
            ((version, revision, serves),) = connection.execute(_STATE).fetchall()
        except sqlite3.OperationalError:
            check_state(SchemaState(None), str(path))
        else:
            stored = {"revision": revision, "serves": serves}
            check_state(SchemaState.of(version, stored), str(path))


def check_writable(path: Path) -> None:
    """Raise `OperatorError` if a file exists and cannot be written."""
    if path.exists() and not is_writable(path):
        raise problems.READ_ONLY_DATABASE(path=path)


def _is_current(connection: sqlite3.Connection) -> bool:
    """Whether a database has the last revision and, stored with it, what that revision serves."""
    try:
        state: object = connection.execute(_STATE).fetchone()
    except sqlite3.OperationalError:
        # a new file has no tables
        return False
    known = revisions()
    return state == (known.head, known.head, known.serves[known.head])


def _create_file(path: Path) -> None:
    """Create the file and its folder if missing, readable by their owner only.

    SQLite creates the files beside a database with the mode of the database.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise problems.NO_DATABASE_FOLDER(folder=path.parent, reason=error.strerror) from error
    # opening the file reports any other fault
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
