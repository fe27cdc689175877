"""A store over whatever runs statements: what the databases have in common, which is most of it."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Protocol, TypeVar

from typing_extensions import override

from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored
from comptoir.edm.temporal import instant
from comptoir.plan.apply.stages import PipelineCount, PipelinePlan
from comptoir.plan.load import LoadPlan, Values
from comptoir.plan.read import CountPlan, PagePlan, RecordPlan, Row
from comptoir.plan.related import RelatedPlan
from comptoir.plan.target import Company
from comptoir.plan.write import WritePlan
from comptoir.sql.prepared import Prepared, Query, Statement
from comptoir.sql.statements import Statements
from comptoir.store.ahead import matching
from comptoir.store.bulk import Loaded, load_unit
from comptoir.store.copying import CopyStep, copy_unit, no_copy
from comptoir.store.following import Following
from comptoir.store.indexing import index_unit
from comptoir.store.ledger import Change, Ledger
from comptoir.store.protocol import Patience, Store, unlimited
from comptoir.store.snapshot import Moment, Snapshot
from comptoir.store.submission import UnitFactory
from comptoir.store.turns import Turns
from comptoir.store.unit import Written, group_of_work, unit_of_work

T = TypeVar("T")


class Reading(Protocol):
    """Runs statements that read. All methods raise `Refusal`: 503, and 429 when too much waits."""

    turns: Turns

    async def lookup(self, query: Query) -> list[Row]:
        """All rows of a statement that a key serves."""

    async def rows(self, query: Query, patience: Patience) -> list[Row]:
        """All rows of a statement that gives few."""

    async def long_rows(self, query: Query, patience: Patience) -> list[Row]:
        """All rows of a statement that may take long, however few they are."""

    def page(self, plan: PagePlan, patience: Patience) -> AsyncIterator[list[Row]]:
        """The rows of a page, in slices; between two slices others have their turn."""

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


OpenMoment = Callable[[], AbstractAsyncContextManager[Moment]]
"""Fixes a moment for as long as the block is entered; raises `Refusal` as reads do."""


class StatementStore(Store):
    """Implements `Store` by statements, but for how it is opened and closed."""

    def __init__(
        self, statements: Statements, reader: Reading, writer: Writing, open_moment: OpenMoment
    ) -> None:
        self._statements = statements
        self._reader = reader
        self._writer = writer
        self._open_moment = open_moment
        self._following = Following(self.search_lag, self._index_some)
        self._companies: dict[str, Company] = {}

    @override
    async def company(self, company_id: str) -> Company | None:
        # a company, once there, stays; one that is not there may come at any time
        known = self._companies.get(company_id)
        if known is None:
            rows = await self._rows(self._statements.service.company, company_id)
            if rows:
                known = self._companies[company_id] = Company(company_id, str(rows[0][0]))
        return known

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
    async def record(self, plan: RecordPlan, patience: Patience = unlimited) -> Row | None:
        query = self._statements.reads.record(plan)
        rows = await (
            self._reader.rows(query, patience) if query.costly else self._reader.lookup(query)
        )
        return rows[0] if rows else None

    @override
    def page(self, plan: PagePlan, patience: Patience = unlimited) -> AsyncIterator[list[Row]]:
        if plan.where.searches:
            return self._search(plan, patience)
        return self._reader.page(plan, patience)

    async def _search(self, plan: PagePlan, patience: Patience) -> AsyncIterator[list[Row]]:
        await self._note_search(plan)
        async for rows in self._reader.page(plan, patience):
            yield rows

    @override
    async def count(self, plan: CountPlan, patience: Patience = unlimited) -> int:
        rows = await self._found(plan, self._statements.reads.count(plan), patience)
        return int(rows[0][0])

    @override
    async def results(
        self, plan: PipelinePlan, patience: Patience = unlimited
    ) -> AsyncIterator[list[Row]]:
        rows = await self._made(plan, self._statements.pipelines.page(plan), patience)
        async for some in self._reader.turns.sliced(rows):
            yield some

    @override
    async def result_count(self, plan: PipelineCount, patience: Patience = unlimited) -> int:
        rows = await self._made(plan, self._statements.pipelines.count(plan), patience)
        return int(rows[0][0])

    async def _made(
        self, plan: PipelinePlan | PipelineCount, query: Query, patience: Patience
    ) -> list[Row]:
        """The rows that a pipeline makes, which are made once: no slice would be cheaper."""
        if not plan.pipeline.searches:
            return await self._reader.rows(query, patience)
        if plan.company is not None:
            await self._following.searched(plan.company, plan.pipeline.entity_set)
        return await self._reader.long_rows(query, patience)

    @override
    async def related(self, plan: RelatedPlan, patience: Patience = unlimited) -> list[Row]:
        return await self._found(plan.page, self._statements.related.rows(plan), patience)

    @override
    async def related_counts(
        self, plan: RelatedPlan, patience: Patience = unlimited
    ) -> dict[Stored, int]:
        rows = await self._found(plan.page, self._statements.related.counts(plan), patience)
        return {value: int(count) for value, count in rows}

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
        loaded = await self._writer.submit(
            plan.company.id, partial(load_unit, plan, self._statements), alone=True
        )
        await _hear()
        return loaded

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
        return await self._reader.drive(unit)

    @override
    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        async with self._open_moment() as moment:
            yield Snapshot(moment, self._statements)

    @override
    async def copy(self, step: CopyStep) -> None:
        await self._writer.submit(
            step.company_id, partial(copy_unit, step, self._statements), alone=True
        )
        await _hear()

    @override
    async def changes(self, company: Company, since: int, limit: int) -> list[Change]:
        rows = await self._rows(self._statements.service.changes, company.id, since, limit)
        return [Change(*row) for row in rows]  # type: ignore[arg-type]

    @override
    async def position(self, company: Company) -> int:
        rows = await self._rows(self._statements.service.position, company.id)
        return int(rows[0][0])

    @override
    async def changes_of(
        self,
        company: Company,
        entity_set: EntitySet,
        since: int,
        until: int,
        limit: int,
        patience: Patience = unlimited,
    ) -> list[Change]:
        prepared = self._statements.service.changes_of
        query = prepared.query(company.id, entity_set.name, since, until, limit)
        rows = await self._reader.rows(query, patience)
        return [Change(*row) for row in rows]  # type: ignore[arg-type]

    @override
    async def check(self) -> None:
        await self._rows(self._statements.service.company, "")

    async def _found(
        self, plan: PagePlan | CountPlan, query: Query, patience: Patience
    ) -> list[Row]:
        if not plan.where.searches:
            return await self._reader.rows(query, patience)
        await self._note_search(plan)
        return await self._reader.long_rows(query, patience)

    async def _note_search(self, plan: PagePlan | CountPlan) -> None:
        if plan.company is not None:
            await self._following.searched(plan.company, plan.entity_set)

    async def _index_some(self, company: Company, entity_set: EntitySet) -> int:
        return await self._writer.submit(
            company.id, partial(index_unit, company.id, entity_set, self._statements), alone=True
        )

    async def _rows(self, prepared: Prepared, *values: Stored) -> list[Row]:
        return await self._reader.lookup(prepared.query(*values))


async def _hear() -> None:
    """Between two units of long work, hear whoever interrupts it; the first one is stored."""
    await asyncio.sleep(0)
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
