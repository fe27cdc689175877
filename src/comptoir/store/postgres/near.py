"""The reads of one request that a replica may answer: by it as long as it does, then elsewhere.

Once the primary has answered, the rest of the request is read there: the replica is older.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import TypeVar

from typing_extensions import override

from comptoir.edm.model import Company
from comptoir.plan.read import PagePlan, Row
from comptoir.sql.prepared import Query
from comptoir.sql.statements import Statements
from comptoir.store.event_loop import Slices
from comptoir.store.postgres.connection import Connection
from comptoir.store.postgres.faults import Fault, is_of_request
from comptoir.store.postgres.reader import Reader
from comptoir.store.postgres.replica import SERVED, Replica, Unserved
from comptoir.store.postgres.session import run_query
from comptoir.store.store import Noted, NoteSearch, Patience, Reads

T = TypeVar("T")

Confirm = Callable[[], Awaitable[None]]
"""Raises `Renewed` when a company has another incarnation than was known."""


class ReplicaReader(Reader):
    """Reads a company on a replica, as it was after its change `seen`, or later.

    All methods raise `Unserved` as well, when the primary must be asked.
    """

    def __init__(self, replica: Replica, like: Reader, company: Company, seen: int) -> None:
        super().__init__(replica.pool, like.statements, replica.slow, like.scheduler, like.seconds)
        self._replica = replica
        self._company = company
        self.seen = seen

    @override
    async def _looked_up(self, query: Query, seconds: float | None) -> list[Row]:
        async with self._lent() as connection:
            return await run_query(connection, query, seconds)

    @override
    def _lent(self) -> AbstractAsyncContextManager[Connection]:
        return self._replica.lent(self._company, self.seen)

    @override
    def _refusal(self, fault: Fault) -> Exception:
        # what takes too long or cannot be computed does so on the primary too
        if isinstance(fault, TimeoutError) or is_of_request(fault):
            return super()._refusal(fault)
        return self._replica.fault_of(fault)


class NearReader:
    """Reads on a replica, and from the first read on that it does not answer, on the primary.

    The replica checks of which incarnation the company is, and `confirm` does so for the primary.
    All methods raise `Renewed` when the company has another one than the request knows.
    """

    def __init__(
        self, replica: ReplicaReader, primary: Reader, confirm: Confirm, noted: Noted
    ) -> None:
        self._reader = replica
        self._primary = primary
        self._confirm = confirm
        self._noted = noted
        self._is_near = True
        self._has_served = False
        self.scheduler = primary.scheduler

    def need(self, number: int) -> None:
        """Let what is read from now on show the company after its change with this number."""
        self._reader.seen = max(self._reader.seen, number)

    async def lookup(self, query: Query) -> list[Row]:
        """All rows of a statement that a key serves."""
        return await self._read(lambda reader: reader.lookup(query))

    async def rows(self, query: Query, patience: Patience) -> list[Row]:
        """All rows of a statement that gives few."""
        return await self._read(lambda reader: reader.rows(query, patience))

    async def long_rows(self, query: Query, patience: Patience) -> list[Row]:
        """All rows of a statement that may take long, however few they are."""
        return await self._read(lambda reader: reader.long_rows(query, patience))

    async def page(self, plan: PagePlan, patience: Patience) -> Slices:
        """The rows of a page, in slices; the primary goes on where the replica ends."""
        if self._is_near:
            try:
                async with aclosing(self._reader.page(plan, patience)) as slices:
                    async for rows in slices:
                        self._note_served()
                        plan = plan.part(plan.keyset_after(rows[-1]), plan.limit - len(rows), 0)
                        yield rows
                self._note_served()
                return
            except Unserved as fault:
                await self._leave(fault)
        async with aclosing(self._primary.page(plan, patience)) as slices:
            async for rows in slices:
                yield rows

    async def _read(self, read: Callable[[Reader], Awaitable[T]]) -> T:
        if self._is_near:
            try:
                found = await read(self._reader)
            except Unserved as fault:
                await self._leave(fault)
            else:
                self._note_served()
                return found
        return await read(self._primary)

    async def _leave(self, fault: Unserved) -> None:
        self._is_near = False
        self._noted(fault.outcome)
        await self._confirm()

    def _note_served(self) -> None:
        if not self._has_served:
            self._has_served = True
            self._noted(SERVED)


class NearReads(Reads):
    """Implements `Reads` for one request that a replica may answer."""

    def __init__(self, statements: Statements, near: NearReader, searched: NoteSearch) -> None:
        super().__init__(statements, near, searched)
        self._near = near

    @override
    async def position(self, company: Company, at_least: int = 0) -> int:
        self._near.need(at_least)
        number = await super().position(company)
        # several replicas may be behind one URL, and each statement may come to another one
        self._near.need(number)
        return number
