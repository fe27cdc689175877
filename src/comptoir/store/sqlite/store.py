"""The SQLite store: a reader in the event loop, a writer thread, a few scanning threads."""

from contextlib import AbstractAsyncContextManager
from functools import partial

from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.statements import statements_of
from comptoir.store.sqlite.connection import connect, database_path
from comptoir.store.sqlite.reader import Reader
from comptoir.store.sqlite.scans import Scans
from comptoir.store.sqlite.snapshot import sqlite_snapshot
from comptoir.store.sqlite.writer import SqliteWriter
from comptoir.store.store import SnapshotConnection, Store
from comptoir.store.watermarks import Watermarks
from comptoir.store.writer import Condition


class SqliteStore(Store):
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
        condition, watermarks = Condition(path.absolute().parent), Watermarks()
        self._file_writer = SqliteWriter(
            writing, statements, condition, watermarks, settings.queued_writes
        )
        self._open_reading = open_reading
        super().__init__(statements, self._file_reader, self._file_writer, condition, watermarks)

    @override
    def snapshot(self) -> AbstractAsyncContextManager[SnapshotConnection]:
        return sqlite_snapshot(self._open_reading)

    @override
    async def close(self) -> None:
        await self._indexing.stop()
        await self._file_writer.stop()
        await self._scans.stop()
        self._file_reader.stop()
