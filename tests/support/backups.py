"""Backups of a database, created and restored as docs/how-to/back-up.md says."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import apsw
from typing_extensions import override

from comptoir.store.sqlite.connection import database_path
from support.effort import go_without
from support.postgres import ADMINISTRATOR, ROLE, Databases, name_of


class Backup(ABC):
    """Saves the contents of a database that may be in use."""

    @abstractmethod
    def restored(self) -> str:
        """Restores the backup and returns the URL; no other process may use the database."""


BackUp = Callable[[str], Backup]
"""Creates a backup of the database at a URL."""


class FileBackup(Backup):
    """A copy of a file, which replaces the file at the end."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._path = database_path(url)
        self._copy = self._path.with_name(f"{uuid4()}.db")
        with closing(apsw.Connection(str(self._path))) as connection:
            connection.execute("VACUUM INTO ?", (str(self._copy),))

    @override
    def restored(self) -> str:
        for suffix in ("-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self._copy.rename(self._path)
        return self._url


class ServerBackup(Backup):
    """A dump, which is restored to a new database."""

    def __init__(self, url: str, server: Databases) -> None:
        self._server = server
        if not all(server.programs.has(name) for name in ("pg_dump", "pg_restore")):
            go_without("pg_dump or pg_restore is missing: install the package postgresql")
        self._dump: Path = server.place.folder / f"{uuid4()}.dump"
        self._run("pg_dump", "--format=custom", f"--file={self._dump}", name_of(url))

    @override
    def restored(self) -> str:
        url = self._server.new_database()
        to = ("--no-owner", f"--role={ROLE}", f"--dbname={name_of(url)}")
        self._run("pg_restore", *to, str(self._dump))
        return url

    def _run(self, program: str, *arguments: str) -> None:
        place = self._server.place
        where = ("-h", place.folder, "-p", str(place.port), "-U", ADMINISTRATOR)
        self._server.programs.run(program, *where, *arguments)
