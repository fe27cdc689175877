"""Snapshot connections: a read transaction, on a connection and a thread of its own."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar, cast

from typing_extensions import override

from comptoir.plan.read import Row
from comptoir.sql.prepared import Query
from comptoir.store.sqlite.connection import refusal_of
from comptoir.store.sqlite.session import FETCHED, run_statement
from comptoir.store.store import SLICE_CHARACTERS, SLICE_ROWS, SnapshotConnection, characters

T = TypeVar("T")


@asynccontextmanager
async def sqlite_snapshot(
    connect: Callable[[], sqlite3.Connection],
) -> AsyncIterator[SnapshotConnection]:
    """A connection that sees what is committed when the block begins."""
    connection = connect()
    thread = ThreadPoolExecutor(1, thread_name_prefix="comptoir-snapshot")
    snapshot = _SqliteSnapshot(connection, thread)
    try:
        await snapshot.begin()
        yield snapshot
    finally:
        # a statement may still run on the thread, and the connection is closed after it
        await asyncio.to_thread(thread.shutdown)
        connection.close()


class _SqliteSnapshot(SnapshotConnection):
    def __init__(self, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
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
        return await self._run(lambda: run_statement(self._connection, query))

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
        except sqlite3.Error as fault:
            raise refusal_of(fault) from fault


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
