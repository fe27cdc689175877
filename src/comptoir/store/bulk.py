"""Loading: the unit of work of many rows, by the same rules as a unit of one."""

from collections.abc import Generator, Sequence
from itertools import repeat
from uuid import uuid4

import msgspec

from comptoir.edm.entity import Followed
from comptoir.edm.primitive import Stored
from comptoir.plan.load import LoadPlan, LoadRows
from comptoir.plan.read import Row
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.ahead import Wanted, matching
from comptoir.store.change import CREATE, Steps, change, next_free
from comptoir.store.derivation import derive
from comptoir.store.gathering import gathered
from comptoir.store.ledger import Ledger


class Loaded(msgspec.Struct):
    """What became of some rows."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0


def load_unit(
    plan: LoadPlan, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Loaded]:
    """The unit of work that inserts and updates rows, and moves the mark of the load on.

    A column that the file gives is kept, computed ones too; derivation fills what it leaves out.
    Raises `Refusal` when a row must not be written; then none of them is.
    """
    return gathered(_load(plan, statements, ledger))


def _load(
    plan: LoadPlan, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Loaded]:
    # rows that change nothing would leave a mark in a company that is being deleted
    ledger.need_company()
    loaded = Loaded()
    for rows in plan.parts:
        yield from _Part(plan, rows, statements, ledger, loaded).write()
    yield from _move_mark(plan, statements)
    return loaded


class _Part:
    """Rows that give the same columns, on their way into the table."""

    def __init__(
        self,
        plan: LoadPlan,
        rows: LoadRows,
        statements: Statements,
        ledger: Ledger,
        loaded: Loaded,
    ) -> None:
        self._plan = plan
        self._rows = rows
        self._set = plan.entity_set
        self._kind = plan.entity_set.type
        self._statements = statements
        self._ledger = ledger
        self._loaded = loaded
        self._matches = rows.matches()
        self._names = tuple(rows.columns.position)
        self._positions = [self._kind.position[name] + 1 for name in self._names]
        self._values = list(zip(*rows.held, strict=True))
        missing = [each for each in self._kind.derivations if each.target not in self._names]
        self._derives = bool(missing)
        # a derivation that looks at other records must see those of the rows before it
        self._looks = any(isinstance(each, Followed) for each in missing)
        self._checked = [
            each
            for each in self._kind.unique
            if each is not rows.columns.matched_by
            and not rows.columns.position.keys().isdisjoint(each.properties)
        ]

    def write(self) -> Steps:
        wanted = [each for each in self._matches if each is not None]
        names = self._rows.columns.matched_by.properties
        existing = yield from matching(
            self._plan.company.id, self._set, names, wanted, self._statements
        )
        records = [None if each is None else existing.get(each) for each in self._matches]
        is_new = [record is None for record in records]
        numbers = [at for at, record in enumerate(records) if self._differs(at, record)]
        self._loaded.unchanged += len(records) - len(numbers)
        if any(is_new) and not self._looks:
            yield from self._insert(self._rows if all(is_new) else self._rows.only(is_new))
            numbers = [at for at in numbers if not is_new[at]]
        yield from self._read_ahead(numbers, records)
        for number in numbers:
            record = records[number]
            if record is None:
                yield from self._insert(self._rows.alone(number))
            else:
                given = self._given(number)
                yield from change(self._plan, record, given, self._statements, self._ledger)
                self._loaded.updated += 1

    def _differs(self, number: int, record: Row | None) -> bool:
        """Whether there is anything to write of a row."""
        if record is None:
            return True
        return self._values[number] != tuple([record[at] for at in self._positions])

    def _given(self, number: int) -> dict[str, Stored]:
        """The values that a row gives, by name."""
        return dict(zip(self._names, self._values[number], strict=True))

    def _read_ahead(self, numbers: Sequence[int], records: Sequence[Row | None]) -> Steps:
        """Read what writing some of the rows would look up one by one."""
        wanted = Wanted()
        own = {match: held for match, held in zip(self._matches, records, strict=True) if held}
        for rule in self._checked if own else ():
            positions = [self._kind.position[name] + 1 for name in rule.properties]
            identities = self._rows.identities(rule, own)
            for number in numbers:
                record, values = records[number], identities[number]
                if record and values and values != tuple([record[at] for at in positions]):
                    wanted.add(self._set, rule.properties, values)
        for number in numbers if self._looks else ():
            record = records[number]
            held = dict(zip(self._kind.by_name, record[1:], strict=True)) if record else {}
            wanted.add_followed(self._set, held, self._given(number))
        yield from wanted.read(self._plan.company.id, self._statements, self._ledger.known)

    def _insert(self, rows: LoadRows) -> Steps:
        kind, count = self._kind, len(rows.lines)
        columns: dict[str, Sequence[Stored]] = {}
        for each in kind.properties:
            given = rows.values(each.name)
            if given is not None:
                columns[each.name] = given
            elif each.name == kind.key:
                columns[each.name] = [str(uuid4()) for _ in range(count)]
            elif each.numbered:
                columns[each.name] = yield from self._free_numbers(each.name, count)
            else:
                columns[each.name] = [each.type.default] * count
        if self._derives:
            yield from self._derive_columns(rows, columns)
        numbers, at = self._ledger.note_all(
            self._set.name, columns[kind.key], CREATE, self._plan.by
        )
        stamp = kind.modified_at
        if stamp is not None and stamp.name not in self._names:
            columns[stamp.name] = [at] * count
        insert = self._statements.writes.insert(self._set)
        company = repeat(self._plan.company.id, count)
        yield insert.many_columns([company, numbers, *columns.values()])
        if self._looks:
            for row in zip(numbers, *columns.values(), strict=True):
                self._ledger.known.change(self._set, None, row)
        else:
            self._ledger.known.clear()
        self._loaded.inserted += count

    def _free_numbers(self, name: str, count: int) -> Generator[Statement, list[Row], list[Stored]]:
        highest = self._statements.writes.highest(self._set, name)
        rows = yield highest.query(self._plan.company.id)
        numbers: list[Stored] = []
        last: Stored | None = rows[0][0]
        for _ in range(count):
            last = next_free(name, last)
            numbers.append(last)
        return numbers

    def _derive_columns(self, rows: LoadRows, columns: dict[str, Sequence[Stored]]) -> Steps:
        every = frozenset(columns)
        changing = {each.target: list(columns[each.target]) for each in self._kind.derivations}
        columns |= changing
        for number in range(len(rows.lines)):
            record = {name: column[number] for name, column in columns.items()}
            given = dict(zip(self._names, rows.at(number), strict=True))
            derived = yield from derive(
                self._plan.company.id,
                self._set,
                record,
                given,
                every,
                self._statements,
                self._ledger.known,
            )
            for name in derived:
                changing[name][number] = record[name]


def _move_mark(plan: LoadPlan, statements: Statements) -> Steps:
    marks = statements.service
    of_file = (plan.company.id, plan.entity_set.name, plan.digest)
    existing = yield marks.load_mark.query(*of_file)
    if plan.finishes:
        yield marks.drop_load_mark.query(*of_file)
    elif existing:
        yield marks.keep_load_mark.query(*of_file, plan.rows_done)
    else:
        yield marks.add_load_mark.query(*of_file, plan.rows_done)
