"""The store: reads by statements and writes by units of work, on any database.

Each database implements `Reader` and `Writer`, which run statements of its dialect.
"""

import asyncio
import secrets
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import Protocol, TypeVar, cast

from sqlalchemy import insert, select, update

from comptoir.edm.model import Company, EntitySet
from comptoir.edm.record_json import record_encoder
from comptoir.edm.times import instant
from comptoir.edm.types import Stored
from comptoir.errors import operator_rows as problems
from comptoir.errors import refusal_rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.read import CountPlan, PagePlan, Pipeline, RecordPlan, RelatedPlan, Row, json_of
from comptoir.plan.write import WritePlan
from comptoir.sql.prepared import Prepared, Query, Statement, Steps
from comptoir.sql.statements import Statements
from comptoir.sql.tables import COMPANY_ID, VERSION
from comptoir.sql.text_index import logged_set
from comptoir.store.company_names import check_name, names_query, sorted_names
from comptoir.store.control import ControlStore
from comptoir.store.fair_queue import Load
from comptoir.store.jobs import is_cancelled
from comptoir.store.ledger import CREATE, DELETE, Change
from comptoir.store.refusals import of_write
from comptoir.store.schema import STATE
from comptoir.store.text_index import BUSY_PAUSE, TOLERATED_LAG, index_some, outdates_statistics
from comptoir.store.unit import UnitOfWork, Work, Written, drive
from comptoir.store.watermarks import Watermark
from comptoir.store.writer import Writer
from comptoir.store.writes import write, write_all

T = TypeVar("T")

MANY_ROWS = 2_000
"""Rows written to a table after which the planner's statistics of it are refreshed."""

COMPANY_CACHE_SECONDS = 1.0
"""Seconds for which a company is cached. Removing a company waits as long."""

SLICE_ROWS = 2_000
"""The most rows of a slice of a snapshot connection."""

SLICE_CHARACTERS = 4_000_000
"""Characters of text after which a slice of a snapshot connection ends."""

SLICE = 25
"""The most records of a slice, whose work runs without yielding to the event loop."""

JSON_SLICE = 256
"""The most records of a slice of JSON, which needs no encoding, or of `FEW_PROPERTIES`."""

FEW_PROPERTIES = 10
"""The most selected properties of records that need little encoding."""

SHARED_JSON_SLICE = 48
"""The most records of a slice of JSON while others read by key."""

SHARED_SECONDS = 0.02
"""Seconds for which a client's read by key makes slices shorter."""

Slices = AsyncGenerator[list[Row], None]
"""Rows in slices. The consumer closes the generator, so that its producer ends at once."""

NoteOutcome = Callable[[str], None]
"""Receives the outcome of a read that a replica may answer, each once for a request."""


async def always_connected(rows: Awaitable[list[Row]]) -> list[Row]:
    """Await a read to its end, whether or not a client is connected."""
    return await rows


WHILE_CONNECTED: ContextVar[Callable[[Awaitable[list[Row]]], Awaitable[list[Row]]]] = ContextVar(
    "WHILE_CONNECTED", default=always_connected
)
"""Awaits a long read of the current request, and cancels it when its client disconnects."""

SET_COUNTS = 10_000
"""The most sets of companies whose numbers of records are kept."""

FEW_SKIPPED = 100
"""The most rows that a page skips by reading them."""


def slice_size(pipeline: Pipeline) -> int:
    """The most records of a slice of a page."""
    names = pipeline.names
    is_small = pipeline.as_json or (names is not None and len(names) <= FEW_PROPERTIES)
    return JSON_SLICE if is_small else SLICE


class SliceScheduler:
    """Lets one slice run per iteration of the event loop, however many responses are long."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._shared_until = 0.0

    def note_read_by_key(self) -> None:
        """Make slices of JSON shorter for a moment, because a client reads by key."""
        self._shared_until = monotonic() + SHARED_SECONDS

    def records_of_slice(self, most: int) -> int:
        """The records of the next slice, of which there may be `most`."""
        if most > SHARED_JSON_SLICE and monotonic() < self._shared_until:
            return SHARED_JSON_SLICE
        return most

    async def yield_to_loop(self) -> None:
        """Wait until other tasks have run, and other responses a slice each."""
        async with self._lock:
            await asyncio.sleep(0)

    async def sliced(self, rows: list[Row], size: int = SLICE) -> Slices:
        """Split rows into slices, and yield to the event loop between them.

        Slices are removed from `rows`, so that rows already sent to a slow client are freed.
        """
        rows.reverse()
        while rows:
            some = rows[: -size - 1 : -1]
            del rows[-size:]
            yield some
            if rows:
                await self.yield_to_loop()


class Renewed(Refusal):
    """503: a company got another incarnation during the request, so the cached one is outdated."""

    def __init__(self, company_id: str) -> None:
        super().__init__(refusal_rows.RENEWED, {"company": company_id})


class Reader(Protocol):
    """Runs statements that read. All methods raise `Refusal` (503)."""

    scheduler: SliceScheduler

    def require(self, number: int) -> None:
        """Let later reads include the company's change with this number; most always do."""
        return

    async def lookup(self, query: Query) -> list[Row]:
        """All rows of a statement that finds them by a key."""

    async def rows(self, query: Query) -> list[Row]:
        """All rows of a statement that returns few."""

    async def long_rows(self, query: Query) -> list[Row]:
        """All rows of a statement that may run long."""

    def page(self, plan: PagePlan) -> Slices:
        """The rows of a page, in slices; yields to the event loop between them."""


class SnapshotConnection(Protocol):
    """A connection with a fixed view of its database; raises `Refusal` as other reads do."""

    async def fetch(self, query: Query) -> list[Row]:
        """All rows of a statement that returns few."""

    def stream(self, query: Query) -> AsyncGenerator[list[Row], None]:
        """The rows of a statement in slices, none of which is empty."""


class Reads:
    """Reads the records of a model.

    All methods raise `Refusal`: 503 if the database cannot serve or too many reads wait, and
    `Renewed` where a replica may answer.
    """

    def __init__(self, statements: Statements, reader: Reader) -> None:
        self.statements = statements
        self._reader = reader
        self._set_counts: dict[tuple[Company, str], tuple[int, int]] = {}
        """The change up to which sets were counted, and the number of their records."""

    async def record(self, plan: RecordPlan) -> Row | None:
        """One record, None if it does not exist."""
        self._reader.scheduler.note_read_by_key()
        rows = await self._reader.lookup(self.statements.reads.record(plan))
        return rows[0] if rows else None

    async def record_json(self, plan: RecordPlan) -> bytes | None:
        """The JSON of one record (see `RecordEncoder`), None if it does not exist."""
        self._reader.scheduler.note_read_by_key()
        rows = await self._reader.lookup(self.statements.reads.record(plan, json=True))
        if not rows:
            return None
        if encoded := cast("bytes | None", rows[0][0]):
            return encoded
        row = await self.record(plan)
        return None if row is None else record_encoder(plan.entity_set.type).encode(row)

    def page(self, plan: PagePlan) -> Slices:
        """The rows of a page, in slices small enough for the event loop."""
        if plan.pipeline.as_json:
            return self._json(plan)
        return self._page(plan)

    def _page(self, plan: PagePlan) -> Slices:
        if plan.pipeline.is_applied:
            return self._result(plan)
        if plan.skip > FEW_SKIPPED:
            return self._after_skipped(plan)
        return self._reader.page(plan)

    async def _json(self, plan: PagePlan) -> Slices:
        """The rows of a page of JSON. From the first record that lacks it, columns are encoded."""
        left, last = plan.limit, list[Row]()
        async with aclosing(self._page(plan)) as slices:
            async for rows in slices:
                if not all(json_of(rows)):
                    break
                yield rows
                left, last = left - len(rows), rows[-1:] or last
            else:
                return
        rest = plan.part(plan.keyset_after(*last), left, 0) if last else plan
        rest = rest.read_as()
        encode = record_encoder(plan.pipeline.entity_set.type).encode
        async with aclosing(self._page(rest)) as slices:
            async for rows in slices:
                yield cast("list[Row]", [(encode(row),) for row in rows])

    async def _after_skipped(self, plan: PagePlan) -> Slices:
        """The rows of a page, whose skipped rows are read by their keysets alone."""
        skipped = plan.part(plan.keyset, 1, plan.skip - 1).read_as(names=())
        query = self.statements.reads.page(skipped)
        last = await self._reader.rows(query)
        if last:
            rest = plan.part(skipped.keyset_after(last[0]), plan.limit, 0)
            async with aclosing(self._reader.page(rest)) as slices:
                async for rows in slices:
                    yield rows

    async def _result(self, plan: PagePlan) -> Slices:
        # all rows at once, because each slice would compute the whole result
        rows = await self._found(plan, self.statements.reads.page(plan))
        async with aclosing(self._reader.scheduler.sliced(rows)) as slices:
            async for some in slices:
                yield some

    async def count(self, plan: CountPlan) -> int:
        """The number of records that match, or of rows in a pipeline's result."""
        company = plan.company_of_set
        if company is not None:
            return await self._set_count(company, plan.pipeline.entity_set)
        rows = await self._found(plan, self.statements.reads.count(plan))
        return int(rows[0][0])

    async def _set_count(self, company: Company, entity_set: EntitySet) -> int:
        """The number of records of a set: counted once, then by the changes since."""
        key = company, entity_set.name
        since, known = self._set_counts.get(key, (None, 0))
        rows: list[Row] = []
        if since is not None:
            added = self.statements.service.added_since
            name = logged_set(entity_set)
            rows = await self._reader.rows(added.query(company.id, name, since, CREATE, DELETE))
        if not rows:
            # not counted yet, or the database was restored, or the change log was trimmed
            known = 0
            rows = await self._reader.rows(self.statements.reads.set_count(company, entity_set))
        if not rows:
            return 0
        number, more = map(int, rows[0])
        if len(self._set_counts) >= SET_COUNTS:
            self._set_counts.clear()
        self._set_counts[key] = number, known + more
        return known + more

    async def related(self, plan: RelatedPlan) -> list[Row]:
        """The related records of many records, ordered by the value that relates them."""
        return await self._found(plan.page, self.statements.reads.related(plan))

    async def related_counts(self, plan: RelatedPlan) -> dict[Stored, int]:
        """The number of related records by the value that relates them; zeros are left out."""
        rows = await self._found(plan.page, self.statements.reads.related_counts(plan))
        return {value: int(count) for value, count in rows}

    async def position(self, company: Company, at_least: int = 0) -> int:
        """The number of the company's last change, 0 without changes.

        Later reads return this state or a newer one. A replica answers only if it has the change
        with the number `at_least`.
        """
        self._reader.require(at_least)
        rows = await self._rows(self.statements.service.position, company.id)
        # a deleted company stays in the cache a little longer
        number = int(rows[0][0]) if rows else 0
        # the next statement may reach another replica
        self._reader.require(number)
        return number

    async def trimmed_after(self, company: Company, number: int) -> int | None:
        """The number of the oldest change if the change after `number` was trimmed, else None."""
        rows = await self._rows(self.statements.service.changes, company.id, number, 1)
        return int(rows[0][0]) if rows and int(rows[0][0]) > number + 1 else None

    async def changes_of(
        self, company: Company, entity_set: EntitySet, since: int, until: int, limit: int
    ) -> list[Change]:
        """The changes of one set after the number `since` and up to `until`, in order."""
        prepared = self.statements.service.changes_of
        query = prepared.query(company.id, entity_set.name, since, until, limit)
        rows = await self._reader.rows(query)
        return [Change(*row) for row in rows]  # type: ignore[arg-type]

    async def rows(self, query: Query) -> list[Row]:
        """All rows of a statement that returns few."""
        return await self._reader.rows(query)

    async def _found(self, plan: PagePlan | CountPlan, query: Query) -> list[Row]:
        if not plan.pipeline.searches:
            return await self._reader.rows(query)
        return await self._reader.long_rows(query)

    async def _rows(self, prepared: Prepared, *values: Stored) -> list[Row]:
        return await self._reader.lookup(prepared.query(*values))


@dataclass(frozen=True, slots=True)
class StoreLoad:
    """The writes that wait, the long reads, and the connections to a server by state."""

    waiting_writes: int
    reads: Load
    used_connections: int = 0
    idle_connections: int = 0


class Store(Reads, ABC):
    """Reads records, and writes them by units of work. Use it within one running event loop."""

    def __init__(
        self,
        statements: Statements,
        reader: Reader,
        writer: Writer,
        read_control: Callable[[Query], Awaitable[list[Row]]],
    ) -> None:
        """`read_control` runs statements over the control tables, which clients do not delay."""
        super().__init__(statements, reader)
        self._writer = writer
        self._companies: dict[str, tuple[Company, float]] = {}
        self._indexed: dict[str, int] = {}
        """The change up to which all sets of a company were found indexed."""
        self.condition = writer.condition
        self.watermarks = writer.watermarks
        """The last change of each company that this process has acknowledged."""
        self.control = ControlStore(statements, read_control, writer)

    @property
    @abstractmethod
    def load(self) -> StoreLoad:
        """The load: reads and writes that wait or run, and connections in use."""

    def replicated(self, company: Company, seen: int) -> Reads:
        """The reads of one company for one request, which a replica may answer.

        They show the company's state after its change with the number `seen`, or a later one; with
        0, the replica's state. Without a replica, the store itself.
        """
        return self

    async def company(self, company_id: str, *, may_lag: bool = False) -> Company | None:
        """The company with this id, None if it does not exist.

        The result may be `COMPANY_CACHE_SECONDS` old. With `may_lag` it may be older, because the
        replica checks the company again, and the primary may be unreachable.
        """
        cached = self.cached_company(company_id, may_lag=may_lag)
        if cached is not None:
            return cached
        until = monotonic() + COMPANY_CACHE_SECONDS
        rows = await self._rows(self.statements.service.company, company_id)
        if not rows:
            self.forget(company_id)
            return None
        company = Company(company_id, str(rows[0][0]))
        self._companies[company_id] = (company, until)
        return company

    def cached_company(self, company_id: str, *, may_lag: bool = False) -> Company | None:
        """The company with this id, None if it must be looked up by `company`."""
        cached = self._companies.get(company_id)
        if cached is not None and (may_lag or monotonic() < cached[1]):
            return cached[0]
        return None

    async def company_names(self) -> dict[str, str]:
        """The names of all companies by id, in the order of the names and ids."""
        query = names_query(self.statements)
        return sorted_names(await self._reader.long_rows(query))

    def forget(self, company_id: str) -> None:
        """Look the company up again at its next use."""
        self._companies.pop(company_id, None)

    async def create_company(self, company_id: str, name: str) -> Company:
        """Add a company.

        Raises `Refusal` (409) if the id is taken, and `OperatorError` if the name is.
        """
        incarnation = secrets.token_hex(4)
        at = instant(datetime.now(UTC))
        row: dict[str, Stored] = {
            COMPANY_ID: company_id,
            "name": name,
            "displayName": name,
            "lastModifiedDateTime": at,
            "incarnation": incarnation,
            VERSION: 0,
            "change_number": 0,
            "changed_at": at,
        }
        query = self.statements.query(insert(self.statements.tables.companies).values(row))

        def work(unit: UnitOfWork) -> Steps[None]:
            yield from _check_free(unit)
            yield query
            yield from check_name(unit, problems.COMPANY_NAME_TAKEN)

        await self._writer.submit(company_id, work, alone=True)
        return Company(company_id, incarnation)

    async def renew(self, company_id: str) -> int:
        """Give a company another incarnation; returns the number of its last change.

        Other processes may read the previous incarnation for `COMPANY_CACHE_SECONDS`, but their
        writes use the current one. Raises `Refusal` (404) if the company does not exist.
        """
        incarnation, companies = secrets.token_hex(4), self.statements.tables.companies
        renewal = update(companies).where(companies.c[COMPANY_ID] == company_id)

        def work(unit: UnitOfWork) -> Steps[int]:
            unit.ledger.renew(incarnation)
            yield self.statements.query(renewal.values(incarnation=incarnation))
            return unit.ledger.number

        return await self.transact(company_id, work)

    async def last_change(self, company: Company) -> Watermark | None:
        """The last change of a company, with number 0 if it has none.

        None if the company does not exist, or has another incarnation.
        """
        row = self.statements.tables.companies.c
        found = select(row.change_number, row.changed_at).where(
            row[COMPANY_ID] == company.id, row.incarnation == company.incarnation
        )
        rows = await self._reader.lookup(self.statements.query(found))
        return Watermark(int(rows[0][0]), str(rows[0][1])) if rows else None

    async def changes(self, company: Company, since: int, limit: int) -> list[Change]:
        """The changes after the number `since` that are kept, in order, without gaps."""
        rows = await self._rows(self.statements.service.changes, company.id, since, limit)
        return [Change(*row) for row in rows]  # type: ignore[arg-type]

    async def search_lags(self, company_id: str) -> Mapping[str, int]:
        """The number of changes that the text index of each set with records lacks."""
        rows = await self._rows(self.statements.index.lags, company_id)
        return {str(name): int(lag) for name, lag in rows}

    async def index_lagging(self, tolerated: int = TOLERATED_LAG) -> None:
        """Index the sets whose index lacks more changes than are tolerated, one after another.

        Notes the catalog too, as `check` does.
        """
        await self.check()
        companies = self.statements.tables.companies.c
        changed = select(companies[COMPANY_ID], companies.change_number)
        query = self.statements.query(changed.where(companies.change_number > tolerated))
        for row in await self._reader.long_rows(query):
            company_id, number = str(row[0]), int(row[1])
            if 0 <= number - self._indexed.get(company_id, 0) <= tolerated:
                continue
            lags = await self.search_lags(company_id)
            lagging = [name for name, lag in lags.items() if lag > tolerated]
            if not lagging:
                self._indexed[company_id] = number
            for entity_set in self.statements.index.sets:
                if entity_set.name in lagging:
                    await self.index(company_id, entity_set, number)

    async def index(self, company_id: str, entity_set: EntitySet, until: int) -> None:
        """Index a set up to the change with a number, in units between which others write.

        Ends early if another process indexes the set, and after a refusal: a later look goes on.
        """
        progress: int | None = None
        lag, done = 1, 0
        while lag > 0:
            began = monotonic()
            work = partial(index_some, entity_set, progress)
            # a stop waits for the writer, which ends the unit even if the database hangs
            ended = asyncio.ensure_future(self._writer.submit(company_id, work, alone=True))
            # then nobody else retrieves a refusal, which asyncio would log
            ended.add_done_callback(lambda each: each.cancelled() or each.exception())
            try:
                through, left = await asyncio.shield(ended)
            except Refusal:
                return
            # writers beside it must not keep it from other sets
            progress, lag, done = through, min(left, until - through), done + 1
            if outdates_statistics(done, is_last=lag <= 0):
                documents = self.statements.tables.search_documents.name
                await self.refresh_statistics((documents, logged_set(entity_set)))
            seconds = monotonic() - began
            await asyncio.sleep(seconds * (BUSY_PAUSE if self._writer.waiting else 1))

    async def write(self, plan: WritePlan) -> Written:
        """Do a write; returns after the commit, raises `Refusal` if it is not done."""
        try:
            return await self._writer.submit(
                plan.company.id, partial(write, plan), alone=bool(plan.related), plans=(plan,)
            )
        except Refusal as refusal:
            raise of_write(refusal, plan.entity_set) from None

    async def write_all(
        self, plans: Sequence[WritePlan], refused: Refusal | None = None
    ) -> list[Written]:
        """Do several writes of one company in order, all or none.

        Raises `GroupRefusal` for the first that is refused.
        """
        work = partial(write_all, plans, refused)
        try:
            return await self._writer.submit(plans[0].company.id, work, alone=True, plans=plans)
        except Refusal as refusal:
            raise of_write(refusal, plans[0].entity_set) from None

    async def transact(self, company_id: str, work: Work[T]) -> T:
        """Run one unit of work of a long operation, in a transaction of its own.

        Returns after the commit and a pause in which other processes can write. Raises what the
        unit raises, and `Refusal` as `Writer.submit` does. If the task was cancelled meanwhile, the
        unit is stored and `CancelledError` raised.
        """
        began = monotonic()
        result = await self._writer.submit(company_id, work, alone=True)
        await self._writer.give_way(monotonic() - began)
        if is_cancelled():
            raise asyncio.CancelledError
        return result

    async def read(self, unit: Steps[T]) -> T:
        """Run a unit that only reads, by statements that find rows by keys."""

        async def run(statement: Statement) -> list[Row]:
            if not isinstance(statement, Query):
                raise TypeError("the unit writes")
            return await self._reader.lookup(statement)

        return await drive(unit, run)

    @abstractmethod
    def snapshot(self) -> AbstractAsyncContextManager[SnapshotConnection]:
        """A connection with a fixed view: what is committed when the block begins."""

    async def refresh_statistics(self, tables: Sequence[str]) -> None:
        """Refresh the planner's statistics of tables after many rows were written to them.

        It changes no result and never raises. The statistics of SQLite do not depend on rows.
        """

    async def check(self) -> None:
        """Raise `Refusal` (503) unless the database answers; note whether its catalog has grown."""
        query = select(STATE.c.value).where(STATE.c.name == "catalog")
        rows = await self._reader.lookup(self.statements.query(query))
        self.condition.note_catalog([str(value) for (value,) in rows], self.statements.model.source)

    @abstractmethod
    async def close(self) -> None:
        """Finish the accepted writes, then close all connections."""


def characters(rows: Iterable[Row]) -> int:
    """The number of characters of text in rows, and of bytes of JSON."""
    return sum([len(value) for row in rows for value in row if isinstance(value, str | bytes)])


def _check_free(unit: UnitOfWork) -> Steps[None]:
    """Raise `Refusal` (409) if a company with this id is being copied or deleted."""
    copies = unit.statements.tables.copies.c
    progress = select(copies.incarnation).where(copies[COMPANY_ID] == unit.company_id)
    rows = yield unit.statements.query(progress.with_for_update())
    if rows:
        is_copied = bool(rows[0][0])
        row = refusal_rows.COMPANY_COPIED if is_copied else refusal_rows.COMPANY_LEAVING
        raise row("id", company=unit.company_id)
