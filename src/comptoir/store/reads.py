"""Reads by statements, whoever runs them."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Protocol

from typing_extensions import override

from comptoir.edm.model import Company, EntitySet
from comptoir.edm.types import Stored
from comptoir.plan.read import CountPlan, PagePlan, RecordPlan, RelatedPlan, Row
from comptoir.sql.prepared import Prepared, Query
from comptoir.sql.statements import Statements
from comptoir.store.ledger import Change
from comptoir.store.protocol import Patience, Reads, unlimited
from comptoir.store.turns import Slices, Turns

Searched = Callable[[Company, EntitySet], Awaitable[None]]
"""Takes note of a search, before it is run."""


class Reading(Protocol):
    """Runs statements that read. All methods raise `Refusal`: 503, and 429 when too much waits."""

    turns: Turns

    async def lookup(self, query: Query) -> list[Row]:
        """All rows of a statement that a key serves."""

    async def rows(self, query: Query, patience: Patience) -> list[Row]:
        """All rows of a statement that gives few."""

    async def long_rows(self, query: Query, patience: Patience) -> list[Row]:
        """All rows of a statement that may take long, however few they are."""

    def page(self, plan: PagePlan, patience: Patience) -> Slices:
        """The rows of a page, in slices; between two slices others have their turn."""


class StatementReads(Reads):
    """Implements `Reads` by statements; `searched` hears of the searches of a company's sets."""

    def __init__(self, statements: Statements, reader: Reading, searched: Searched) -> None:
        self._statements = statements
        self._reader = reader
        self._searched = searched

    @override
    async def record(self, plan: RecordPlan, patience: Patience = unlimited) -> Row | None:
        rows = await self._reader.lookup(self._statements.reads.record(plan))
        return rows[0] if rows else None

    @override
    def page(self, plan: PagePlan, patience: Patience = unlimited) -> Slices:
        if plan.pipeline.is_applied:
            return self._result(plan, patience)
        if plan.pipeline.searches:
            return self._search(plan, patience)
        return self._reader.page(plan, patience)

    async def _search(self, plan: PagePlan, patience: Patience) -> Slices:
        await self._note_search(plan)
        async with aclosing(self._reader.page(plan, patience)) as slices:
            async for rows in slices:
                yield rows

    @override
    async def count(self, plan: CountPlan, patience: Patience = unlimited) -> int:
        rows = await self._found(plan, self._statements.reads.count(plan), patience)
        return int(rows[0][0])

    async def _result(self, plan: PagePlan, patience: Patience) -> Slices:
        # each slice would compute the whole result of `$apply`
        rows = await self._found(plan, self._statements.reads.page(plan), patience)
        async with aclosing(self._reader.turns.sliced(rows)) as slices:
            async for some in slices:
                yield some

    @override
    async def related(self, plan: RelatedPlan, patience: Patience = unlimited) -> list[Row]:
        return await self._found(plan.page, self._statements.reads.related(plan), patience)

    @override
    async def related_counts(
        self, plan: RelatedPlan, patience: Patience = unlimited
    ) -> dict[Stored, int]:
        rows = await self._found(plan.page, self._statements.reads.related_counts(plan), patience)
        return {value: int(count) for value, count in rows}

    @override
    async def position(self, company: Company, at_least: int = 0) -> int:
        rows = await self._rows(self._statements.service.position, company.id)
        # a company that is being deleted is known for a moment longer
        return int(rows[0][0]) if rows else 0

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

    async def _found(
        self, plan: PagePlan | CountPlan, query: Query, patience: Patience
    ) -> list[Row]:
        if not plan.pipeline.searches:
            return await self._reader.rows(query, patience)
        await self._note_search(plan)
        return await self._reader.long_rows(query, patience)

    async def _note_search(self, plan: PagePlan | CountPlan) -> None:
        if plan.bounds.company is not None:
            await self._searched(plan.bounds.company, plan.pipeline.entity_set)

    async def _rows(self, prepared: Prepared, *values: Stored) -> list[Row]:
        return await self._reader.lookup(prepared.query(*values))
