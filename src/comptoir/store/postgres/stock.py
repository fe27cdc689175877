"""Statistics of tables to which much was written, by which PostgreSQL plans.

Autovacuum renews them too, but a minute or more later, and until then plans are for few rows.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from comptoir.store.postgres.connection import Connection
from comptoir.store.postgres.faults import FAULTS
from comptoir.store.postgres.pool import CLOSING_SECONDS


class Stock:
    """Has statistics renewed, on connections of their own, so that nothing waits for that."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        self._connect = connect
        self._taking: set[asyncio.Task[None]] = set()
        self._is_stopped = False

    async def take(self, tables: Sequence[str]) -> None:
        """Renew the statistics of some tables, as far as the role and the database let it."""
        if self._is_stopped:
            return
        taking = asyncio.create_task(self._analyze(tables))
        self._taking.add(taking)
        taking.add_done_callback(self._taking.discard)
        try:
            await asyncio.wait((taking,))
            if not taking.cancelled():
                taking.result()
        finally:
            taking.cancel()

    async def stop(self) -> None:
        """Give up what is under way."""
        self._is_stopped = True
        taking = list(self._taking)
        for each in taking:
            each.cancel()
        await asyncio.gather(*taking, return_exceptions=True)

    async def _analyze(self, tables: Sequence[str]) -> None:
        # whoever holds a lock against it renews them as well, or is about to change the table
        statement = "ANALYZE (SKIP_LOCKED) " + ", ".join(f'"{each}"' for each in tables)
        # what was written is stored, and autovacuum makes up for what fails here
        with suppress(*FAULTS):
            connection = await self._connect()
            try:
                # outside of a transaction, so that no table is held for the sake of another
                await connection.execute(statement)
                await connection.close(timeout=CLOSING_SECONDS)
            finally:
                connection.terminate()
