"""The rows of a file: bound to properties, checked, and written in one unit of work.

Values are stored by column, since they are checked and written by column.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import compress, repeat
from time import time_ns
from typing import TypeVar, cast
from uuid import UUID, uuid4

import msgspec
import sqlalchemy as sa

from comptoir.edm.model import (
    Company,
    Derivation,
    EntitySet,
    Followed,
    KeyValues,
    Property,
    UniqueRule,
)
from comptoir.edm.record_json import record_encoder
from comptoir.edm.types import EdmError, Guid, Stored, Text
from comptoir.features.transfer import errors as problems
from comptoir.features.transfer.files import Chunk, FileError, LoadError
from comptoir.features.transfer.tables import LOADS
from comptoir.jsonvalue import Json
from comptoir.plan.read import Bounds, PagePlan, Row, all_records
from comptoir.sql.prepared import ManyQueries, Steps, Value
from comptoir.sql.tables import COMPANY_ID
from comptoir.store.ledger import CREATE
from comptoir.store.store import Store
from comptoir.store.unit import UnitOfWork
from comptoir.store.writes import Prefetch

T = TypeVar("T")

_BELOW_VERSION = (1 << 76) - 1
"""The bits of a UUID after its version."""


class Columns(msgspec.Struct, frozen=True):
    """The properties that a file has columns for, in its order, and how rows match records.

    `rules` are the key and the alternate keys that must be unique in the file. Rows match records
    by one of them, `matched_by`; its properties without a column have their default. `lacking` are
    the properties without a column that a new record needs. `needs_records`: the check of a row
    needs the record that it matches.
    """

    entity_set: EntitySet
    properties: tuple[Property, ...]
    position: Mapping[str, int]
    rules: tuple[UniqueRule, ...]
    matched_by: UniqueRule
    lacking: tuple[str, ...]
    needs_records: bool

    @property
    def derivations(self) -> list[Derivation]:
        """The derivations of properties without a column."""
        derivations = self.entity_set.type.derivations
        return [each for each in derivations if each.target not in self.position]

    @property
    def reads_others(self) -> bool:
        """Whether a derivation reads other records, which may be those of earlier rows."""
        return any(isinstance(each, Followed) for each in self.derivations)

    @property
    def by_key(self) -> bool:
        """Whether rows may be written in the order of their keys instead of that of the file.

        They have keys, get no numbers, and do not depend on earlier rows.
        """
        entity_type = self.entity_set.type
        numbered = {each.name for each in entity_type.properties if each.numbered}
        return self.position.keys() >= {entity_type.key, *numbered} and not self.reads_others


class LoadRows(msgspec.Struct, frozen=True):
    """Checked rows: their lines in the file, and the values of each column."""

    columns: Columns
    lines: Sequence[int]
    by_column: Sequence[Sequence[Stored]]

    def values(self, name: str) -> Sequence[Stored] | None:
        """The values of a property, None if the file has no column for it."""
        at = self.columns.position.get(name)
        return None if at is None else self.by_column[at]

    def alone(self, number: int) -> "LoadRows":
        """A single row."""
        by_column = [(column[number],) for column in self.by_column]
        return LoadRows(self.columns, (self.lines[number],), by_column)

    def without(self, lines: Set[int]) -> "LoadRows":
        """The rows that do not begin on one of these lines."""
        return self.only([line not in lines for line in self.lines])

    def only(self, wanted: Sequence[bool]) -> "LoadRows":
        """The rows that `wanted` selects."""
        if all(wanted):
            return self
        by_column = [list(compress(column, wanted)) for column in self.by_column]
        return LoadRows(self.columns, list(compress(self.lines, wanted)), by_column)

    def matches(self) -> list[KeyValues | None]:
        """The key values by which each row matches a record; None for a row without them."""
        return self.identities(self.columns.matched_by, {})

    def identities(
        self, rule: UniqueRule, own: Mapping[KeyValues | None, Row]
    ) -> list[KeyValues | None]:
        """Each row's key values under a rule; None if there is nothing to compare.

        `own` are the records that the rows match: they have the values without a column.
        """
        columns = [self.values(name) or self._completed(name, own) for name in rule.properties]
        nothing = ("",) if rule.blank_is_free else None
        return [
            None if values == nothing or None in values else cast("KeyValues", values)
            for values in zip(*columns, strict=True)
        ]

    def _completed(self, name: str, own: Mapping[KeyValues | None, Row]) -> Sequence[Stored | None]:
        """The values of a property without a column; None is a number that a record will get."""
        entity_type = self.columns.entity_set.type
        declared, column = entity_type.by_name[name], entity_type.column_of[name]
        default = None if declared.numbered else declared.type.default
        if not own:
            return [default] * len(self.lines)
        return [own[each][column] if each in own else default for each in self.matches()]


def bind_columns(entity_set: EntitySet, header: Sequence[str], line: int = 0) -> Columns:
    """Bind the names of a file's columns, which are on a line; raises `FileError`."""
    entity_type = entity_set.type
    for name in header:
        if name not in entity_type.by_name:
            known = ", ".join(entity_type.by_name)
            error = problems.UNKNOWN_COLUMN(entity_set=entity_set.name, known=known)
            raise FileError(line, error, name[:100])
        if header.count(name) > 1:
            raise FileError(line, problems.COLUMN_TWICE(), name)
    given = frozenset(header)
    key = UniqueRule((entity_type.key,))
    others = [each for each in entity_type.unique if each.properties != key.properties]
    rules = (key, *others) if entity_type.key in given else tuple(others)
    matched_by = next((each for each in rules if not given.isdisjoint(each.properties)), None)
    # the service generates the key of a new record if it is a Guid
    if matched_by is None or not (
        entity_type.key in given or isinstance(entity_type.key_property.type, Guid)
    ):
        names = "; ".join(each.name for each in (key, *others))
        raise FileError(line, problems.NO_KEY_COLUMN(names=names))
    lacking = [each.name for each in entity_type.properties if each.required]
    lacking = [each for each in lacking if each not in given]
    incomplete = [each for each in rules if not given.issuperset(each.properties)]
    return Columns(
        entity_set,
        tuple([entity_type.by_name[name] for name in header]),
        {name: at for at, name in enumerate(header)},
        rules,
        matched_by,
        tuple(lacking),
        needs_records=bool(lacking) or any(each is not matched_by for each in incomplete),
    )


def bind_chunk(
    columns: Columns, chunk: Chunk, longest_text: int
) -> tuple[LoadRows, list[LoadError]]:
    """Check the cells of some rows; returns the valid rows, and the errors of the others.

    `longest_text` is the most characters of a text whose type sets no limit.
    """
    nothing = LoadRows(columns, (), [()] * len(columns.properties))
    by_column: list[Sequence[Stored]] = []
    for declared, cells in zip(columns.properties, zip(*chunk.rows, strict=True), strict=False):
        try:
            stored = _column(columns, declared, cells, longest_text, text=chunk.head is not None)
        except EdmError as error:
            if len(chunk.rows) == 1:
                return nothing, [LoadError(chunk.lines[0], declared.name, str(error))]
            return _by_halves(columns, chunk, longest_text)
        by_column.append(stored)
    return LoadRows(columns, chunk.lines, by_column) if by_column else nothing, []


def _by_halves(
    columns: Columns, chunk: Chunk, longest_text: int
) -> tuple[LoadRows, list[LoadError]]:
    """Check some rows of which one is invalid."""
    middle = len(chunk.rows) // 2
    halves = [
        msgspec.structs.replace(chunk, lines=chunk.lines[part], rows=chunk.rows[part])
        for part in (slice(middle), slice(middle, None))
    ]
    (first, errors), (second, others) = (bind_chunk(columns, e, longest_text) for e in halves)
    by_column = [[*a, *b] for a, b in zip(first.by_column, second.by_column, strict=True)]
    return LoadRows(columns, [*first.lines, *second.lines], by_column), errors + others


def _column(
    columns: Columns, declared: Property, cells: Sequence[Json], longest_text: int, *, text: bool
) -> Sequence[Stored]:
    if text:
        stored = declared.type.from_texts(cast("Sequence[str]", cells))
    else:
        # files have streams as text, unlike bodies
        read = declared.type.from_wire if declared.is_stream else declared.type.from_json
        stored = [read(cell) for cell in cells]
    if declared is columns.entity_set.type.key_property:
        # an empty cell is not a key, whatever its type, but the number 0 is
        empty = "" in cells or any(map(declared.type.is_blank_key, stored))
    else:
        empty = declared.required and declared.type.default in stored
    if empty:
        raise EdmError(problems.EMPTY_VALUE)
    if isinstance(declared.type, Text) and declared.type.max_length is None:
        longest = max(map(len, cast("Sequence[str]", stored)))
        if longest > longest_text:
            raise EdmError(problems.LONG_CELL, limit=longest_text)
    return stored


class LoadPlan(msgspec.Struct, frozen=True):
    """Rows to write in one unit of work; the rows of a part have the same columns.

    `digest` and `rows_done` are the progress from which an interrupted load resumes. `finishes`:
    these are the last rows of the file. `by` is the author in the change log. `alone_until` is that
    of the rows before them, see `Loaded`.
    """

    company: Company
    entity_set: EntitySet
    parts: Sequence[LoadRows]
    by: str
    digest: str
    rows_done: int
    finishes: bool
    alone_until: int | None = None


class Loaded(msgspec.Struct):
    """The result of a unit of work, in rows.

    `alone_until`: up to this change of the company, only the load has written to the entity set. So
    the set has no record that a later row matches.
    """

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    alone_until: int | None = None


async def rows_done(store: Store, company: Company, entity_set: EntitySet, digest: str) -> int:
    """The number of rows of a file that an interrupted load has written."""

    def unit() -> Steps[int]:
        is_file = _is_file(company, entity_set, digest)
        rows = yield store.statements.query(sa.select(LOADS.c.rows_done).where(*is_file))
        return int(rows[0][0]) if rows else 0

    return await store.read(unit())


def load_steps(plan: LoadPlan, unit: UnitOfWork) -> Steps[Loaded]:
    """Write the rows of a plan, all or none, and store the progress of the load.

    Values in the file are stored unchanged, even of computed properties; the others are derived.
    Raises `Refusal` if a row is not valid.
    """
    return _merged(_load(plan, unit))


def _load(plan: LoadPlan, unit: UnitOfWork) -> Steps[Loaded]:
    # rows that change nothing would store progress in a company that is being deleted
    unit.ledger.check_exists()
    loaded = Loaded()
    is_alone = yield from _is_alone(plan, unit)
    for rows in plan.parts:
        yield from _RowBatch(plan, rows, unit, loaded).write(all_new=is_alone)
    yield from _move_progress(plan, unit)
    if is_alone:
        loaded.alone_until = unit.ledger.number
    return loaded


def _is_alone(plan: LoadPlan, unit: UnitOfWork) -> Steps[bool]:
    """Whether the set has no records but those of earlier rows."""
    if plan.alone_until == unit.ledger.number:
        return True
    first = PagePlan(all_records(plan.entity_set), Bounds(plan.company), limit=1)
    rows = yield unit.statements.reads.page(first)
    return not rows


class _RowBatch:
    """Writes rows that have the same columns."""

    def __init__(self, plan: LoadPlan, rows: LoadRows, unit: UnitOfWork, loaded: Loaded) -> None:
        self._plan = plan
        self._rows = rows
        self._set = plan.entity_set
        self._type = plan.entity_set.type
        self._unit = unit
        self._loaded = loaded
        self._names = tuple(rows.columns.position)
        self._columns = [self._type.column_of[name] for name in self._names]
        self._reads_others = rows.columns.reads_others

    def write(self, *, all_new: bool) -> Steps[None]:
        """Insert, update or leave the records; with `all_new` no row matches a record."""
        rows, loaded = self._rows, self._loaded
        records: list[Row | None] = [None] * len(rows.lines)
        if not all_new:
            matches = rows.matches()
            wanted = [each for each in matches if each is not None]
            names, writes = rows.columns.matched_by.properties, self._unit.statements.writes
            found = yield from writes.find(self._plan.company.id, self._set, names, wanted)
            records = [None if each is None else found.get(each) for each in matches]
        if not self._reads_others:
            yield from self._insert(rows.only([record is None for record in records]))
        changes: list[tuple[int, Row | None, dict[str, Stored]]] = []
        of_rows = zip(records, zip(*rows.by_column, strict=True), strict=True)
        for at, (record, values) in enumerate(of_rows):
            if record is None and not self._reads_others:
                continue
            if record is not None and values == tuple([record[each] for each in self._columns]):
                loaded.unchanged += 1
            else:
                changes.append((at, record, dict(zip(self._names, values, strict=True))))
        yield from self._prefetch(changes)
        for at, record, given in changes:
            if record is None:
                yield from self._insert(rows.alone(at))
            else:
                yield from self._unit.update(self._set, record, given, self._plan.by)
                loaded.updated += 1

    def _prefetch(
        self, changes: Iterable[tuple[int, Row | None, Mapping[str, Stored]]]
    ) -> Steps[None]:
        """Read the records that writes of some rows would look up one by one."""
        wanted = Prefetch()
        columns = self._rows.columns
        rules = [
            each
            for each in self._type.unique
            if each is not columns.matched_by
            and not columns.position.keys().isdisjoint(each.properties)
        ]
        for _, record, given in changes if rules or self._reads_others else ():
            current = dict(zip(self._type.by_name, record[1:], strict=True)) if record else {}
            after = {**current, **given}
            for rule in rules if record else ():
                former, values = (
                    tuple([each[name] for name in rule.properties]) for each in (current, after)
                )
                if values not in (former, ("",)):
                    wanted.add(self._set, rule.properties, values)
            if self._reads_others:
                wanted.add_followed(self._set, current, given)
        yield from wanted.run(self._unit)

    def _insert(self, rows: LoadRows) -> Steps[None]:
        entity_type, count = self._type, len(rows.lines)
        if not count:
            return
        columns: dict[str, Sequence[Stored]] = {}
        for each in entity_type.properties:
            given = rows.values(each.name)
            if given is not None:
                columns[each.name] = given
            elif each.name == entity_type.key:
                columns[each.name] = _new_guids(count)
            elif each.numbered:
                columns[each.name] = yield from self._unit.free_numbers(self._set, each.name, count)
            else:
                columns[each.name] = [each.initial] * count
        if rows.columns.derivations:
            yield from self._derive_columns(rows, columns)
        numbers, at = self._unit.ledger.log_all(
            self._set, columns[entity_type.key], CREATE, self._plan.by
        )
        columns |= {name: [at] * count for name in entity_type.stamps if name not in self._names}
        by_column = list(columns.values())
        json = record_encoder(entity_type).columns_of_all(numbers, by_column)
        values = zip(repeat(self._plan.company.id), numbers, *json, *by_column, strict=False)
        yield self._unit.statements.writes.insert[self._set].many(values)
        if self._reads_others:
            for row in zip(numbers, *by_column, strict=True):
                self._unit.identity_map.replace(self._set, None, row)
        else:
            self._unit.identity_map.clear()
        self._loaded.inserted += count

    def _derive_columns(self, rows: LoadRows, columns: dict[str, Sequence[Stored]]) -> Steps[None]:
        every = frozenset(columns)
        changing = {each.target: list(columns[each.target]) for each in self._type.derivations}
        columns |= changing
        for number in range(len(rows.lines)):
            record = {name: column[number] for name, column in columns.items()}
            given = {name: record[name] for name in self._names}
            derived = yield from self._unit.derive(self._set, record, given, every, None)
            for name in derived:
                changing[name][number] = record[name]


def _new_guids(count: int) -> list[str]:
    """Ascending Guids after those of earlier milliseconds: UUIDs of version 7 (RFC 9562)."""
    start = time_ns() // 1_000_000 << 80 | 7 << 76
    return sorted(str(UUID(int=start | uuid4().int & _BELOW_VERSION)) for _ in range(count))


def _move_progress(plan: LoadPlan, unit: UnitOfWork) -> Steps[None]:
    query, is_file = unit.statements.query, _is_file(plan.company, plan.entity_set, plan.digest)
    # at the end other interrupted loads begin again: what they wrote may have been replaced
    yield query(sa.delete(LOADS).where(*(is_file[:2] if plan.finishes else is_file)))
    if not plan.finishes:
        row = (plan.company.id, plan.entity_set.name, plan.digest, plan.rows_done)
        yield query(sa.insert(LOADS).values(row))


def _is_file(
    company: Company, entity_set: EntitySet, digest: str
) -> tuple[sa.ColumnElement[bool], ...]:
    of_set = LOADS.c[COMPANY_ID] == company.id, LOADS.c.entity_set == entity_set.name
    return (*of_set, LOADS.c.digest == digest)


def _merged(unit: Steps[T]) -> Steps[T]:
    """Merge statements of a unit that have the same text and return no rows.

    They run when the unit yields a statement that returns rows, or ends, so their order with other
    statements may change: between two reads, a unit must not write a record twice.
    """
    waiting: dict[str, tuple[ManyQueries, list[Sequence[Value]]]] = {}

    def take() -> Steps[None]:
        for first, rows in waiting.values():
            yield msgspec.structs.replace(first, rows=rows)
        waiting.clear()

    try:
        statement = next(unit)
        while True:
            if isinstance(statement, ManyQueries):
                waiting.setdefault(statement.text, (statement, []))[1].extend(statement.rows)
                rows: list[Row] = []
            else:
                yield from take()
                rows = yield statement
            statement = unit.send(rows)
    except StopIteration as end:
        yield from take()
        return cast("T", end.value)
