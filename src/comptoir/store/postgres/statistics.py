"""The planner's statistics of tables to which many rows were written.

Autovacuum refreshes them too, but a minute or more later; until then plans are for few rows.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from comptoir.store.postgres.connection import Connection
from comptoir.store.postgres.faults import FAULTS
from comptoir.store.postgres.pool import CLOSING_SECONDS


class Statistics:
    """Refreshes statistics on connections of its own, so that no request waits for one."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        self._connect = connect
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopped = False

    async def refresh(self, tables: Sequence[str]) -> None:
        """Analyze tables, as far as the role's rights and the locks of others allow it."""
        if self._is_stopped:
            return
        task = asyncio.create_task(self._analyze(tables))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await asyncio.wait((task,))
            if not task.cancelled():
                task.result()
        finally:
            task.cancel()

    async def stop(self) -> None:
        """Cancel the refreshes under way."""
        self._is_stopped = True
        tasks = list(self._tasks)
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _analyze(self, tables: Sequence[str]) -> None:
        # a holder of a conflicting lock analyzes the table too, or is about to change it
        statement = "ANALYZE (SKIP_LOCKED) " + ", ".join(f'"{each}"' for each in tables)
        # the rows are stored, and autovacuum makes up for a failure here
        with suppress(*FAULTS):
            connection = await self._connect()
            try:
                # outside of a transaction, so that no table stays locked until all are done
                await connection.execute(statement)
                await connection.close(timeout=CLOSING_SECONDS)
            finally:
                connection.terminate()
