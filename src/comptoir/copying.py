"""Copying: a company's move from one database to another, with its versions and its change log.

The source may be in use. What it holds at one moment is copied first, then what has changed since,
until nothing is left; then both sides are compared, and only then is the company seen.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from functools import partial

import msgspec

from comptoir.dropping import drop_rows, dropping
from comptoir.edm.model import Model
from comptoir.edm.primitive import Stored
from comptoir.errors import OperatorError
from comptoir.plan.read import Row
from comptoir.plan.target import Company
from comptoir.store.copying import CopyStep, TablePart
from comptoir.store.protocol import KNOWN_SECONDS, MANY_ROWS, Store
from comptoir.store.snapshot import (
    CHANGES,
    LOOKUP,
    SLICE_CHARACTERS,
    SLICE_ROWS,
    CopyMark,
    Origin,
    Snapshot,
    characters,
)

ROUNDS = 10
"""How often a source is followed that changes meanwhile."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, to how many rows it was done, and to how many it is to be done."""


class CopyReport(msgspec.Struct):
    """What became of a company: its records, all of them compared, and its last change's number.

    `resumed_at` is how many records were there already, `followed` how many changes came while
    the company was copied; `was_complete`: it had been copied whole before.
    """

    records: int = 0
    number: int = 0
    resumed_at: int = 0
    followed: int = 0
    was_complete: bool = False


class Copier:
    """Copies companies from one store to another."""

    def __init__(self, model: Model, source: Store, target: Store, progress: Progress) -> None:
        self._model = model
        self._source = source
        self._target = target
        self._progress = progress

    async def check(self, company: Company, *, anew: bool) -> None:
        """Raise `OperatorError` when the target does not take a company of the source."""
        async with self._source.snapshot() as ours, self._target.snapshot() as theirs:
            await _standing(company.id, ours, theirs, anew=anew)

    async def copy(self, company: Company, *, anew: bool) -> CopyReport:
        """Copy a company of the source, or go on with what was interrupted.

        With `anew`, what an unfinished copy has left is dropped before. Raises `OperatorError`
        when the target does not take the company, when both sides differ in the end, or when the
        source changes without end; the same call goes on from there.
        """
        run = _Run(self._model, self._source, self._target, self._progress, company)
        return await run.copy(anew=anew)


class _Standing(msgspec.Struct, frozen=True):
    """How a company stands: in the source, and in the target.

    There it may be complete, up to the change `complete`, or be marked as unfinished.
    """

    origin: Origin
    complete: int | None
    mark: CopyMark | None


async def _standing(company_id: str, ours: Snapshot, theirs: Snapshot, *, anew: bool) -> _Standing:
    """How a company stands; raises `OperatorError` when it must not be copied."""
    origin = await ours.origin(company_id)
    if origin is None:
        raise OperatorError(f"there is no company {company_id} in the source any more.")
    held, mark = await theirs.origin(company_id), await theirs.mark(company_id)
    if mark is not None and mark.incarnation != origin.incarnation and not anew:
        raise OperatorError(
            f"the target has an unfinished copy of a company {company_id} from another source, or "
            "one that was being dropped. Drop it with --anew, or name another target."
        )
    if held is not None:
        goes_on = held.incarnation == origin.incarnation and held.number <= origin.number
        if not goes_on or await _differs(company_id, held.number, ours, theirs):
            raise OperatorError(
                f"the target has a company {company_id} already, which is not as it was in the "
                "source. Name another target."
            )
    return _Standing(origin, held.number if held else None, mark)


async def _differs(company_id: str, number: int, ours: Snapshot, theirs: Snapshot) -> bool:
    """Whether the change with a number is not the same on both sides."""
    return await ours.change(company_id, number) != await theirs.change(company_id, number)


class _Run:
    """One company on its way."""

    def __init__(
        self, model: Model, source: Store, target: Store, progress: Progress, company: Company
    ) -> None:
        self._stored = {each.name: each for each in model.stored}
        self._source = source
        self._target = target
        self._progress = progress
        self._company = company
        self._id = company.id
        self._held: CopyMark | None = None
        self._mark = CopyMark(company.incarnation, 0, secrets.token_hex(8))
        self._report = CopyReport()

    async def copy(self, *, anew: bool) -> CopyReport:
        async with self._source.snapshot() as ours:
            if not await self._begin(ours, anew=anew):
                await self._compare(ours)
                return self._report
            await self._copy_all(ours)
        for _ in range(ROUNDS):
            if await self._round():
                break
        else:
            raise OperatorError(
                f"the company {self._id} is still being written to in the source; its copy has "
                f"come to change {self._mark.number}. Stop what writes there, then give the same "
                "command again."
            )
        if await self._has_moved_on():
            raise OperatorError(
                f"the company {self._id} was written to in the source when its copy, up to change "
                f"{self._mark.number}, had been compared. Stop what writes there, then give the "
                "same command again."
            )
        return self._report

    async def _begin(self, ours: Snapshot, *, anew: bool) -> bool:
        """Mark that the copy is under way, unless the company is complete in the target."""
        async with self._target.snapshot() as theirs:
            found = await _standing(self._id, ours, theirs, anew=anew)
        self._held = found.mark
        self._report.number = found.origin.number
        if found.complete is not None:
            self._report.was_complete = found.complete == found.origin.number
            self._move(found.complete)
            if not self._report.was_complete:
                await self._step(self._mark, reopens=True)
                # nobody reads what is neither as it was nor as it will be
                await asyncio.sleep(KNOWN_SECONDS)
            return not self._report.was_complete
        if found.mark is not None and not anew:
            self._move(found.mark.number)
        else:
            await self._drop()
            self._move(found.origin.number)
        await self._step(self._mark)
        return True

    async def _drop(self) -> None:
        """Drop what an unfinished copy has left, if there is one."""
        if self._held is not None:
            mark = dropping(self._mark.holder)
            await self._step(mark)
            await drop_rows(self._target, self._id, mark, self._progress)

    async def _copy_all(self, ours: Snapshot) -> None:
        """Copy what is not there: of each table, the rows behind the last one."""
        # what has changed since the copy began may have what is unique of a row that is there
        clears = self._report.number != self._mark.number
        for table in (CHANGES, *self._stored):
            total = await ours.count(table, self._id)
            async with self._target.snapshot() as theirs:
                last = await theirs.last(table, self._id)
                done = 0 if last is None else await theirs.count(table, self._id)
            before = done
            self._report.resumed_at += done if table in self._stored else 0
            async with aclosing(ours.rows(table, self._id, last)) as slices:
                async for rows in slices:
                    added = self._of_beginning(rows) if table == CHANGES else rows
                    if not added:
                        break
                    await self._step(self._mark, TablePart(table, rows=added, clears=clears))
                    done += len(added)
                    self._progress(f"copying {table}", done, total)
            if done > before and done >= MANY_ROWS:
                await self._target.take_stock((table,))

    def _of_beginning(self, changes: Sequence[Row]) -> Sequence[Row]:
        """The changes that are not to be followed, since they came before the copy began."""
        return [change for change in changes if int(change[0]) <= self._mark.number]

    async def _round(self) -> bool:
        """Catch up with the source, compare, and have the company seen if nothing is left."""
        async with self._source.snapshot() as ours:
            await self._follow(ours)
            if await self._has_moved_on():
                return False
            await self._settle(ours)
            await self._compare(ours)
            if await self._has_moved_on():
                return False
            opens = await ours.company(self._id)
            self._progress("finishing", self._report.records, self._report.records)
            await self._step(None, opens=opens)
        return True

    async def _has_moved_on(self) -> bool:
        """Whether the source has changed since what was copied last."""
        return await self._source.position(self._company) != self._mark.number

    async def _follow(self, ours: Snapshot) -> None:
        """Copy what has changed since, up to the moment of a snapshot."""
        origin = await ours.origin(self._id)
        last = self._mark.number if origin is None else origin.number
        self._report.number = last
        total, done = last - self._mark.number, 0
        async with aclosing(ours.rows(CHANGES, self._id, (self._mark.number,))) as slices:
            async for changes in slices:
                await self._follow_some(ours, changes)
                done += len(changes)
                self._report.followed += len(changes)
                self._progress("following changes", done, total)

    async def _follow_some(self, ours: Snapshot, changes: Sequence[Row]) -> None:
        """Bring the records that changes name to where they are, then move the mark."""
        parts: list[TablePart] = []
        size = volume = 0
        for name, keys in self._changed(changes):
            rows = await ours.records(self._id, self._stored[name], keys)
            parts.append(TablePart(name, [(key,) for key in keys], rows, clears=True))
            size += len(keys)
            volume += characters(rows)
            if size >= SLICE_ROWS or volume >= SLICE_CHARACTERS:
                await self._step(self._mark, *parts)
                parts, size, volume = [], 0, 0
        self._move(int(changes[-1][0]))
        await self._step(self._mark, *parts, TablePart(CHANGES, rows=changes))

    def _changed(self, changes: Sequence[Row]) -> Iterator[tuple[str, list[Stored]]]:
        """The keys of the records that changes name, once each, some of one set at a time."""
        keys: dict[str, dict[Stored, None]] = {}
        for _, name, record, *_ in changes:
            # what another release has logged of a kind of its own is logged, and nothing more
            if (entity_set := self._stored.get(str(name))) is not None:
                key = entity_set.type.key_property.type.from_text(str(record))
                keys.setdefault(entity_set.name, {})[key] = None
        for name, found in keys.items():
            listed = list(found)
            for start in range(0, len(listed), LOOKUP):
                yield name, listed[start : start + LOOKUP]

    async def _settle(self, ours: Snapshot) -> None:
        """Make equal what the change log tells nothing of."""
        for table in ours.tables:
            if table in self._stored or table == CHANGES:
                continue
            async with self._target.snapshot() as theirs:
                rows, others = ours.rows(table, self._id), theirs.rows(table, self._id)
                async for more, less in _differences(rows, others, partial(ours.key, table)):
                    await self._step(self._mark, TablePart(table, less, more))

    async def _compare(self, ours: Snapshot) -> None:
        """Raise `OperatorError` unless both sides are equal in every row."""
        self._report.records = 0
        async with self._target.snapshot() as theirs:
            if self._report.was_complete and (
                await ours.company(self._id) != await theirs.company(self._id)
            ):
                raise self._unequal("its own row differs")
            for table in ours.tables:
                rows, others = self._told(ours, table), theirs.rows(table, self._id)
                async for more, less in _differences(rows, others, partial(ours.key, table)):
                    missing = [ours.key(table, row) for row in more]
                    key = min(missing + less)
                    state = "differs" if key in missing and key in less else "is missing"
                    place = "" if key in missing else " in the source"
                    named = ", ".join(map(str, key))
                    raise self._unequal(f"in {table}, the row {named} {state}{place}")

    async def _told(self, ours: Snapshot, table: str) -> AsyncIterator[list[Row]]:
        """The rows of the source, while it is told that they are compared."""
        total, done = await ours.count(table, self._id), 0
        async for rows in ours.rows(table, self._id):
            done += len(rows)
            self._report.records += len(rows) if table in self._stored else 0
            yield rows
            self._progress(f"comparing {table}", done, total)

    def _unequal(self, where: str) -> OperatorError:
        advice = (
            "Name another target"
            if self._report.was_complete
            else "Nobody sees it there; --anew drops it and begins again"
        )
        return OperatorError(
            f"the company {self._id} is not in the target as it is in the source: {where}. "
            f"{advice}."
        )

    async def _step(
        self,
        mark: CopyMark | None,
        *parts: TablePart,
        opens: Row | None = None,
        reopens: bool = False,
    ) -> None:
        step = CopyStep(self._id, self._held, mark, parts, opens, reopens)
        await self._target.copy(step)
        self._held = mark

    def _move(self, number: int) -> None:
        self._mark = msgspec.structs.replace(self._mark, number=number)


async def _differences(
    ours: AsyncIterator[list[Row]],
    theirs: AsyncIterator[list[Row]],
    key: Callable[[Row], Row],
) -> AsyncIterator[tuple[list[Row], list[Row]]]:
    """What tells rows from others, both in the order of their keys, some at a time.

    Gives the rows that the others lack, and the keys of others that are not among the rows.
    """
    rows: list[Row] = []
    others: list[Row] = []
    while True:
        rows = rows or await anext(ours, [])
        others = others or await anext(theirs, [])
        if not rows and not others:
            return
        size = min(len(rows), len(others))
        if size and rows[:size] == others[:size]:
            del rows[:size], others[:size]
        else:
            more, less = _apart(rows, others, key)
            yield more, less


def _apart(
    rows: list[Row], others: list[Row], key: Callable[[Row], Row]
) -> tuple[list[Row], list[Row]]:
    """As `_differences`, as far as both reach; takes that off both lists."""
    ends = [key(each[-1]) for each in (rows, others) if each]
    end = min(ends) if rows and others else ends[0]
    found, held = ({key(row): row for row in each if key(row) <= end} for each in (rows, others))
    del rows[: len(found)], others[: len(held)]
    more = [row for each, row in found.items() if held.get(each) != row]
    less = [each for each, row in held.items() if found.get(each) != row]
    return more, less
