"""The SQLite store: a reader in the event loop, a writer thread, a few scanning threads."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, closing
from functools import partial
from typing import TypeVar, cast

from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.plan.read import Row
from comptoir.sql.control import control_statements
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Query
from comptoir.sql.statements import statements_of
from comptoir.store.control import READ_SECONDS, ControlStore
from comptoir.store.sqlite.connection import (
    FETCHED,
    Connection,
    connect,
    database_path,
    is_writable,
    refusal_of,
)
from comptoir.store.sqlite.reader import Scans, SqliteReader
from comptoir.store.sqlite.writer import SqliteWriter
from comptoir.store.store import (
    SLICE_CHARACTERS,
    SLICE_ROWS,
    SnapshotConnection,
    Store,
    characters,
)
from comptoir.store.watermarks import Watermarks
from comptoir.store.writer import Condition

MANY_WRITES: Mapping[str, int] = {"cache_size": -65_536, "wal_autocheckpoint": 4_000}
"""The writer's settings for long operations: the pages that 2,000 records change fit into the cache
(in KiB), and fewer checkpoints (in pages) copy the same page again."""

MOST_CONTROL_READS = 20
"""The most long reads of the control tables that wait or run."""

T = TypeVar("T")


class SqliteStore(Store):
    """Implements `Store` on one file. Raises `OperatorError` if the file cannot be opened."""

    def __init__(self, settings: Settings, model: Model, *, writes_many: bool = False) -> None:
        path = database_path(settings.database)
        statements = statements_of(model, SQLITE)
        connecting = partial(connect, path, lock_seconds=settings.lock_seconds)
        self._open_walking = partial(connecting, writes=False, maps=False)
        with ExitStack() as opened:
            writes = not settings.refuses_writes or is_writable(path)
            writing = opened.enter_context(closing(connecting(writes=writes)))
            for name, value in MANY_WRITES.items() if writes_many else ():
                writing.execute(f"PRAGMA {name}={value}")
            walking = opened.enter_context(closing(self._open_walking()))
            first, second, third, *others = (
                opened.enter_context(closing(connecting(writes=False)))
                for _ in range(3 + settings.scan_threads)
            )
            self._scans = Scans(
                others, most_reads=settings.queued_scans, seconds=settings.scan_seconds
            )
            self._file_reader = SqliteReader(first, walking, second, statements.reads, self._scans)
            # a thread of their own, so that scans never delay what is known of clients
            self._control_scans = Scans(
                [third], most_reads=MOST_CONTROL_READS, seconds=READ_SECONDS
            )
            condition, watermarks = Condition(path.absolute().parent), Watermarks()
            self._file_writer = SqliteWriter(
                writing, statements, condition, watermarks, settings.queued_writes
            )
            opened.pop_all()
        control = ControlStore(
            control_statements(SQLITE.compiler),
            partial(self._file_reader.lookup, scans=self._control_scans),
            self._file_writer,
            [each.name for each in model.per_company],
        )
        super().__init__(
            statements, self._file_reader, self._file_writer, condition, watermarks, control
        )

    @override
    def snapshot(self) -> AbstractAsyncContextManager[SnapshotConnection]:
        return sqlite_snapshot(self._open_walking)

    @override
    async def close(self) -> None:
        await self._indexing.stop()
        await self._file_writer.stop()
        await self._scans.stop()
        await self._control_scans.stop()
        self._file_reader.stop()


@asynccontextmanager
async def sqlite_snapshot(
    connecting: Callable[[], Connection],
) -> AsyncIterator[SnapshotConnection]:
    """A connection that sees what is committed when the block begins."""
    connection = connecting()
    thread = ThreadPoolExecutor(1, thread_name_prefix="comptoir-snapshot")
    snapshot = _SqliteSnapshot(connection, thread)
    try:
        await snapshot.begin()
        yield snapshot
    finally:
        # a statement may still run on the thread after a cancellation
        connection.stop()
        thread.submit(connection.close)
        await asyncio.to_thread(thread.shutdown)


class _SqliteSnapshot(SnapshotConnection):
    """A read transaction, on a connection and a thread of its own."""

    def __init__(self, connection: Connection, thread: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._thread = thread

    async def begin(self) -> None:
        """Fix the view: a transaction sees what is committed at its first read."""
        await self._run(lambda: self._connection.execute("BEGIN"))
        await self._run(
            lambda: self._connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        )

    @override
    async def fetch(self, query: Query) -> list[Row]:
        return await self._run(lambda: self._connection.run(query))

    @override
    async def stream(self, query: Query) -> AsyncGenerator[list[Row], None]:
        cursor = await self._run(lambda: self._connection.execute(query.text, query.values))
        rows = await self._run(lambda: _slice(cursor))
        while rows:
            yield rows
            rows = await self._run(lambda: _slice(cursor))

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except sqlite3.Error as error:
            raise refusal_of(error) from error


def _slice(cursor: sqlite3.Cursor) -> list[Row]:
    rows: list[Row] = []
    left = SLICE_CHARACTERS
    while left > 0 and len(rows) < SLICE_ROWS:
        some = cast("list[Row]", cursor.fetchmany(FETCHED))
        if not some:
            break
        rows += some
        left -= characters(some)
    return rows
