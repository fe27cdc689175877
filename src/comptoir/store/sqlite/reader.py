"""Reads: in the event loop within a budget, longer ones on a few scanning threads.

A point read costs less than handing it to a thread, so a statement runs where it is called. The
database calls back every few hundred steps of its machine. A statement that exceeds its steps is
stopped and starts again on a thread. Its shape is remembered, and runs there at once from then on.
"""

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from typing import TypeVar

from comptoir.plan.expressions.calls import SHORT_LITERAL
from comptoir.plan.read import PagePlan, Row
from comptoir.sql.prepared import SHAPES_CACHED, Query, Steps
from comptoir.sql.reads import ReadStatements
from comptoir.store.event_loop import SLICE, Slices, SliceScheduler
from comptoir.store.refusals import too_many_reads, too_slow
from comptoir.store.sqlite.connection import Connection, Portion, StatementStopped, refusal_of
from comptoir.store.store import WhileConnected, always_connected

STEPS = 500
"""Steps of the database's machine between two callbacks: about ten microseconds."""

BUDGET = 40
"""Callbacks after which a statement must leave the event loop: one or two milliseconds."""

SECONDS = 0.002
"""Seconds that a statement may take in the event loop, where a single step may take long.

It may use as much CPU time again, so that a busy machine has no effect.
"""

MOST_TEXT = 2_000
"""Characters of the long texts among a statement's values, above which it runs on a thread."""

CHARACTERS = 4_000_000
"""Characters of a page that a scanning thread fetches at once, into memory."""

SLOW = 10
"""Callbacks in one slice after which the rest of the page leaves the event loop."""

INTERRUPT_SECONDS = 0.02
"""The interval between attempts to stop a read that nobody awaits."""

T = TypeVar("T")


class Scans:
    """Runs long reads on a few threads with their own connections, limited in number and time."""

    def __init__(self, connections: list[Connection], *, most_waiting: int, seconds: float) -> None:
        self._connections = connections
        self._idle = connections.copy()
        self._free = asyncio.Semaphore(len(connections))
        self._most_waiting = most_waiting
        self._waiting = 0
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(len(connections), thread_name_prefix="comptoir-scan")

    async def run(self, query: Query, portion: Portion | None = None) -> list[Row]:
        """Run a read on a thread and return its rows, or a portion of them.

        Raises `Refusal`: 429 if too many wait, 503 if it takes too long. Cancelling the caller
        cancels the read.
        """
        if self._waiting >= self._most_waiting:
            raise too_many_reads(self._waiting)
        self._waiting += 1
        try:
            await self._free.acquire()
        except asyncio.CancelledError:
            self._waiting -= 1
            raise
        connection = self._idle.pop()
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, _run_without_limit, connection, query, portion)
        # the connection is free when the thread has ended, even if the caller is cancelled twice
        work.add_done_callback(partial(self._release, connection))
        try:
            await asyncio.wait([work], timeout=self._seconds)
        finally:
            # a thread that has not begun does not notice a stop
            while not work.done():
                connection.stop()
                await asyncio.wait([work], timeout=INTERRUPT_SECONDS)
            fault = work.exception()
        if fault is None:
            return work.result()
        if isinstance(fault, sqlite3.Error):
            raise refusal_of(fault) from fault
        if not isinstance(fault, StatementStopped):
            raise fault
        raise too_slow(self._seconds) from fault

    def _release(self, connection: Connection, work: asyncio.Future[list[Row]]) -> None:
        # asyncio reports an exception that nobody retrieves
        work.exception()
        self._idle.append(connection)
        self._free.release()
        self._waiting -= 1

    async def stop(self) -> None:
        """Wait for the current reads, then close the connections."""
        await asyncio.to_thread(self._threads.shutdown)
        # a cancelled read may not have given its connection back yet
        for connection in self._connections:
            connection.close()


def _run_without_limit(connection: Connection, query: Query, portion: Portion | None) -> list[Row]:
    connection.limit.begin()
    return connection.run(query, portion)


class SqliteReader:
    """Reads on a connection in the event loop, and on scanning threads.

    The connection `unhurried` is for units of commands, which run without concurrent requests.
    """

    def __init__(
        self,
        connection: Connection,
        unhurried: Connection,
        statements: ReadStatements,
        scans: Scans,
    ) -> None:
        self._connection = connection
        self._unhurried = unhurried
        self._statements = statements
        self._scans = scans
        self.scheduler = SliceScheduler()
        # hashes of statements, whose texts may be long; a collision only costs a thread
        self._slow: set[int] = set()
        self._loop = asyncio.get_running_loop()
        self._in_transaction = False
        self._callbacks = 0
        self._reading = False
        connection.set_progress_handler(self._on_progress, STEPS)

    async def lookup(self, query: Query) -> list[Row]:
        """All rows of a statement that finds them by a key."""
        return await self.rows(query, always_connected)

    async def drive(self, unit: Steps[T]) -> T:
        """Run a unit to its end without yielding to the event loop."""
        try:
            return self._unhurried.drive(unit)
        except sqlite3.Error as fault:
            raise refusal_of(fault) from fault

    async def rows(self, query: Query, while_connected: WhileConnected) -> list[Row]:
        """All rows of a statement that returns few; raises `Refusal` as `Scans.run` does."""
        rows = self._within_budget(query)
        return rows if rows is not None else await while_connected(self._scans.run(query))

    async def long_rows(self, query: Query, while_connected: WhileConnected) -> list[Row]:
        """All rows of a statement whose steps are too long for the event loop."""
        return await while_connected(self._scans.run(query))

    async def page(self, plan: PagePlan, while_connected: WhileConnected) -> Slices:
        """The rows of a page, in slices; yields to the event loop between them.

        Each slice is a statement of its own that starts after the last row of the previous slice,
        so no cursor stays open while a client reads.
        """
        keyset, left, skip = plan.keyset, plan.limit, plan.skip
        slow = plan.pipeline.searches
        while left > 0 and not slow:
            size = min(SLICE, left)
            rows = self._within_budget(self._statements.page(plan.part(keyset, size, skip)))
            slow = rows is None or self._callbacks > SLOW
            if rows is not None:
                yield rows
                if len(rows) < size:
                    return
                left -= size
                skip = 0
                keyset = plan.keyset_after(rows[-1])
                await self.scheduler.yield_to_loop()
        while left > 0:
            rest = self._statements.page(plan.part(keyset, left, skip))
            portion = Portion(CHARACTERS)
            rows = await while_connected(self._scans.run(rest, portion))
            if rows:
                left -= len(rows)
                skip = 0
                keyset = plan.keyset_after(rows[-1])
            if portion.is_whole:
                left = 0
            async with aclosing(self.scheduler.sliced(rows)) as slices:
                async for some in slices:
                    yield some

    def _within_budget(self, query: Query) -> list[Row] | None:
        """The rows of a statement, None if it must run on a scanning thread."""
        if query.costly or hash(query.text) in self._slow or _has_long_texts(query):
            return None
        self._callbacks = 0
        if not self._in_transaction:
            self._begin()
        self._connection.limit.begin(SECONDS)
        self._reading = True
        try:
            return self._connection.run(query)
        except StatementStopped:
            # after fewer callbacks, the next statement of this shape may have shorter texts
            if self._callbacks > BUDGET:
                self._remember(query)
        except sqlite3.Error as fault:
            raise refusal_of(fault) from fault
        finally:
            self._reading = False
        return None

    def _remember(self, query: Query) -> None:
        if len(self._slow) == SHAPES_CACHED:
            self._slow.clear()
        self._slow.add(hash(query.text))

    def _begin(self) -> None:
        """Begin a transaction for the reads of one iteration of the event loop.

        They share its locks, which cost system calls. It ends before the next iteration reads, so a
        read never misses a change that was acknowledged before its request came, and no reader
        delays the checkpoint of the write-ahead log.
        """
        self._connection.execute("BEGIN")
        self._in_transaction = True
        self._loop.call_soon(self._end)

    def _end(self) -> None:
        if self._in_transaction:
            self._in_transaction = False
            self._connection.commit()

    def _on_progress(self) -> bool:
        if not self._reading:
            # BEGIN and COMMIT must not be interrupted
            return False
        self._callbacks += 1
        return self._callbacks > BUDGET or self._connection.limit.is_over()

    def stop(self) -> None:
        """Close the connections."""
        self._end()
        self._connection.close()
        self._unhurried.close()


def _has_long_texts(query: Query) -> bool:
    # short texts do not count, such as the many keys that $expand looks up
    texts = [
        len(each) for each in query.values if isinstance(each, str) and len(each) > SHORT_LITERAL
    ]
    return bool(texts) and sum(texts) > MOST_TEXT
