"""Views: reads of the records as they were at one moment, as a replica that lags has them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress

from typing_extensions import override

from comptoir.edm.model import Company
from comptoir.edm.times import Clock
from comptoir.errors.refusal import Refusal
from comptoir.plan.read import PagePlan, Row
from comptoir.sql.prepared import Query
from comptoir.sql.reads import ReadStatements
from comptoir.store.store import (
    Reader,
    Reads,
    Slices,
    SliceScheduler,
    SnapshotConnection,
    Store,
    WhileConnected,
)

MOST_SECONDS = 60.0
"""The longest time for which a view exists: the database keeps all that has changed since then."""


class PinnedView:
    """The records at the moment when the view is opened; for use in one event loop only.

    That is after the change with a `number` of a company, `at` a time.
    """

    def __init__(self, store: Store, number: int, at: float) -> None:
        self.number = number
        self.at = at
        self._store = store
        self._users = 0
        self._wake = asyncio.Event()
        self._opened: asyncio.Future[Reads] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())
        self.is_over = False

    @asynccontextmanager
    async def reads(self) -> AsyncIterator[Reads]:
        """The reads of the view; it remains open during the block. Raises `Refusal` (503)."""
        self._users += 1
        try:
            yield await asyncio.shield(self._opened)
        finally:
            self._users -= 1
            self._wake.set()

    async def close(self) -> None:
        """Close the view as soon as nobody uses it."""
        self.is_over = True
        self._wake.set()
        await self._task

    async def _hold(self) -> None:
        try:
            async with self._store.snapshot() as connection:
                statements = self._store.statements
                reader = _SnapshotReader(connection, statements.reads)
                self._opened.set_result(Reads(statements, reader))
                with suppress(TimeoutError):
                    async with asyncio.timeout(MOST_SECONDS):
                        await self._closed()
                self.is_over = True
                await self._closed()
        except Refusal as refusal:
            self.is_over = True
            if not self._opened.done():
                self._opened.set_exception(refusal)

    async def _closed(self) -> None:
        """Wait until the view is over and nobody uses it."""
        while self._users or not self.is_over:
            self._wake.clear()
            await self._wake.wait()


class _SnapshotReader(Reader):
    """Runs statements one after the other on a connection with a fixed view."""

    def __init__(self, connection: SnapshotConnection, statements: ReadStatements) -> None:
        self.scheduler = SliceScheduler()
        self._connection = connection
        self._statements = statements
        self._lock = asyncio.Lock()

    @override
    async def lookup(self, query: Query) -> list[Row]:
        async with self._lock:
            return await self._connection.fetch(query)

    @override
    async def rows(self, query: Query, while_connected: WhileConnected) -> list[Row]:
        return await while_connected(self.lookup(query))

    @override
    async def long_rows(self, query: Query, while_connected: WhileConnected) -> list[Row]:
        return await self.rows(query, while_connected)

    @override
    async def page(self, plan: PagePlan, while_connected: WhileConnected) -> Slices:
        rows = await self.rows(self._statements.page(plan), while_connected)
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
        """Have a view that the next change makes stale: by `seconds`, else by `lag` changes."""
        async with self._lock:
            held = self._held.get(company.id)
            if held is not None and not await self._is_late(held, company, lag, seconds):
                return
            await self._drop(company.id)
            number = await self._store.position(company)
            view = self._held[company.id] = PinnedView(self._store, number, self._clock())
            async with view.reads():
                # the view is open before the change is made
                pass

    def of(self, company_id: str, seconds: float | None) -> PinnedView | None:
        """The view of a company; None without one that is younger than `seconds`."""
        held = self._held.get(company_id)
        if held is None or held.is_over:
            return None
        is_late = seconds is not None and self._clock() - held.at >= seconds
        return None if is_late else held

    async def close(self) -> None:
        """Close all views."""
        async with self._lock:
            for company_id in list(self._held):
                await self._drop(company_id)

    async def _is_late(
        self, held: PinnedView, company: Company, lag: int, seconds: float | None
    ) -> bool:
        if held.is_over:
            return True
        if seconds is not None:
            return self._clock() - held.at >= seconds
        return await self._store.position(company) - held.number >= lag

    async def _drop(self, company_id: str) -> None:
        held = self._held.pop(company_id, None)
        if held is not None:
            await held.close()
