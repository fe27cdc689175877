"""Views: reads of the records as they were at one moment, as a replica that lags has them."""

import asyncio
import time
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field

from typing_extensions import override

from comptoir.edm.model import Company
from comptoir.edm.times import Clock
from comptoir.plan.read import PagePlan, Row
from comptoir.sql.prepared import Query
from comptoir.sql.statements import Statements
from comptoir.store.store import (
    WHILE_CONNECTED,
    Reader,
    Slices,
    SliceScheduler,
    SnapshotConnection,
    Store,
)

LOOK_SECONDS = 5.0
"""Seconds between two looks for views that have existed too long."""

OLD_SECONDS = 60.0 - LOOK_SECONDS
"""The age at which a look closes a view: the database keeps all that has changed since then."""


@dataclass(slots=True, eq=False)
class PinnedView(Reader):
    """The records after the change with a `number` of a company, `at` a time.

    It is for use in one event loop only, by the request that holds the lock `used`.
    """

    number: int
    at: float
    statements: Statements
    connection: SnapshotConnection
    closing: AsyncExitStack
    opened_at: float = field(default_factory=time.monotonic)
    scheduler: SliceScheduler = field(default_factory=SliceScheduler)
    used: asyncio.Lock = field(default_factory=asyncio.Lock)

    @override
    async def lookup(self, query: Query) -> list[Row]:
        return await self.connection.fetch(query)

    @override
    async def rows(self, query: Query) -> list[Row]:
        return await WHILE_CONNECTED.get()(self.lookup(query))

    @override
    async def long_rows(self, query: Query) -> list[Row]:
        return await self.rows(query)

    @override
    async def page(self, plan: PagePlan) -> Slices:
        rows = await self.rows(self.statements.reads.page(plan))
        async with aclosing(self.scheduler.sliced(rows)) as slices:
            async for some in slices:
                yield some


class StaleReads:
    """The views of companies, at most one of each, by a clock in seconds."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._held: dict[str, PinnedView] = {}
        self._lock = asyncio.Lock()

    async def prepare(self, company: Company, lag: int, seconds: float | None) -> None:
        """Have a view that the next change makes stale: by `seconds`, else by `lag` changes.

        Raises `Refusal` (503) if the database is unreachable.
        """
        async with self._lock:
            held, number = self._held.get(company.id), await self._store.position(company)
            if held is not None and (
                number - held.number < lag if seconds is None else self._clock() - held.at < seconds
            ):
                return
            await self._drop(company.id)
            at, closing, statements = self._clock(), AsyncExitStack(), self._store.statements
            connection = await closing.enter_async_context(self._store.snapshot())
            self._held[company.id] = PinnedView(number, at, statements, connection, closing)

    def of(self, company_id: str, seconds: float | None) -> PinnedView | None:
        """The view of a company; None without one that is younger than `seconds`."""
        held = self._held.get(company_id)
        if held is None or seconds is None or self._clock() - held.at < seconds:
            return held
        return None

    async def close(self, most_seconds: float = 0) -> None:
        """Close the views that have existed as long as this, as soon as no request uses them."""
        opened_at = time.monotonic() - most_seconds
        async with self._lock:
            for company_id, view in list(self._held.items()):
                if view.opened_at <= opened_at:
                    await self._drop(company_id)

    async def _drop(self, company_id: str) -> None:
        held = self._held.pop(company_id, None)
        if held is not None:
            async with held.used:
                await held.closing.aclose()
