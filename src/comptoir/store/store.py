"""A store over whatever runs statements: what the databases have in common, which is most of it."""

import asyncio
import secrets
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import Protocol, TypeVar

from typing_extensions import override

from comptoir.edm.model import Company, EntitySet
from comptoir.edm.times import instant
from comptoir.errors import KEY_EXISTS, Refusal
from comptoir.plan.read import Row
from comptoir.plan.write import WritePlan
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.change import Steps, Written
from comptoir.store.condition import Condition
from comptoir.store.following import Following
from comptoir.store.ledger import Change, Ledger
from comptoir.store.protocol import KNOWN_SECONDS, Reads, Store
from comptoir.store.reads import Reading, StatementReads
from comptoir.store.snapshot import SnapshotConnection
from comptoir.store.submission import UnitFactory
from comptoir.store.text_index import index_unit
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


OpenSnapshot = Callable[[], AbstractAsyncContextManager[SnapshotConnection]]
"""Opens a snapshot connection for as long as the block is entered; raises `Refusal` as reads do."""


class StatementStore(StatementReads, Store):
    """Implements `Store` by statements, but for how it is opened and closed."""

    def __init__(
        self,
        statements: Statements,
        reader: UnitReading,
        writer: Writing,
        open_snapshot: OpenSnapshot,
        condition: Condition,
    ) -> None:
        documents = statements.tables.search_documents.name
        refresh = partial(self.refresh_statistics, (documents,))
        self._following = Following(self.search_lag, self._index_some, refresh)
        super().__init__(statements, reader, self._following.searched)
        self.statements = statements
        self._units = reader
        self._writer = writer
        self._open_snapshot = open_snapshot
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
            self.forget(company_id)
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
            yield from _check_not_copied(company_id, self._statements)
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

        return await self.submit(company_id, unit)

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
        return int(rows[0][0]) if rows else 0

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
    async def submit(self, company_id: str, unit: UnitFactory[T]) -> T:
        began = monotonic()
        result = await self._writer.submit(company_id, unit, alone=True)
        await self._writer.give_way(monotonic() - began)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        return result

    @override
    async def read(self, unit: Generator[Statement, list[Row], T]) -> T:
        return await self._units.drive(unit)

    @override
    def snapshot(self) -> AbstractAsyncContextManager[SnapshotConnection]:
        return self._open_snapshot()

    @override
    async def refresh_statistics(self, tables: Sequence[str]) -> None:
        # SQLite's planner does not use any here
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


def _check_not_copied(company_id: str, statements: Statements) -> Steps:
    """Raise `Refusal` (409) when an unfinished copy or deletion of a company has this id."""
    rows = yield statements.copying.hold_mark.query(company_id)
    if rows and not rows[0][0]:
        raise Refusal(
            KEY_EXISTS,
            f"The company {company_id} is being deleted, or its deletion was interrupted. Choose "
            f"another id, or finish with `comptoir company delete {company_id}`.",
            target="id",
        )
    if rows:
        raise Refusal(
            KEY_EXISTS,
            f"A copy of the company {company_id} is under way, or was interrupted. Choose another "
            "id, or finish the copy.",
            target="id",
        )
