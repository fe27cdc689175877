"""Reads: statement by statement, each on whatever connection is free, and none held for a client.

What turns out to take long is known by its shape from then on: few of that kind run at once, so
that others find a connection, and the rest of such a page is read in one go instead of anew for
every slice.
"""

import asyncio
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, aclosing
from time import monotonic
from typing import TypeVar

import asyncpg

from comptoir.errors import INVALID_URL, UNAVAILABLE, Refusal
from comptoir.plan.read import PagePlan, Row
from comptoir.sql.prepared import Query, Statement
from comptoir.sql.reads import ReadStatements
from comptoir.store.event_loop import SLICE, Slices, SliceScheduler, cancel_and_wait
from comptoir.store.postgres.connection import Connection
from comptoir.store.postgres.faults import FAULTS, Fault, is_cut, refusal_of
from comptoir.store.postgres.pool import Pool
from comptoir.store.postgres.session import Session, run_portion, run_query
from comptoir.store.postgres.slow import SLOW_SECONDS, SlowReads
from comptoir.store.store import Patience

FETCHED = 8 * SLICE
"""How many records of a page one statement reads."""

CHARACTERS = 4_000_000
"""How much text of a slow page is read at once, and then is in memory."""


T = TypeVar("T")


class Reader:
    """Reads on the connections of a pool."""

    def __init__(
        self,
        pool: Pool,
        statements: ReadStatements,
        slow: SlowReads,
        scheduler: SliceScheduler,
        seconds: float,
    ) -> None:
        self._pool = pool
        self.statements = statements
        self._slow = slow
        self.scheduler = scheduler
        self.seconds = seconds

    async def lookup(self, query: Query, seconds: float | None = None) -> list[Row]:
        """All rows of a statement that a key serves; raises `Refusal`, 503 after some seconds."""
        try:
            return await self._looked_up(query, seconds)
        except FAULTS as fault:
            if not is_cut(fault):
                raise self._refusal(fault) from fault
        # the connection may have been lost long ago, as in a failover, and a read may be repeated
        try:
            return await self._looked_up(query, seconds)
        except FAULTS as fault:
            raise self._refusal(fault) from fault

    async def _looked_up(self, query: Query, seconds: float | None) -> list[Row]:
        connection = await self._pool.take()
        began = monotonic()
        try:
            return await run_query(connection, query, seconds)
        except FAULTS as fault:
            if is_cut(fault):
                self._pool.cut(connection)
            raise
        finally:
            self._pool.give_back(connection)
            if seconds is not None:
                self._slow.took(query, monotonic() - began)

    async def rows(self, query: Query, patience: Patience) -> list[Row]:
        """All rows of a statement that gives few; raises `Refusal`.

        Raises `Refusal` 429 when too many slow ones wait, 503 when it takes too long. When the
        caller is cancelled, so is the read.
        """
        if self._slow.has(query):
            return await self.long_rows(query, patience)
        work = asyncio.ensure_future(self.lookup(query, self.seconds))
        try:
            await asyncio.wait((work,), timeout=SLOW_SECONDS)
            return work.result() if work.done() else await patience(work)
        finally:
            if not work.done():
                await cancel_and_wait(work)

    async def long_rows(self, query: Query, patience: Patience) -> list[Row]:
        """All rows of a statement that may take long, as `rows` gives them."""
        async with self._slow.place():
            return await patience(self.lookup(query, self.seconds))

    async def drive(self, unit: Generator[Statement, list[Row], T]) -> T:
        """Run a unit that only reads to its end."""
        try:
            async with self._lent() as connection:
                return await Session(connection).drive(unit)
        except FAULTS as fault:
            raise self._refusal(fault) from fault

    async def page(self, plan: PagePlan, patience: Patience) -> Slices:
        """The rows of a page, in slices; between two slices others have their turn."""
        keyset, left, skip = plan.keyset, plan.limit, plan.skip
        slow, fetched = plan.pipeline.searches, FETCHED
        while left > 0 and not slow:
            size = min(fetched, left)
            query = self.statements.page(plan.part(keyset, size, skip))
            slow = self._slow.has(query)
            if slow:
                break
            try:
                rows = await self.rows(query, patience)
            except Refusal as refusal:
                if refusal.error is not INVALID_URL or size <= SLICE:
                    raise
                # what stands before the record that cannot be computed is given all the same
                fetched = SLICE
                continue
            ends = len(rows) < size
            left -= len(rows)
            skip = 0
            if rows:
                keyset = plan.keyset_after(rows[-1])
            async with aclosing(self.scheduler.sliced(rows)) as slices:
                async for some in slices:
                    yield some
            if ends:
                return
        while left > 0:
            rest = self.statements.page(plan.part(keyset, left, skip))
            async with self._slow.place():
                rows, is_whole = await self._portion(rest, patience)
            if rows:
                left -= len(rows)
                skip = 0
                keyset = plan.keyset_after(rows[-1])
            if is_whole:
                left = 0
            async with aclosing(self.scheduler.sliced(rows)) as slices:
                async for some in slices:
                    yield some

    async def _portion(self, query: Query, patience: Patience) -> tuple[list[Row], bool]:
        whole = False

        async def run() -> list[Row]:
            nonlocal whole
            try:
                async with self._lent() as connection:
                    began = monotonic()
                    try:
                        rows, whole = await run_portion(connection, query, CHARACTERS, self.seconds)
                    finally:
                        self._slow.took(query, monotonic() - began)
            except FAULTS as fault:
                raise self._refusal(fault) from fault
            return rows

        return await patience(run()), whole

    def _lent(self) -> AbstractAsyncContextManager[Connection]:
        return self._pool.lent()

    def _refusal(self, fault: Fault) -> Exception:
        if isinstance(fault, TimeoutError | asyncpg.QueryCanceledError):
            return Refusal(
                UNAVAILABLE,
                f"The query took longer than {self.seconds:g} s. Narrow the filter, or sort by "
                "the key.",
                headers={"Retry-After": "5"},
            )
        return refusal_of(fault)
