"""Updates the text index of a set, in the background after a search.

A search is exact whatever the index contains, because the database compares records that changed
since they were indexed one by one. Writes do nothing for the index.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from time import monotonic

from comptoir.edm.model import Company, EntitySet
from comptoir.errors.refusal import Refusal
from comptoir.sql.prepared import Steps
from comptoir.store.unit import UnitOfWork

RECORDS = 100
"""The most records that a unit indexes; other writes wait for some milliseconds."""

CHANGES = 20_000
"""The most changes that a unit reads, of this set and of others."""

TOLERATED_LAG = 500
"""Changes since the index was up to date, after which a search starts to index them."""

MANY_UNITS = 16
"""Units of indexing after which the statistics of the index are refreshed the first time."""

Window = tuple[str, str, int, int]
"""The changes that a unit reads: company, set, number before the first, number of the last."""

Lag = Callable[[Company, EntitySet], Awaitable[int]]
"""Returns how many changes the index of a set lacks."""


def index_some(entity_set: EntitySet, unit: UnitOfWork) -> Steps[int]:
    """Index the next changed records of a set; returns how many changes are left.

    Stores the index's progress in the same transaction, so that several processes index different
    records.
    """
    statements, company_id = unit.statements, unit.company_id
    index, indexed = statements.index, statements.index.sets[entity_set]
    rows = yield statements.service.ledger.query(company_id)
    if not rows:
        # the company is being copied again
        return 0
    last = int(rows[0][0])
    rows = yield index.progress.query(company_id, indexed.name)
    if not rows:
        (free,) = yield index.free_scope.query(company_id)
        yield index.add_progress.query(company_id, indexed.name, indexed.layout, 0, *free)
        rows = [(indexed.layout, 0, *free)]
    layout, number, scope = rows[0]
    since = int(number) if layout == indexed.layout else 0
    through = min(since + CHANGES, last)
    rows = yield index.window.query(company_id, indexed.logged, since, through, RECORDS)
    if len(rows) == RECORDS:
        through = int(rows[-1][0])
    if rows:
        window = (company_id, indexed.logged, since, through)
        # the text index is fastest with rising numbers
        highest = yield index.last_document.query(company_id, scope)
        yield from _drop(indexed.name, window, unit)
        texts = yield indexed.texts.query(*window)
        documents = [
            (company_id, number, indexed.name, str(key), text)
            for number, (key, text) in enumerate(texts, int(highest[0][0]) + 1)
        ]
        yield index.add_document.many(documents)
        yield from index.documents.add((number, text) for _, number, _, _, text in documents)
    if through > since or layout != indexed.layout:
        yield index.move_progress.query(company_id, indexed.name, indexed.layout, through)
    return last - through


def _drop(name: str, window: Window, unit: UnitOfWork) -> Steps[None]:
    """Drop the documents of the records that changed."""
    index, company_id = unit.statements.index, window[0]
    stale = yield index.stale.query(company_id, name, *window[1:])
    if stale:
        documents = sorted((int(number), str(text)) for number, text in stale)
        yield from index.documents.drop(documents)
        yield index.drop_document.many((company_id, number) for number, _ in documents)


class BackgroundIndexing:
    """Indexes the sets that are searched, one unit of work after another.

    `lag` reads how many changes an index lacks, and `unit` indexes some of them before it returns
    the rest.
    """

    def __init__(
        self, lag: Lag, unit: Lag, refresh_statistics: Callable[[], Awaitable[None]]
    ) -> None:
        self._lag = lag
        self._unit = unit
        self._refresh_statistics = refresh_statistics
        self._tasks: dict[tuple[str, EntitySet], asyncio.Task[None]] = {}
        self._stopping = False

    async def note_search(self, company: Company, entity_set: EntitySet) -> None:
        """Start to index a set if its index lacks many changes; do not wait for the end."""
        key = (company.id, entity_set)
        if key in self._tasks or await self._lag(company, entity_set) <= TOLERATED_LAG:
            return
        # another search may have started it meanwhile
        if key not in self._tasks and not self._stopping:
            task = asyncio.create_task(self._index(company, entity_set))
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._tasks.pop(key))

    async def _index(self, company: Company, entity_set: EntitySet) -> None:
        # nobody waits for the index, and a later search tries again after a refusal
        with suppress(Refusal):
            async with aclosing(self._units(company, entity_set)) as units:
                async for seconds in units:
                    if self._stopping:
                        break
                    # the index gets at most half of the writer's time
                    await asyncio.sleep(seconds)

    async def catch_up(self, company: Company, entity_set: EntitySet) -> None:
        """Index a set until no change is left; raises `Refusal` as a write does."""
        async for _ in self._units(company, entity_set):
            pass

    async def _units(self, company: Company, entity_set: EntitySet) -> AsyncGenerator[float, None]:
        """Index a set unit by unit; yields the seconds that each unit took."""
        lag, done = 1, 0
        while lag > 0:
            began = monotonic()
            lag = await self._unit(company, entity_set)
            done += 1
            # a unit looks up the documents that it replaces, slowly by a plan for a small index
            if done >= MANY_UNITS and (lag == 0 or done.bit_count() == 1):
                await self._refresh_statistics()
            yield monotonic() - began

    async def stop(self) -> None:
        """Return when the units under way have ended."""
        self._stopping = True
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
