"""One moment of the file: a transaction that reads, on a connection and a thread of its own."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar, cast

from typing_extensions import override

from comptoir.plan.read import Row
from comptoir.sql.prepared import Query
from comptoir.store.snapshot import SLICE_CHARACTERS, SLICE_ROWS, Moment, characters
from comptoir.store.sqlite.connection import refusal_of
from comptoir.store.sqlite.session import FETCHED, run_statement

T = TypeVar("T")


@asynccontextmanager
async def sqlite_moment(connect: Callable[[], sqlite3.Connection]) -> AsyncIterator[Moment]:
    """What is committed when the block begins, on a connection of its own."""
    connection = connect()
    thread = ThreadPoolExecutor(1, thread_name_prefix="comptoir-snapshot")
    moment = _SqliteMoment(connection, thread)
    try:
        await moment.begin()
        yield moment
    finally:
        # whatever is under way on the thread, the connection is closed behind it
        await asyncio.to_thread(thread.shutdown)
        connection.close()


class _SqliteMoment(Moment):
    def __init__(self, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._thread = thread

    async def begin(self) -> None:
        """Fix the moment: a transaction sees what is committed when it first reads."""
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
