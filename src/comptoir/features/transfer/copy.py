"""Copy a company to another database, with its versions and its change log.

The source may be in use. The copy reads a snapshot of it, then follows the change log until no
change is left. Then both sides are compared. Only if they are equal does the company become visible
in the target.

Rows were checked, derived and numbered in the source, so they are written unchanged. If the target
has another catalog, they lack what that does not have, and have empty values in what it has more.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from functools import partial

import msgspec

from comptoir.edm.model import Company
from comptoir.edm.types import Stored
from comptoir.errors import operator_rows
from comptoir.errors.refusal import OperatorError
from comptoir.features.transfer import errors as problems
from comptoir.plan.read import Row
from comptoir.store.company_names import check_other
from comptoir.store.company_steps import CopyStep, TablePart, drop_rows, run_step
from comptoir.store.snapshot import (
    CHANGES,
    LOOKUP,
    CopyProgress,
    ShowProgress,
    Snapshot,
    open_snapshot,
)
from comptoir.store.store import COMPANY_CACHE_SECONDS, MANY_ROWS, Store

ROUNDS = 10
"""Attempts to catch up with a source that keeps changing, before the copy fails."""


class CopyReport(msgspec.Struct):
    """The result of a copy: the records, all of them compared, and the last change number.

    `resumed_at` is the number of records that an earlier run had copied, `followed` the number of
    changes copied after the snapshot. `was_complete`: an earlier run had completed the copy.
    `left_out` are the numbers of records by what of them the catalog of the target lacks.
    """

    records: int = 0
    number: int = 0
    resumed_at: int = 0
    followed: int = 0
    was_complete: bool = False
    left_out: dict[str, int] = msgspec.field(default_factory=dict)


async def _state(
    company_id: str, ours: Snapshot, theirs: Snapshot, *, restart: bool
) -> tuple[int, int | None, CopyProgress | None]:
    """The last change of a company in the source, and what the target has of it.

    This is the last change of a complete company, or the progress of an unfinished copy. Raises
    `OperatorError` if the company cannot be copied.
    """
    origin = await ours.origin(company_id)
    if origin is None:
        raise problems.GONE(company=company_id)
    copied = await theirs.origin(company_id)
    progress = await theirs.progress(company_id)
    last = await theirs.last(CHANGES, company_id)
    kept = await ours.change(company_id, int(last[0])) if last and not restart else None
    if last and kept and kept[0] != last[0]:
        raise problems.SOURCE_TRIMMED(company=company_id, oldest=kept[0], number=last[0])
    if progress is not None and progress.incarnation != origin.incarnation and not restart:
        raise problems.UNFINISHED_COPY(company=company_id)
    if copied is not None:
        is_earlier = copied.incarnation == origin.incarnation and copied.number <= origin.number
        change = await theirs.change(company_id, copied.number) if is_earlier else None
        if not is_earlier or await ours.change(company_id, copied.number) != change:
            raise problems.ANOTHER_COMPANY(company=company_id)
    name = (await ours.names())[company_id]
    check_other(await theirs.names(), company_id, name, operator_rows.NAME_IN_TARGET)
    return origin.number, copied.number if copied else None, progress


class Copy:
    """The copy of one company from one store to another."""

    def __init__(
        self, source: Store, target: Store, company: Company, show_progress: ShowProgress
    ) -> None:
        self._sets = {each.name: each for each in target.statements.model.stored}
        self._source = source
        self._target = target
        self._show_progress = show_progress
        self._company = company
        self._id = company.id
        self._stored_progress: CopyProgress | None = None
        self._progress = CopyProgress(company.incarnation, 0, secrets.token_hex(8))
        self._report = CopyReport()

    async def check(self, *, restart: bool) -> None:
        """Raise `OperatorError` if the target does not accept the company."""
        async with self._open_source() as ours, open_snapshot(self._target) as theirs:
            await _state(self._id, ours, theirs, restart=restart)

    def _open_source(self) -> AbstractAsyncContextManager[Snapshot]:
        """The rows of the source as the target has them."""
        return open_snapshot(self._source, self._target.statements)

    async def run(self, *, restart: bool) -> CopyReport:
        """Copy the company, or resume an interrupted copy.

        With `restart`, the rows of an unfinished copy are dropped first. Raises `OperatorError` if
        the target does not accept the company, if both sides differ in the end, or if the source
        keeps changing; the same call resumes after that.
        """
        async with self._open_source() as ours:
            if not await self._begin(ours, restart=restart):
                await self._compare(ours)
                return self._report
            await self._copy_all(ours)
            self._report.left_out = await ours.left_out(self._id)
        for _ in range(ROUNDS):
            if await self._round():
                break
        else:
            raise problems.SOURCE_CHANGES(company=self._id, number=self._progress.number)
        if await self._has_moved_on():
            raise problems.SOURCE_CHANGED(company=self._id, number=self._progress.number)
        return self._report

    async def _begin(self, ours: Snapshot, *, restart: bool) -> bool:
        """Store the copy's progress; returns false if the company is complete in the target."""
        async with open_snapshot(self._target) as theirs:
            last, complete, progress = await _state(self._id, ours, theirs, restart=restart)
        self._stored_progress = progress
        self._report.number = last
        if complete is not None:
            self._report.was_complete = complete == last
            self._move(complete)
            if not self._report.was_complete:
                await self._step(self._progress, reopens=True)
                # services still cache the company, and must not serve it between two states
                await asyncio.sleep(COMPANY_CACHE_SECONDS)
            return not self._report.was_complete
        if progress is not None and not restart:
            self._move(progress.number)
        else:
            if progress is not None:
                dropped = CopyProgress("", 0, self._progress.holder)
                await self._step(dropped)
                await drop_rows(self._target, self._id, dropped, self._show_progress)
            self._move(last)
        await self._step(self._progress)
        return True

    async def _copy_all(self, ours: Snapshot) -> None:
        """Copy the rows of each table after the last one that the target has."""
        # a row that has changed since the copy began may have a unique value of a copied one
        clears = self._report.number != self._progress.number
        copied: dict[str, tuple[Row | None, int]] = {}
        async with open_snapshot(self._target) as theirs:
            for table in (CHANGES, *self._sets):
                last = await theirs.last(table, self._id)
                done = 0 if last is None else await theirs.count(table, self._id)
                copied[table] = last, done
        for table, (last, before) in copied.items():
            total, done = await ours.count(table, self._id), before
            self._report.resumed_at += done if table in self._sets else 0
            async with aclosing(ours.rows(table, self._id, last)) as slices:
                async for rows in slices:
                    added: Sequence[Row] = rows
                    if table == CHANGES:
                        # those after the beginning of the copy are followed
                        added = [each for each in rows if int(each[0]) <= self._progress.number]
                    if not added:
                        break
                    await self._step(self._progress, TablePart(table, rows=added, clears=clears))
                    done += len(added)
                    self._show_progress(f"copying {table}", done, total)
            if done > before and done >= MANY_ROWS:
                await self._target.refresh_statistics((table,))

    async def _round(self) -> bool:
        """Catch up with the source and compare; make the company visible if nothing is left."""
        async with self._open_source() as ours:
            await self._follow(ours)
            if await self._has_moved_on():
                return False
            await self._settle(ours)
            await self._compare(ours)
            if await self._has_moved_on():
                return False
            opens = await ours.company(self._id)
            self._show_progress("finishing", self._report.records, self._report.records)
            await self._step(None, opens=opens)
        return True

    async def _has_moved_on(self) -> bool:
        """Whether the source has changed since the last copied change."""
        return await self._source.position(self._company) != self._progress.number

    async def _follow(self, ours: Snapshot) -> None:
        """Copy the changes that are not copied yet, up to a snapshot."""
        origin = await ours.origin(self._id)
        if origin is None:
            raise problems.GONE(company=self._id)
        last = origin.number
        self._report.number = last
        total, done = last - self._progress.number, 0
        async with aclosing(ours.rows(CHANGES, self._id, (self._progress.number,))) as slices:
            async for changes in slices:
                for name, keys in self._changed(changes):
                    rows = await ours.records(self._id, name, keys)
                    part = TablePart(name, [(key,) for key in keys], rows, clears=True)
                    await self._step(self._progress, part)
                self._move(int(changes[-1][0]))
                await self._step(self._progress, TablePart(CHANGES, rows=changes))
                done += len(changes)
                self._report.followed += len(changes)
                self._show_progress("following changes", done, total)

    def _changed(self, changes: Sequence[Row]) -> Iterator[tuple[str, list[Stored]]]:
        """The keys of changed records, each once, up to `LOOKUP` of one set at a time."""
        keys: dict[str, dict[Stored, None]] = {}
        for _, name, record, *_ in changes:
            # another release may have logged changes of an entity set that this one does not have
            if (entity_set := self._sets.get(str(name))) is not None:
                key = entity_set.type.key_property.type.from_text(str(record))
                keys.setdefault(entity_set.name, {})[key] = None
        for name, found in keys.items():
            listed = list(found)
            for start in range(0, len(listed), LOOKUP):
                yield name, listed[start : start + LOOKUP]

    async def _settle(self, ours: Snapshot) -> None:
        """Copy the differences in tables whose writes are not in the change log."""
        async with open_snapshot(self._target) as theirs:
            for table in ours.tables:
                if table in self._sets or table == CHANGES:
                    continue
                rows, others = ours.rows(table, self._id), theirs.rows(table, self._id)
                async for more, less in _differences(rows, others, partial(ours.key, table)):
                    await self._step(self._progress, TablePart(table, less, more))

    async def _compare(self, ours: Snapshot) -> None:
        """Raise `OperatorError` unless both sides are equal in every row."""
        self._report.records = 0
        async with open_snapshot(self._target) as theirs:
            if self._report.was_complete and (
                await ours.company(self._id) != await theirs.company(self._id)
            ):
                raise self._unequal("its own row differs")
            oldest = [await each.change(self._id, 1) for each in (ours, theirs)]
            begin = max([int(each[0]) for each in oldest if each], default=1)
            for table in ours.tables:
                after = (begin - 1,) if table == CHANGES else None
                rows = _lasting(table, self._compared(ours, table, after))
                others = _lasting(table, theirs.rows(table, self._id, after))
                async for more, less in _differences(rows, others, partial(ours.key, table)):
                    missing = [ours.key(table, row) for row in more]
                    key = min(missing + less)
                    state = "differs" if key in missing and key in less else "is missing"
                    place = "" if key in missing else " in the source"
                    named = ", ".join(map(str, key))
                    raise self._unequal(f"in {table}, the row {named} {state}{place}")

    async def _compared(
        self, ours: Snapshot, table: str, after: Row | None
    ) -> AsyncIterator[list[Row]]:
        """The rows of the source, with progress reported as they are compared."""
        total, done = await ours.count(table, self._id), 0
        async for rows in ours.rows(table, self._id, after):
            done += len(rows)
            self._report.records += len(rows) if table in self._sets else 0
            yield rows
            self._show_progress(f"comparing {table}", done, total)

    def _unequal(self, where: str) -> OperatorError:
        row = problems.COMPANY_DIFFERS if self._report.was_complete else problems.COPY_DIFFERS
        return row(company=self._id, where=where)

    async def _step(
        self,
        progress: CopyProgress | None,
        *parts: TablePart,
        opens: Row | None = None,
        reopens: bool = False,
    ) -> None:
        step = CopyStep(self._id, self._stored_progress, progress, parts, opens, reopens)
        await run_step(self._target, step)
        self._stored_progress = progress

    def _move(self, number: int) -> None:
        self._progress = msgspec.structs.replace(self._progress, number=number)


def _lasting(table: str, slices: AsyncIterator[list[Row]]) -> AsyncIterator[list[Row]]:
    """The rows of a table; those of the change log without the differences, which are trimmed."""
    if table != CHANGES:
        return slices
    return ([row[:-1] for row in rows] async for rows in slices)


async def _differences(
    ours: AsyncIterator[list[Row]], theirs: AsyncIterator[list[Row]], key: Callable[[Row], Row]
) -> AsyncIterator[tuple[list[Row], list[Row]]]:
    """Compare two sides in the order of their keys; yields their differences in slices.

    A slice contains the rows of `ours` that `theirs` lacks, and the keys of the rows of `theirs`
    that `ours` lacks. A row that differs is in both parts.
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
    """The differences up to the lower of both last keys; removes the compared rows from both."""
    ends = [key(each[-1]) for each in (rows, others) if each]
    end = min(ends) if rows and others else ends[0]
    found, other = ({key(row): row for row in each if key(row) <= end} for each in (rows, others))
    del rows[: len(found)], others[: len(other)]
    more = [row for each, row in found.items() if other.get(each) != row]
    less = [each for each, row in other.items() if found.get(each) != row]
    return more, less
