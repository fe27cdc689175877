"""The database in a file: copied while it is in use, and put in place."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from comptoir.auth.keys import create_private
from comptoir.cli.runner import need_database
from comptoir.config import Settings
from comptoir.features.backup import errors as problems
from comptoir.features.backup.archive import (
    COMPANIES,
    DATABASE,
    REVISION,
    Archive,
    CompanyState,
    Meter,
    Writing,
    chunks_of,
    locked,
    private_file,
)
from comptoir.store.sqlite.connection import (
    PAGE_BYTES,
    cannot_open,
    connect,
    database_path,
    is_busy,
)
from comptoir.store.urls import SQLITE

PAGES = 256
"""The pages that are copied at a time."""

_RENEW = "UPDATE companies SET incarnation = lower(hex(randomblob(4)))"


class SqliteFile:
    """The database of the settings, in a file."""

    name = "SQLite"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._path = database_path(settings.database)

    def back_up(self, writing: Writing, meter: Meter) -> tuple[str, Sequence[CompanyState]]:
        """Add the database as it is at one moment; returns its revision and its companies."""
        path, seconds = self._path, self._settings.lock_seconds
        # read twice: the copy is compressed
        meter.expected = 2 * path.stat().st_size
        with _drafted(writing.path.with_name(".comptoir-backup.db")) as draft:
            try:
                with (
                    closing(connect(path, writes=False, lock_seconds=seconds)) as source,
                    closing(sqlite3.connect(draft)) as copy,
                ):
                    # else each write of others would begin the copy again
                    source.execute("BEGIN")
                    source.execute("SELECT count(*) FROM sqlite_master").fetchall()
                    source.backup(
                        copy, pages=PAGES, progress=lambda *_: meter.add(PAGES * PAGE_BYTES)
                    )
                    ((revision,),) = copy.execute(REVISION).fetchall()
                    companies = _companies(copy)
            except sqlite3.Error as error:
                raise cannot_open(draft, error) from error
            with draft.open("rb") as file:
                writing.add(DATABASE, meter.counted(chunks_of(file)))
        return revision, companies

    def present(self) -> Sequence[CompanyState] | None:
        """The companies that the place has, none if they cannot be read; None without a database.

        Raises `OperatorError` if others use the database.
        """
        if not self._path.exists():
            # SQLite would delete a log without its file
            return () if any(map(Path.exists, _files(self._path))) else None
        try:
            with closing(sqlite3.connect(self._path, timeout=0)) as connection:
                # refused while another connection is open
                connection.execute("PRAGMA journal_mode=DELETE")
                return _companies(connection)
        except sqlite3.Error as error:
            if is_busy(error):
                raise problems.IN_USE(url=self._settings.database, reason=error) from None
            return ()

    def restore(self, archive: Archive, meter: Meter, suffix: str) -> None:
        """Put the database of a backup in its place, with new incarnations of all companies.

        What is there gets the suffix to its name. Until the end, nothing has changed.
        """
        # a link stays: it may lead to a disk with more room
        place = self._path.resolve()
        folder = place.parent
        try:
            create_private(folder)
            with locked(folder), _drafted(place.with_name(f".{place.name}.restored")) as draft:
                with draft.open("r+b") as file:
                    file.writelines(archive.database(meter))
                with closing(sqlite3.connect(draft)) as connection, connection:
                    connection.execute(_RENEW)
                need_database(replace(self._settings, database=f"{SQLITE}{draft}"))
                # a service may have started meanwhile
                self.present()
                database, *logs = _files(place)
                # a log that a lost file has left would be applied to the new one
                for each in filter(Path.exists, logs):
                    each.rename(f"{each}.{suffix}")
                # the place is never without a file
                with suppress(FileNotFoundError):
                    os.link(database, f"{database}.{suffix}")
                draft.replace(database)
        except OSError as error:
            raise problems.CANNOT_WRITE(path=place, reason=error.strerror) from error
        except sqlite3.Error as error:
            raise cannot_open(place, error) from error


@contextmanager
def _drafted(path: Path) -> Iterator[Path]:
    """A new private file, which is removed at the end, with those that SQLite has beside it."""
    # also what was left by a command that was killed
    for each in _files(path):
        each.unlink(missing_ok=True)
    try:
        with private_file(path):
            pass
        yield path
    finally:
        for each in _files(path):
            each.unlink(missing_ok=True)


def _files(path: Path) -> list[Path]:
    """A database, and the files that SQLite may have beside it."""
    return [path.with_name(f"{path.name}{suffix}") for suffix in ("", "-journal", "-wal", "-shm")]


def _companies(connection: sqlite3.Connection) -> list[CompanyState]:
    return [CompanyState(*row) for row in connection.execute(COMPANIES)]
