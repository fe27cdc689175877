"""The unit of work that writes many rows, by the same rules as a unit that writes one."""

from collections.abc import Sequence
from functools import partial
from itertools import repeat
from typing import TypeVar, cast
from uuid import uuid4

import msgspec

from comptoir.edm.model import Company, EntitySet, Followed
from comptoir.edm.types import Stored
from comptoir.plan.read import Row
from comptoir.sql.prepared import ManyQueries, Steps, Value
from comptoir.store.ledger import CREATE
from comptoir.store.prefetch import Prefetch
from comptoir.store.store import Store
from comptoir.store.unit import UnitOfWork
from comptoir.transfer.rows import LoadRows

T = TypeVar("T")


class LoadPlan(msgspec.Struct, frozen=True):
    """Rows to write in one unit of work; the rows of a part have the same columns.

    `digest` and `rows_done` are the mark from which an interrupted load resumes. `finishes`: these
    are the last rows of the file. `by` is the author in the change log.
    """

    company: Company
    entity_set: EntitySet
    parts: Sequence[LoadRows]
    by: str
    digest: str
    rows_done: int
    finishes: bool


class Loaded(msgspec.Struct):
    """The result of a unit of work, in rows."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0


async def write_rows(store: Store, plan: LoadPlan) -> Loaded:
    """Write the rows of a plan, all or none, and move the mark of the load.

    A value that the file has is kept, also of a computed property; derivation computes the others.
    Raises `Refusal` when a row must not be written.
    """
    return await store.transact(plan.company.id, partial(_load_unit, plan))


async def rows_done(store: Store, company: Company, entity_set: EntitySet, digest: str) -> int:
    """The number of rows of a file that an interrupted load has written."""

    def unit() -> Steps[int]:
        rows = yield store.statements.service.load_mark.query(company.id, entity_set.name, digest)
        return int(rows[0][0]) if rows else 0

    return await store.read(unit())


def _load_unit(plan: LoadPlan, unit: UnitOfWork) -> Steps[Loaded]:
    return _merged(_load(plan, unit))


def _load(plan: LoadPlan, unit: UnitOfWork) -> Steps[Loaded]:
    # rows that change nothing would leave a mark in a company that is being deleted
    unit.ledger.check_exists()
    loaded = Loaded()
    for rows in plan.parts:
        yield from _Part(plan, rows, unit, loaded).write()
    yield from _move_mark(plan, unit)
    return loaded


class _Part:
    """Writes rows that have the same columns."""

    def __init__(self, plan: LoadPlan, rows: LoadRows, unit: UnitOfWork, loaded: Loaded) -> None:
        self._plan = plan
        self._rows = rows
        self._set = plan.entity_set
        self._kind = plan.entity_set.type
        self._unit = unit
        self._loaded = loaded
        self._matches = rows.matches()
        self._names = tuple(rows.columns.position)
        self._columns = [self._kind.column_of[name] for name in self._names]
        self._values = list(zip(*rows.by_column, strict=True))
        missing = [each for each in self._kind.derivations if each.target not in self._names]
        self._derives = bool(missing)
        # a derivation that reads other records must see those of earlier rows
        self._reads_others = any(isinstance(each, Followed) for each in missing)
        self._checked = [
            each
            for each in self._kind.unique
            if each is not rows.columns.matched_by
            and not rows.columns.position.keys().isdisjoint(each.properties)
        ]

    def write(self) -> Steps[None]:
        wanted = [each for each in self._matches if each is not None]
        names = self._rows.columns.matched_by.properties
        writes = self._unit.statements.writes
        existing = yield from writes.find(self._plan.company.id, self._set, names, wanted)
        records = [None if each is None else existing.get(each) for each in self._matches]
        is_new = [record is None for record in records]
        numbers = [at for at, record in enumerate(records) if self._differs(at, record)]
        self._loaded.unchanged += len(records) - len(numbers)
        if any(is_new) and not self._reads_others:
            yield from self._insert(self._rows if all(is_new) else self._rows.only(is_new))
            numbers = [at for at in numbers if not is_new[at]]
        yield from self._prefetch(numbers, records)
        for number in numbers:
            record = records[number]
            if record is None:
                yield from self._insert(self._rows.alone(number))
            else:
                given = self._given(number)
                yield from self._unit.update(self._set, record, given, self._plan.by)
                self._loaded.updated += 1

    def _differs(self, number: int, record: Row | None) -> bool:
        """Whether a row differs from its record."""
        if record is None:
            return True
        return self._values[number] != tuple([record[at] for at in self._columns])

    def _given(self, number: int) -> dict[str, Stored]:
        """The values of a row by name."""
        return dict(zip(self._names, self._values[number], strict=True))

    def _prefetch(self, numbers: Sequence[int], records: Sequence[Row | None]) -> Steps[None]:
        """Read at once what writing some of the rows would look up one by one."""
        wanted = Prefetch()
        own = {
            match: record
            for match, record in zip(self._matches, records, strict=True)
            if record is not None
        }
        for rule in self._checked if own else ():
            positions = [self._kind.column_of[name] for name in rule.properties]
            identities = self._rows.identities(rule, own)
            for number in numbers:
                record, values = records[number], identities[number]
                if record and values and values != tuple([record[at] for at in positions]):
                    wanted.add(self._set, rule.properties, values)
        for number in numbers if self._reads_others else ():
            record = records[number]
            current = dict(zip(self._kind.by_name, record[1:], strict=True)) if record else {}
            wanted.add_followed(self._set, current, self._given(number))
        yield from wanted.run(self._unit)

    def _insert(self, rows: LoadRows) -> Steps[None]:
        kind, count = self._kind, len(rows.lines)
        columns: dict[str, Sequence[Stored]] = {}
        for each in kind.properties:
            given = rows.values(each.name)
            if given is not None:
                columns[each.name] = given
            elif each.name == kind.key:
                columns[each.name] = [str(uuid4()) for _ in range(count)]
            elif each.numbered:
                columns[each.name] = yield from self._unit.free_numbers(self._set, each.name, count)
            else:
                columns[each.name] = [each.type.default] * count
        if self._derives:
            yield from self._derive_columns(rows, columns)
        numbers, at = self._unit.ledger.log_all(self._set, columns[kind.key], CREATE, self._plan.by)
        stamp = kind.modified_at
        if stamp is not None and stamp.name not in self._names:
            columns[stamp.name] = [at] * count
        insert = self._unit.statements.writes.insert(self._set)
        company = repeat(self._plan.company.id, count)
        yield insert.many_columns([company, numbers, *columns.values()])
        if self._reads_others:
            for row in zip(numbers, *columns.values(), strict=True):
                self._unit.identity_map.replace(self._set, None, row)
        else:
            self._unit.identity_map.clear()
        self._loaded.inserted += count

    def _derive_columns(self, rows: LoadRows, columns: dict[str, Sequence[Stored]]) -> Steps[None]:
        every = frozenset(columns)
        changing = {each.target: list(columns[each.target]) for each in self._kind.derivations}
        columns |= changing
        for number in range(len(rows.lines)):
            record = {name: column[number] for name, column in columns.items()}
            given = dict(zip(self._names, rows.at(number), strict=True))
            derived = yield from self._unit.derive(self._set, record, given, every)
            for name in derived:
                changing[name][number] = record[name]


def _move_mark(plan: LoadPlan, unit: UnitOfWork) -> Steps[None]:
    marks = unit.statements.service
    of_file = (plan.company.id, plan.entity_set.name, plan.digest)
    existing = yield marks.load_mark.query(*of_file)
    if plan.finishes:
        yield marks.drop_load_mark.query(*of_file)
    elif existing:
        yield marks.keep_load_mark.query(*of_file, plan.rows_done)
    else:
        yield marks.add_load_mark.query(*of_file, plan.rows_done)


def _merged(unit: Steps[T]) -> Steps[T]:
    """The same unit with fewer statements: those of one text that return no rows are merged.

    They wait until the unit yields a statement that returns rows, or ends. So they may change
    places with statements of other texts: between two reads, a unit must not write a record twice.
    """
    waiting = _Waiting()
    try:
        statement = next(unit)
        while True:
            if isinstance(statement, ManyQueries):
                waiting.add(statement)
                rows: list[Row] = []
            else:
                yield from waiting.take()
                rows = yield statement
            statement = unit.send(rows)
    except StopIteration as end:
        yield from waiting.take()
        return cast("T", end.value)


class _Waiting:
    """Statements that return no rows, by text."""

    def __init__(self) -> None:
        self._first: dict[str, ManyQueries] = {}
        self._rows: dict[str, list[Sequence[Value]]] = {}

    def add(self, statement: ManyQueries) -> None:
        self._first.setdefault(statement.text, statement)
        self._rows.setdefault(statement.text, []).extend(statement.rows)

    def take(self) -> Steps[None]:
        """Run the statements, in the order of the first of each text."""
        for text, first in self._first.items():
            yield msgspec.structs.replace(first, rows=self._rows[text])
        self._first.clear()
        self._rows.clear()
