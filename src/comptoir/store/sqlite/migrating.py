"""Brings a file to the current schema."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from comptoir.edm.model import Model
from comptoir.errors import OperatorError
from comptoir.store.schema import revisions
from comptoir.store.sqlite.connection import connect

LOCK_SECONDS = 30.0
"""How long one process waits for another that migrates the same file."""

_STATE = (
    "SELECT version_num, (SELECT value FROM schema_state WHERE name = 'revision'),"
    " (SELECT value FROM schema_state WHERE name = 'serves') FROM alembic_version"
)


def migrate_file(path: Path, model: Model) -> str:
    """Create a database, or bring it up to date, and give its schema's revision.

    A file that is not up to date is locked meanwhile: of several processes that start at once, one
    migrates and the others find it done. Raises `OperatorError` when the file cannot be opened, or
    when its schema is too new.
    """
    _make_room(path)
    # connecting by the service's own means sets the journal, and says in one line what is wrong
    with closing(connect(path, writes=True, lock_seconds=LOCK_SECONDS)) as connection:
        if _is_current(connection):
            return revisions().head
    from comptoir.store.sqlite.upgrading import upgrade_file  # noqa: PLC0415 - brings Alembic

    return upgrade_file(path, model, LOCK_SECONDS)


def _is_current(connection: sqlite3.Connection) -> bool:
    """Whether a database has the last revision, and says what that one serves."""
    try:
        found: object = connection.execute(_STATE).fetchone()
    except sqlite3.OperationalError:
        # a new file has no tables
        return False
    known = revisions()
    return found == (known.head, known.head, known.serves[known.head])


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
