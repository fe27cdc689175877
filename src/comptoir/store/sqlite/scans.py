"""Long reads: on a few threads with connections of their own, bounded in number and in time."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from comptoir.plan.read import Row
from comptoir.sql.prepared import Query
from comptoir.store.refusals import too_many_reads, too_slow
from comptoir.store.sqlite.connection import Connection, refusal_of
from comptoir.store.sqlite.session import Portion, StatementStopped, run_statement

INTERRUPT_SECONDS = 0.02
"""How often a read that nobody waits for is told to end."""


class Scans:
    """Runs reads that no key or index serves, without holding up the event loop."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        *,
        threads: int,
        most_waiting: int,
        seconds: float,
    ) -> None:
        self._idle = [connect() for _ in range(threads)]
        self._free = asyncio.Semaphore(threads)
        self._most_waiting = most_waiting
        self._waiting = 0
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="comptoir-scan")

    async def run(self, query: Query, portion: Portion | None = None) -> list[Row]:
        """Run a read on a thread and give its rows, or a portion of them.

        Raises `Refusal`: 429 when too many wait, 503 when it takes too long. When the caller is
        cancelled, so is the read.
        """
        if self._waiting >= self._most_waiting:
            raise too_many_reads(self._waiting)
        self._waiting += 1
        try:
            async with self._free:
                return await self._run(query, portion)
        finally:
            self._waiting -= 1

    async def _run(self, query: Query, portion: Portion | None) -> list[Row]:
        loop = asyncio.get_running_loop()
        connection = self._idle.pop()
        work = loop.run_in_executor(self._threads, _run_within, connection, query, portion)
        try:
            await asyncio.wait([work], timeout=self._seconds)
        finally:
            # a thread that has not begun does not notice, and the connection is another's only
            # when the thread has let go of it
            while not work.done():
                connection.stop()
                await asyncio.wait([work], timeout=INTERRUPT_SECONDS)
            self._idle.append(connection)
            fault = work.exception()
        if fault is None:
            return work.result()
        if isinstance(fault, sqlite3.Error):
            raise refusal_of(fault) from fault
        if not isinstance(fault, StatementStopped):
            raise fault
        raise too_slow(self._seconds) from fault

    async def stop(self) -> None:
        """Wait for the reads under way, then close the connections."""
        await asyncio.to_thread(self._threads.shutdown)
        for connection in self._idle:
            connection.close()


def _run_within(connection: Connection, query: Query, portion: Portion | None) -> list[Row]:
    connection.limit.begin()
    return run_statement(connection, query, portion)
