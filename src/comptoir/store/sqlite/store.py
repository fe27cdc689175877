"""The SQLite store: a reader in the event loop, a writer thread, a few scanning threads."""

from functools import partial

from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.statements import statements_of
from comptoir.store.condition import Condition
from comptoir.store.sqlite.connection import connect, database_path
from comptoir.store.sqlite.reader import Reader
from comptoir.store.sqlite.scans import Scans
from comptoir.store.sqlite.snapshot import sqlite_snapshot
from comptoir.store.sqlite.writer import Writer
from comptoir.store.store import StatementStore
from comptoir.store.watermarks import Watermarks


class SqliteStore(StatementStore):
    """Implements `Store` on one file. To be made and used within one running event loop."""

    def __init__(self, settings: Settings, model: Model) -> None:
        path = database_path(settings.database)
        statements = statements_of(model, SQLITE)
        open_reading = partial(connect, path, writes=False, lock_seconds=settings.lock_seconds)
        writing = connect(path, writes=True, lock_seconds=settings.lock_seconds)
        self._scans = Scans(
            open_reading,
            threads=settings.scan_threads,
            most_waiting=settings.queued_scans,
            seconds=settings.scan_seconds,
        )
        self._file_reader = Reader(open_reading(), open_reading(), statements.reads, self._scans)
        condition = Condition(path.absolute().parent)
        self.watermarks = Watermarks()
        self._file_writer = Writer(
            writing, statements.service, condition, self.watermarks, settings.queued_writes
        )
        open_snapshot = partial(sqlite_snapshot, open_reading)
        super().__init__(statements, self._file_reader, self._file_writer, open_snapshot, condition)

    @override
    async def close(self) -> None:
        await self._following.stop()
        await self._file_writer.stop()
        await self._scans.stop()
        self._file_reader.stop()
