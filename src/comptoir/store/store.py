"""A store over whatever runs statements: what the databases have in common, which is most of it."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import Protocol, TypeVar

from typing_extensions import override

from comptoir.edm.model import EntitySet
from comptoir.edm.temporal import instant
from comptoir.plan.load import LoadPlan, Values
from comptoir.plan.read import Row
from comptoir.plan.target import Company
from comptoir.plan.write import WritePlan
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.ahead import matching
from comptoir.store.bulk import Loaded, load_unit
from comptoir.store.change import Written
from comptoir.store.condition import Condition
from comptoir.store.copying import CopyStep, copy_unit, no_copy
from comptoir.store.following import Following
from comptoir.store.indexing import index_unit
from comptoir.store.ledger import Change, Ledger
from comptoir.store.protocol import KNOWN_SECONDS, Reads, Store
from comptoir.store.reads import Reading, StatementReads
from comptoir.store.snapshot import Moment, Snapshot
from comptoir.store.submission import UnitFactory
from comptoir.store.unit import group_of_work, unit_of_work
from comptoir.store.watermarks import Watermark

T = TypeVar("T")


class UnitReading(Reading, Protocol):
    """Runs statements that read, and units of such."""

    async def drive(self, unit: Generator[Statement, list[Row], T]) -> T:
        """Run a unit that only reads to its end."""


class Writing(Protocol):
    """Runs units of work."""

    async def submit(
        self,
        company_id: str,
        factory: UnitFactory[T],
        *,
        alone: bool = False,
        plans: Sequence[WritePlan] = (),
    ) -> T:
        """Run a unit and give its result once it is on the disk.

        Only a unit that is `alone` may be refused after a change of its own. Raises what the unit
        raises; `Refusal` 429 when too many wait, 503 when the transaction failed. After either,
        nothing of the unit is stored.
        """

    async def give_way(self, seconds: float) -> None:
        """Let others write, after a unit that took so many seconds."""


OpenMoment = Callable[[], AbstractAsyncContextManager[Moment]]
"""Fixes a moment for as long as the block is entered; raises `Refusal` as reads do."""


class StatementStore(StatementReads, Store):
    """Implements `Store` by statements, but for how it is opened and closed."""

    def __init__(
        self,
        statements: Statements,
        reader: UnitReading,
        writer: Writing,
        open_moment: OpenMoment,
        condition: Condition,
    ) -> None:
        stock = partial(self.take_stock, (statements.tables.search_documents.name,))
        self._following = Following(self.search_lag, self._index_some, stock)
        super().__init__(statements, reader, self._following.searched)
        self._units = reader
        self._writer = writer
        self._open_moment = open_moment
        self.condition = condition
        self._companies: dict[str, tuple[Company, float]] = {}

    @override
    def replicated(self, company: Company, seen: int) -> Reads:
        return self

    @override
    async def company(self, company_id: str, *, may_lag: bool = False) -> Company | None:
        # a company goes while it is copied to here again; one that is not there may come any time
        known = self._companies.get(company_id)
        now = monotonic()
        if known is not None and (may_lag or now < known[1]):
            return known[0]
        rows = await self._rows(self._statements.service.company, company_id)
        if not rows:
            if known is not None:
                self.forget(company_id)
                self.watermarks.forget(known[0])
            return None
        company = Company(company_id, str(rows[0][0]))
        self._companies[company_id] = (company, now + KNOWN_SECONDS)
        return company

    @override
    async def create_company(self, company_id: str, name: str) -> Company:
        incarnation = secrets.token_hex(4)
        prepared = self._statements.service.add_company
        at = instant(datetime.now(UTC))
        query = prepared.query(company_id, name, name, at, incarnation)

        def unit(_: Ledger) -> Generator[Statement, list[Row], None]:
            yield from no_copy(company_id, self._statements)
            yield query

        await self._writer.submit(company_id, unit)
        return Company(company_id, incarnation)

    @override
    def forget(self, company_id: str) -> None:
        self._companies.pop(company_id, None)

    @override
    async def renew(self, company_id: str) -> int:
        incarnation = secrets.token_hex(4)
        query = self._statements.service.renew.query(company_id, incarnation)

        def unit(ledger: Ledger) -> Generator[Statement, list[Row], int]:
            ledger.renew(incarnation)
            yield query
            return ledger.number

        return await self._writer.submit(company_id, unit, alone=True)

    @override
    async def last_change(self, company: Company) -> Watermark | None:
        rows = await self._rows(self._statements.service.last_change, company.id)
        if not rows or rows[0][0] != company.incarnation:
            return None
        return Watermark(int(rows[0][1]), str(rows[0][2]))

    @override
    async def search_lag(self, company: Company, entity_set: EntitySet) -> int:
        index = self._statements.index
        indexed = index.sets[entity_set]
        rows = await self._rows(index.lag, company.id, indexed.name, indexed.layout)
        return int(rows[0][0])

    @override
    async def catch_up(self, company: Company, entity_set: EntitySet) -> None:
        await self._following.catch_up(company, entity_set)

    @override
    async def write(self, plan: WritePlan) -> Written:
        return await self._writer.submit(
            plan.company.id, partial(unit_of_work, plan, self._statements), plans=(plan,)
        )

    @override
    async def write_all(self, plans: Sequence[WritePlan]) -> list[Written]:
        return await self._writer.submit(
            plans[0].company.id,
            partial(group_of_work, plans, self._statements),
            alone=True,
            plans=plans,
        )

    @override
    async def load(self, plan: LoadPlan) -> Loaded:
        return await self._next(plan.company.id, partial(load_unit, plan, self._statements))

    @override
    async def load_mark(self, company: Company, entity_set: EntitySet, digest: str) -> int:
        mark = self._statements.service.load_mark
        rows = await self._rows(mark, company.id, entity_set.name, digest)
        return int(rows[0][0]) if rows else 0

    @override
    async def matching(
        self,
        company: Company,
        entity_set: EntitySet,
        names: tuple[str, ...],
        wanted: Sequence[Values],
    ) -> dict[Values, Row]:
        unit = matching(company.id, entity_set, names, list(wanted), self._statements)
        return await self._units.drive(unit)

    @override
    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        async with self._open_moment() as moment:
            yield Snapshot(moment, self._statements)

    @override
    async def copy(self, step: CopyStep) -> int:
        return await self._next(step.company_id, partial(copy_unit, step, self._statements))

    @override
    async def take_stock(self, tables: Sequence[str]) -> None:
        # SQLite plans by no statistics here
        return

    @override
    async def changes(self, company: Company, since: int, limit: int) -> list[Change]:
        rows = await self._rows(self._statements.service.changes, company.id, since, limit)
        return [Change(*row) for row in rows]  # type: ignore[arg-type]

    @override
    async def check(self) -> None:
        await self._rows(self._statements.service.company, "")

    async def _index_some(self, company: Company, entity_set: EntitySet) -> int:
        return await self._writer.submit(
            company.id, partial(index_unit, company.id, entity_set, self._statements), alone=True
        )

    async def _next(self, company_id: str, factory: UnitFactory[T]) -> T:
        """Run the next of the many units of long work.

        Before there is another one, others write, and whoever interrupts the work is heard: the
        unit is stored.
        """
        began = monotonic()
        result = await self._writer.submit(company_id, factory, alone=True)
        await self._writer.give_way(monotonic() - began)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        return result
