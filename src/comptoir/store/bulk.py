"""Loading: the unit of work of many rows, by the same rules as a unit of one."""

from collections.abc import Generator, Mapping
from uuid import uuid4

import msgspec

from comptoir.edm.entity import Followed, UniqueRule
from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored
from comptoir.edm.scalar import Guid
from comptoir.errors import PARAM_NOT_PROVIDED, Refusal
from comptoir.plan.load import Columns, LoadPlan, LoadRow, Values
from comptoir.plan.read import Row
from comptoir.sql.prepared import ManyQueries, Prepared, Statement
from comptoir.sql.statements import Statements
from comptoir.store.derivation import derive
from comptoir.store.ledger import Ledger
from comptoir.store.unit import CREATE, UPDATE, Steps, next_free, run

LOOKUP = 500
"""How many records one statement finds."""


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
    loading = _Loading(plan, statements, ledger)
    yield from loading.rows()
    yield from _move_mark(plan, statements)
    return loading.loaded


def matching(
    company_id: str,
    entity_set: EntitySet,
    names: tuple[str, ...],
    wanted: list[Values],
    statements: Statements,
) -> Generator[Statement, list[Row], dict[Values, Row]]:
    """The records that have some of the wanted values of these properties, by those values."""
    positions = [entity_set.type.position[name] + 1 for name in names]
    found: dict[Values, Row] = {}
    for start in range(0, len(wanted), LOOKUP):
        part = wanted[start : start + LOOKUP]
        # the last is repeated, so that the statement of a whole part serves the rest as well
        part += [part[-1]] * (LOOKUP - len(part) if len(wanted) > LOOKUP else 0)
        prepared = statements.writes.matches(entity_set, names, len(part))
        rows = yield run(prepared, company_id, *[value for values in part for value in values])
        for row in rows:
            found[tuple([row[at] for at in positions])] = row
    return found


class _Loading:
    def __init__(self, plan: LoadPlan, statements: Statements, ledger: Ledger) -> None:
        self.loaded = Loaded()
        self._plan = plan
        self._columns: Columns = plan.columns
        self._set = plan.columns.entity_set
        self._kind = plan.columns.entity_set.type
        self._statements = statements
        self._ledger = ledger
        self._names = plan.columns.names
        self._at = {name: at for at, name in enumerate(self._names)}
        self._writes: dict[str, list[Values]] = {}
        # a derivation that looks at other records must see those of the rows before it
        self._looks = any(
            isinstance(rule, Followed) and rule.target not in self._at
            for rule in self._kind.derivations
        )

    def rows(self) -> Steps:
        identities = [self._identity(row) for row in self._plan.rows]
        wanted = [each for each in dict.fromkeys(identities) if each is not None]
        existing = yield from matching(
            self._plan.company.id,
            self._set,
            self._columns.matched_by,
            wanted,
            self._statements,
        )
        for row, identity in zip(self._plan.rows, identities, strict=True):
            given = dict(zip(self._names, row.values, strict=True))
            current = None if identity is None else existing.get(identity)
            if current is None:
                yield from self._insert(given)
            else:
                yield from self._update(given, current)
            if self._looks:
                yield from self._flush()
        yield from self._flush()

    def _identity(self, row: LoadRow) -> Values | None:
        values = tuple(
            [
                row.values[self._at[name]]
                if name in self._at
                else self._kind.by_name[name].type.default
                for name in self._columns.matched_by
            ]
        )
        rule = next(
            (each for each in self._kind.unique if each.properties == self._columns.matched_by),
            UniqueRule(self._columns.matched_by),
        )
        return None if rule.blank_is_free and values == ("",) else values

    def _insert(self, given: Mapping[str, Stored]) -> Steps:
        kind = self._kind
        record = {each.name: given.get(each.name, each.type.default) for each in kind.properties}
        if kind.key not in given:
            record[kind.key] = self._new_key()
        for each in kind.properties:
            if each.numbered and each.name not in given:
                yield from self._flush()
                highest = self._statements.writes.highest(self._set, each.name)
                rows = yield run(highest, self._plan.company.id)
                record[each.name] = next_free(each.name, rows[0][0])
        yield from self._derive(record, given, frozenset(record))
        number, at = self._ledger.take()
        if kind.modified_at is not None and kind.modified_at.name not in given:
            record[kind.modified_at.name] = at
        self._write(
            self._statements.writes.insert(self._set),
            (self._plan.company.id, number, *record.values()),
        )
        self._ledger.note(number, self._set.name, record[kind.key], CREATE, self._plan.by)
        self.loaded.inserted += 1

    def _new_key(self) -> Stored:
        if not isinstance(self._kind.key_property.type, Guid):
            raise Refusal(
                PARAM_NOT_PROVIDED, f"A new record of {self._set.name} needs a {self._kind.key}."
            )
        return str(uuid4())

    def _update(self, given: Mapping[str, Stored], current: Row) -> Steps:
        kind = self._kind
        record = dict(zip(kind.by_name, current[1:], strict=True))
        changed = {name for name, value in given.items() if record[name] != value}
        if not changed:
            self.loaded.unchanged += 1
            return
        key = record[kind.key]
        record.update(given)
        changed |= yield from self._derive(record, given, frozenset(changed))
        number, at = self._ledger.take()
        if kind.modified_at is not None and kind.modified_at.name not in given:
            record[kind.modified_at.name] = at
            changed.add(kind.modified_at.name)
        names = tuple([name for name in record if name in changed])
        self._write(
            self._statements.writes.update(self._set, names),
            (self._plan.company.id, key, number, *[record[name] for name in names]),
        )
        self._ledger.note(number, self._set.name, key, UPDATE, self._plan.by)
        self.loaded.updated += 1

    def _derive(
        self, record: dict[str, Stored], given: Mapping[str, Stored], changed: frozenset[str]
    ) -> Generator[Statement, list[Row], set[str]]:
        return derive(self._plan.company.id, self._set, record, given, changed, self._statements)

    def _write(self, prepared: Prepared, values: Values) -> None:
        self._writes.setdefault(prepared.text, []).append(prepared.bind(values))

    def _flush(self) -> Steps:
        for text, rows in self._writes.items():
            yield ManyQueries(text, rows)
        self._writes.clear()


def _move_mark(plan: LoadPlan, statements: Statements) -> Steps:
    marks = statements.service
    of_file = (plan.company.id, plan.columns.entity_set.name, plan.digest)
    existing = yield run(marks.load_mark, *of_file)
    if plan.finishes:
        yield run(marks.drop_load_mark, *of_file)
    elif existing:
        yield run(marks.keep_load_mark, *of_file, plan.rows_done)
    else:
        yield run(marks.add_load_mark, *of_file, plan.rows_done)
