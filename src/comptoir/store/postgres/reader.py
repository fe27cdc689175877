"""Reads on a pool: each statement runs on any free connection, which never waits for a client.

At most half of a pool's connections run slow statements, and one more attempts those that a busy
server may have made slow, so the others remain free for quick ones.
A page is read by several statements, and the rest of it by one if they are slow.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import partial
from sys import maxsize
from time import monotonic
from typing import TypeVar

import asyncpg
from typing_extensions import override

from comptoir.config import Settings
from comptoir.errors import refusal_rows
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import INVALID_URL
from comptoir.plan.read import PagePlan, Row
from comptoir.sql.prepared import SHAPES_CACHED, Query
from comptoir.sql.reads import ReadStatements
from comptoir.store.fair_queue import FairQueue, Load, half
from comptoir.store.jobs import cancel_and_wait
from comptoir.store.postgres.connection import Connection, Pool, run_query
from comptoir.store.postgres.errors import DRIVER_ERRORS, DriverError, is_lost, refusal_of
from comptoir.store.store import (
    SLICE,
    SLICE_CHARACTERS,
    WHILE_CONNECTED,
    Reader,
    Slices,
    SliceScheduler,
    characters,
    slice_size,
)

PART_SLICES = 8
"""Slices of a page that one statement reads."""

SLOW_SECONDS = 0.05
"""A statement that takes longer is slow."""

ATTEMPT_SECONDS = 1.0
"""Seconds for an attempt to run a slow statement while long reads hold all permits."""

QUICK_RUNS = 3
"""Consecutive quick runs after which a statement is no longer slow."""

_FAILED = -1
"""The number of quick runs after an attempt that was slow."""

FIRST_FETCH, LARGEST_FETCH = 10, 640
"""Rows of the first fetch of a portion from a cursor, and the most rows of a fetch."""

T = TypeVar("T")


class SlowReads:
    """Records which statements of a server are slow, and limits how many of them run at once."""

    def __init__(self, queue: FairQueue) -> None:
        self._queue = queue
        # the slow statements by the hash of their text, with the quick runs since the last slow one
        self._quick_runs: dict[int, int] = {}
        self._attempts = asyncio.Lock()

    def has(self, query: Query) -> bool:
        """Whether a statement is expected to be slow."""
        return query.costly or hash(query.text) in self._quick_runs

    def record(self, query: Query, seconds: float) -> None:
        """Record the seconds that a run took."""
        shape = hash(query.text)
        if seconds > SLOW_SECONDS:
            if len(self._quick_runs) >= SHAPES_CACHED:
                self._quick_runs.clear()
            self._quick_runs[shape] = min(self._quick_runs.get(shape, 0), 0)
        elif shape in self._quick_runs:
            # the server was busy, or the values were different
            self._quick_runs[shape] += 1
            if self._quick_runs[shape] == QUICK_RUNS:
                del self._quick_runs[shape]

    @property
    def load(self) -> Load:
        """The slow reads that run and wait now."""
        return self._queue.load

    async def attempt(self, query: Query, run: Callable[[], Awaitable[T]]) -> T | None:
        """Run a slow statement without a permit; None if it must wait for one.

        A busy server makes quick statements slow, and a permit may be free only minutes later. One
        attempt runs at a time, and a statement that fails has no other before its next quick run.
        """
        if not self._may_attempt(query):
            return None
        async with self._attempts:
            if not self._may_attempt(query):
                return None
            try:
                return await run()
            except (*DRIVER_ERRORS, Refusal):
                # its next run succeeds, or has the error that the client receives
                self._quick_runs[hash(query.text)] = _FAILED
                return None

    def _may_attempt(self, query: Query) -> bool:
        failed = self._quick_runs.get(hash(query.text)) == _FAILED
        return not (failed or query.costly or self._queue.is_free)

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Hold a permit for the block; raises `Refusal` (503) if too many reads wait or run."""
        permit = await self._queue.enter()
        try:
            yield
        finally:
            self._queue.leave(permit)


class ReadPool(Pool):
    """A pool for reads; at most half of its connections run slow ones at once.

    One party gets at most half of the connections, and half of those for slow reads.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        settings: Settings,
        size: int,
        seconds: float,
    ) -> None:
        super().__init__(connect, size, seconds, most_of_one=half(size))
        queue = FairQueue(max(size // 2, 1), settings.queued_scans, settings.scan_seconds)
        self.slow = SlowReads(queue)


class PoolReader(Reader):
    """Reads on the connections of a pool; `seconds` limits a statement.

    A lookup is limited by those of its connection, unless it is given others.
    """

    def __init__(
        self, pool: ReadPool, statements: ReadStatements, scheduler: SliceScheduler, seconds: float
    ) -> None:
        self._pool = pool
        self._slow = pool.slow
        self.statements = statements
        self.scheduler = scheduler
        self.seconds = seconds

    @override
    async def lookup(self, query: Query, seconds: float | None = None) -> list[Row]:
        try:
            return await self._run(query, seconds)
        except DRIVER_ERRORS as error:
            if not is_lost(error):
                raise self._refusal(error) from error
        # the connection may have been lost while it was idle, and a read can be repeated
        try:
            return await self._run(query, seconds)
        except DRIVER_ERRORS as error:
            raise self._refusal(error) from error

    @override
    async def rows(self, query: Query) -> list[Row]:
        if self._slow.has(query):
            found = await self._attempt(query)
            return found if found is not None else await self.long_rows(query)
        work = asyncio.ensure_future(self.lookup(query, self.seconds))
        try:
            await asyncio.wait((work,), timeout=SLOW_SECONDS)
            return work.result() if work.done() else await WHILE_CONNECTED.get()(work)
        finally:
            if not work.done():
                await cancel_and_wait(work)

    @override
    async def long_rows(self, query: Query) -> list[Row]:
        async def run() -> list[Row]:
            async with self._slow.permit():
                return await self.lookup(query, self.seconds)

        return await WHILE_CONNECTED.get()(run())

    @override
    async def page(self, plan: PagePlan) -> Slices:
        most = slice_size(plan.pipeline)
        is_slow, fetched = plan.pipeline.searches, PART_SLICES * most
        while plan.limit > 0:
            part = plan if is_slow else plan.part(plan.keyset, min(fetched, plan.limit), plan.skip)
            query = self.statements.page(part)
            try:
                if is_slow:
                    rows, is_last = await self._portion(query)
                else:
                    is_known = self._slow.has(query)
                    found = await (self._attempt(query) if is_known else self.rows(query))
                    if found is None:
                        is_slow = True
                        continue
                    rows, is_last = found, len(found) < part.limit
            except Refusal as refusal:
                if is_slow or refusal.error is not INVALID_URL or part.limit <= SLICE:
                    raise
                # return the records before the one that cannot be computed
                fetched = SLICE
                continue
            left, last = plan.limit - len(rows), rows[-1:]
            async with aclosing(self.scheduler.sliced(rows, most)) as slices:
                async for some in slices:
                    yield some
            if is_last:
                return
            if last:
                plan = plan.part(plan.keyset_after(*last), left, 0)

    async def _run(self, query: Query, seconds: float | None) -> list[Row]:
        connection = await self._pool.acquire()
        began = monotonic()
        try:
            return await run_query(connection, query, seconds)
        except DRIVER_ERRORS as error:
            if is_lost(error):
                self._pool.drop(connection)
            raise
        finally:
            self._pool.release(connection)
            if seconds is not None:
                self._slow.record(query, monotonic() - began)

    async def _attempt(self, query: Query) -> list[Row] | None:
        """All rows of a slow statement, without a permit; None if it must wait for one."""
        return await self._slow.attempt(query, partial(self._run, query, ATTEMPT_SECONDS))

    async def _portion(self, query: Query) -> tuple[list[Row], bool]:
        """The first rows of a slow statement, and whether they are all rows."""
        is_whole = False

        async def run() -> list[Row]:
            nonlocal is_whole
            try:
                async with self._slow.permit(), self._connection() as connection:
                    began = monotonic()
                    try:
                        rows, is_whole = await run_portion(connection, query, self.seconds)
                    finally:
                        self._slow.record(query, monotonic() - began)
            except DRIVER_ERRORS as error:
                raise self._refusal(error) from error
            return rows

        return await WHILE_CONNECTED.get()(run()), is_whole

    def _connection(self) -> AbstractAsyncContextManager[Connection]:
        return self._pool.acquired()

    def _refusal(self, error: DriverError) -> Exception:
        if isinstance(error, TimeoutError | asyncpg.QueryCanceledError):
            return refusal_rows.QUERY_TOO_LONG(seconds=self.seconds)
        return refusal_of(error)


async def roll_back(connection: Connection) -> None:
    """End a transaction, or terminate the connection if that fails."""
    if connection.is_closed():
        return
    try:
        await connection.execute("ROLLBACK")
    except DRIVER_ERRORS:
        connection.terminate()
    except asyncio.CancelledError:
        connection.terminate()
        raise


async def run_portion(
    connection: Connection, query: Query, seconds: float
) -> tuple[list[Row], bool]:
    """The first rows of a statement, and whether they are all; each fetch has these seconds."""
    try:
        # asyncpg's own transaction remains open when it is cancelled during BEGIN
        await connection.execute("BEGIN READ ONLY")
        cursor = await connection.cursor(query.text, *query.values, timeout=seconds)

        async def fetch(number: int) -> list[Row]:
            return list(map(tuple, await cursor.fetch(number, timeout=seconds)))

        return await fetch_portion(fetch)
    finally:
        await roll_back(connection)


async def fetch_portion(
    fetch: Callable[[int], Awaitable[list[Row]]], most: int = maxsize
) -> tuple[list[Row], bool]:
    """The next rows of a cursor, and whether they are the last.

    They are `most` rows, or about `SLICE_CHARACTERS` of text.
    """
    rows: list[Row] = []
    left, size = SLICE_CHARACTERS, FIRST_FETCH
    while left > 0 and len(rows) < most:
        some = await fetch(size)
        volume = characters(some)
        rows += some
        left -= volume
        if len(some) < size:
            return rows, True
        # the rest of the portion, if its rows are as long
        size = max(min(left * size // (volume + 1), LARGEST_FETCH, most - len(rows)), 1)
    return rows, False
