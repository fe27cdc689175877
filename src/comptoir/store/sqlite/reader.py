"""Reads: in the event loop within a budget, longer ones on a few scan threads.

A point read costs less than handing it to a thread, so a statement runs where it is called. The
database calls back every 1,000 steps of its machine. A statement that exceeds its steps is
stopped and starts again on a thread. Its shape is remembered, and runs there at once from then on.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from functools import partial
from itertools import cycle

import apsw
from typing_extensions import override

from comptoir.errors import refusal_rows
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import INVALID_URL
from comptoir.plan.expressions.calls import SHORT_LITERAL
from comptoir.plan.read import PagePlan, Row
from comptoir.sql.prepared import SHAPES_CACHED, Query
from comptoir.sql.reads import ReadStatements
from comptoir.store.fair_queue import CLIENT, FairQueue, Load, Permit
from comptoir.store.sqlite.connection import Connection, Portion, StatementStopped, refusal_of
from comptoir.store.store import SLICE, WHILE_CONNECTED, Reader, Slices, SliceScheduler, slice_size

STEPS = 1_000
"""Steps of the database's machine between two callbacks: about twenty microseconds."""

BUDGET = 20
"""Callbacks after which a statement must leave the event loop: one or two milliseconds."""

SECONDS = 0.002
"""Seconds that a statement may take in the event loop, where a single step may take long.

It may use as much CPU time again, so that a busy machine has no effect.
"""

MOST_TEXT = 2_000
"""Characters of the long texts among a statement's values, above which it runs on a thread."""

CHARACTERS = 4_000_000
"""Characters of a page that a scan thread fetches at once, into memory."""

SLOW = 5
"""Callbacks in one slice after which the rest of the page leaves the event loop."""

ATTEMPTS = (0.004, 0.001, 0.016, 0.008, 0.128, 0.064)
"""Seconds of a search by the text index, of one record by record, and so on in turns.

Rare words have few candidates in the index, and common words fill a page after few records.
"""

ATTEMPT_STEPS = 10_000
"""Steps of the database's machine between two looks at the clock of an attempt."""

INTERRUPT_SECONDS = 0.02
"""The interval between attempts to stop a read that nobody awaits."""


class Scans:
    """Runs long reads on a few threads with their own connections, limited in number and time."""

    def __init__(self, connections: list[Connection], *, most_reads: int, seconds: float) -> None:
        self._idle = connections
        self._queue = FairQueue(len(connections), most_reads, seconds)
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(len(connections), thread_name_prefix="comptoir-scan")

    @property
    def load(self) -> Load:
        """The reads that run and wait now."""
        return self._queue.load

    async def run(
        self, query: Query, portion: Portion | None = None, walk: Query | None = None
    ) -> list[Row]:
        """Run a read on a thread and return its rows, or a portion of them.

        `walk` has the same rows, and the faster of the two statements is found by trying. Raises
        `Refusal` (503) if too many wait or run, or if it takes too long. Cancelling the caller
        cancels the read.
        """
        permit = await self._queue.enter()
        connection = self._idle.pop()
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, _run, connection, query, portion, walk)
        # the connection is free when the thread has ended, even if the caller is cancelled twice
        work.add_done_callback(partial(self._release, connection, permit))
        try:
            await asyncio.wait([work], timeout=self._seconds)
        finally:
            # a thread that has not begun does not notice a stop
            while not work.done():
                connection.stop()
                await asyncio.wait([work], timeout=INTERRUPT_SECONDS)
            error = work.exception()
        if error is None:
            return work.result()
        if isinstance(error, apsw.Error):
            raise refusal_of(error) from error
        if not isinstance(error, StatementStopped):
            raise error
        raise refusal_rows.QUERY_TOO_LONG(seconds=self._seconds) from error

    def _release(
        self, connection: Connection, permit: Permit, work: asyncio.Future[list[Row]]
    ) -> None:
        # asyncio reports an exception that nobody retrieves
        work.exception()
        self._idle.append(connection)
        self._queue.leave(permit)

    async def stop(self) -> None:
        """Wait for the current reads."""
        await asyncio.to_thread(self._threads.shutdown)


def _run(
    connection: Connection, query: Query, portion: Portion | None, walk: Query | None
) -> list[Row]:
    if walk is not None:
        for each, seconds in zip(cycle((query, walk)), ATTEMPTS, strict=False):
            # a walk also computes values of records that the search does not find
            with suppress(StatementStopped, Refusal):
                return _attempt(connection, each, portion, seconds)
    connection.time_limit.begin()
    return connection.run(query, portion)


def _attempt(
    connection: Connection, query: Query, portion: Portion | None, seconds: float
) -> list[Row]:
    connection.time_limit.begin(seconds)
    connection.set_progress_handler(connection.time_limit.is_over, ATTEMPT_STEPS)
    try:
        return connection.run(query, portion)
    finally:
        connection.set_progress_handler(None, 0)


class LoopReads:
    """Reads in the event loop on a connection, each within the budget.

    The reads of one iteration of the event loop share a transaction and its locks, which cost
    system calls. It ends before the next iteration reads, so a read never misses a change that was
    acknowledged before its request came, and no reader delays the checkpoint of the write-ahead
    log.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._in_transaction = False
        self._reading = False
        self._stopped: set[str] = set()
        self.callbacks = 0
        """The callbacks of the database during the last statement."""
        connection.set_progress_handler(self._on_progress, STEPS)

    async def yield_after_stopped(self) -> None:
        """Let others run if a statement of the party was stopped in this iteration.

        So the budgets of many concurrent statements of one party do not add up.
        """
        while self._stopped and CLIENT.get() in self._stopped:  # noqa: ASYNC110 - awaits iterations
            await asyncio.sleep(0)

    def run(self, query: Query) -> list[Row]:
        """All rows; raises `StatementStopped` over the budget, and `Refusal` (503)."""
        self.callbacks = 0
        try:
            if not self._in_transaction:
                self._connection.execute("BEGIN")
                self._in_transaction = True
                self._loop.call_soon(self.end)
            self._connection.time_limit.begin(SECONDS)
            self._reading = True
            return self._connection.run(query)
        except apsw.Error as error:
            raise refusal_of(error) from error
        except StatementStopped:
            self._stopped.add(CLIENT.get())
            raise
        finally:
            self._reading = False

    def end(self) -> None:
        """End the transaction of this iteration."""
        self._stopped.clear()
        if self._in_transaction:
            self._in_transaction = False
            self._connection.commit()

    def _on_progress(self) -> bool:
        if not self._reading:
            # BEGIN and COMMIT must not be interrupted
            return False
        self.callbacks += 1
        return self.callbacks > BUDGET or self._connection.time_limit.is_over()


class SqliteReader(Reader):
    """Reads in the event loop, and on scan threads.

    The connection `walking` is for pages in the order of the keys. It does not map the file: all
    that a walk reads would remain in memory, and little of it is read again.
    """

    def __init__(
        self, connection: Connection, walking: Connection, statements: ReadStatements, scans: Scans
    ) -> None:
        self._reads = LoopReads(connection)
        self._walks = LoopReads(walking)
        self._statements = statements
        self._scans = scans
        self.scheduler = SliceScheduler()
        # hashes of statements, whose texts may be long; a collision only costs a thread
        self._slow: set[int] = set()

    @override
    async def lookup(self, query: Query, scans: Scans | None = None) -> list[Row]:
        # a long one runs among `scans`
        rows = self._in_event_loop(query, self._reads)
        return rows if rows is not None else await (scans or self._scans).run(query)

    @override
    async def rows(self, query: Query) -> list[Row]:
        await self._reads.yield_after_stopped()
        rows = self._within_budget(query, self._reads)
        return rows if rows is not None else await WHILE_CONNECTED.get()(self._scans.run(query))

    @override
    async def long_rows(self, query: Query) -> list[Row]:
        return await WHILE_CONNECTED.get()(self._scans.run(query))

    @override
    async def page(self, plan: PagePlan) -> Slices:
        # each slice is a statement of its own that starts after the last row of the previous one,
        # so no cursor stays open while a client reads
        most = slice_size(plan.pipeline)
        slow, fetched, reads = plan.pipeline.searches, SLICE, self._reads
        if plan.pipeline.is_plain:
            fetched, reads = most, self._walks
        while plan.limit > 0 and not slow:
            size = self.scheduler.records_of_slice(min(fetched, plan.limit))
            part = plan if size == plan.limit else plan.part(plan.keyset, size, plan.skip)
            query = self._statements.page(part)
            await reads.yield_after_stopped()
            try:
                rows = self._within_budget(query, reads)
            except Refusal as refusal:
                if refusal.error is not INVALID_URL or size <= SLICE:
                    raise
                # return the records before the one that cannot be computed
                fetched = most = SLICE
                continue
            slow = rows is None or reads.callbacks > SLOW
            if reads.callbacks <= SLOW:
                fetched = min(2 * fetched, most)
            if rows is not None:
                yield rows
                # the end of a page does not wait for other requests
                if len(rows) < size or size == plan.limit:
                    return
                plan = plan.part(plan.keyset_after(rows[-1]), plan.limit - size, 0)
                await self.scheduler.yield_to_loop()
        while plan.limit > 0:
            walk = self._statements.walk(plan)
            portion = Portion(CHARACTERS)
            query = self._statements.page(plan)
            rows = await WHILE_CONNECTED.get()(self._scans.run(query, portion, walk))
            left, last = plan.limit - len(rows), rows[-1:]
            async with aclosing(self.scheduler.sliced(rows, most)) as slices:
                async for some in slices:
                    yield some
            if portion.is_whole:
                return
            plan = plan.part(plan.keyset_after(*last), left, 0)

    def _within_budget(self, query: Query, reads: LoopReads) -> list[Row] | None:
        """The rows of a statement, None if it must run on a scan thread."""
        if query.costly or _has_long_texts(query):
            return None
        return self._in_event_loop(query, reads)

    def _in_event_loop(self, query: Query, reads: LoopReads) -> list[Row] | None:
        """The rows of a statement without long texts, None if it must run on a scan thread."""
        if hash(query.text) in self._slow:
            return None
        try:
            return reads.run(query)
        except StatementStopped:
            # after fewer callbacks, the next statement of this shape may have shorter texts
            if reads.callbacks > BUDGET:
                if len(self._slow) == SHAPES_CACHED:
                    self._slow.clear()
                self._slow.add(hash(query.text))
        return None

    def stop(self) -> None:
        """End the transactions, after which the connections can be closed."""
        self._reads.end()
        self._walks.end()


def _has_long_texts(query: Query) -> bool:
    # short texts do not count, such as the many keys that $expand looks up
    texts = [
        len(each) for each in query.values if isinstance(each, str) and len(each) > SHORT_LITERAL
    ]
    return bool(texts) and sum(texts) > MOST_TEXT
