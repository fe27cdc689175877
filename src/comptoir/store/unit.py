"""The unit of work: reads and changes records of one company within a transaction.

Its operations are generators: they yield statements and receive the rows. The writer of each
database runs them on its connection.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import TypeVar, cast

import msgspec

from comptoir.edm.model import Calculated, Company, EntitySet, EntityType, Followed
from comptoir.edm.numbers import Int32
from comptoir.edm.record_json import record_encoder
from comptoir.edm.types import EdmError, Stored
from comptoir.errors import refusal_rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.read import Bounds, PagePlan, RecordPlan, Row, all_records
from comptoir.sql.prepared import Steps
from comptoir.sql.statements import Statements
from comptoir.store.ledger import CREATE, DELETE, UPDATE, Ledger

T = TypeVar("T")
Yielded = TypeVar("Yielded")

MOST_CONTAINED = 5_000
"""The most records that are deleted with the one that contains them."""


class Written(msgspec.Struct, frozen=True):
    """The result of a write: the record after it, or the record that it deleted.

    `number` is the number of the company's last change by then, possibly of another write.
    `company` has the incarnation that the transaction found. `json` is the record's JSON (see
    `RecordEncoder`) if the write stored it. `is_recalled`: an earlier request did the same write.
    """

    row: Row
    number: int
    company: Company
    json: bytes | None = None
    is_recalled: bool = False


class UnitOfWork:
    """The reads and changes of one request, stored all or none.

    A transaction may have several units of work.
    """

    __slots__ = ("_savepoint", "company_id", "identity_map", "ledger", "statements")

    def __init__(self, statements: Statements, ledger: Ledger) -> None:
        self.statements = statements
        self.ledger = ledger
        self.identity_map = ledger.identity_map
        self.company_id = ledger.company_id
        self._savepoint = ledger.savepoint()

    def roll_back(self) -> None:
        """Undo the unit's changes in ledger and identity map."""
        self.ledger.roll_back(self._savepoint)

    def written(self, row: Row, json: bytes | None = None) -> Written:
        """The result of a write with the record after it."""
        return Written(row, self.ledger.number, self.ledger.company, json)

    def read(self, entity_set: EntitySet, key: Stored) -> Steps[Row | None]:
        """Read a record by its key, None if it does not exist."""
        identity = (entity_set.name, (entity_set.type.key,), (key,))
        if identity not in self.identity_map:
            plan = RecordPlan(entity_set, self.company_id, key)
            rows = yield self.statements.reads.record(plan)
            self.identity_map[identity] = rows[0] if rows else None
        return self.identity_map[identity]

    def insert(self, entity_set: EntitySet, given: Mapping[str, Stored], by: str) -> Steps[Written]:
        """Insert a record with the given values; numbers, derives and defaults the others.

        `by` is the author in the change log. Raises `Refusal`: 400 without a key, 409 for values of
        a unique rule that another record has.
        """
        entity_type = entity_set.type
        values = dict(given)
        for each in entity_type.properties:
            if each.numbered and each.name not in values:
                (values[each.name],) = yield from self.free_numbers(entity_set, each.name, 1)
        if entity_type.key not in values:
            raise refusal_rows.MISSING_KEY(entity_type.key, name=entity_type.key)
        record = {each.name: values.get(each.name, each.initial) for each in entity_type.properties}
        key = record[entity_type.key]
        yield from self.derive(entity_set, record, values, record.keys(), None)
        if entity_type.has_rules:
            yield from self.check_rules(entity_set, record, record.keys())
        yield from self.check_unique(entity_set, key, record, record.keys())
        number, at = self.ledger.log(entity_set, key, CREATE, by)
        record |= {name: at for name in entity_type.stamps if name not in values}
        row = (number, *record.values())
        json = record_encoder(entity_type).columns(row)
        stored = (self.company_id, number, *json, *record.values())
        yield self.statements.writes.insert[entity_set].many((stored,))
        self.identity_map.replace(entity_set, None, row)
        return self.written(row, json[0])

    def update(
        self,
        entity_set: EntitySet,
        current: Row,
        given: Mapping[str, Stored],
        by: str,
        *,
        replaces: bool = False,
    ) -> Steps[Written]:
        """Set values of a record and derive others.

        With `replaces`, properties that are not given get the values of a new record, except those
        that the service sets. A change without effect is not written or logged. Raises `Refusal`
        (409) for values of a unique rule that another record has.
        """
        entity_type = entity_set.type
        record = dict(zip(entity_type.by_name, current[1:], strict=True))
        key = record[entity_type.key]
        if replaces:
            record |= {
                each.name: each.initial
                for each in entity_type.properties
                if each.name != entity_type.key and each.is_replaced
            }
            touched: AbstractSet[str] = record.keys()
        else:
            touched = {name for name, value in given.items() if record[name] != value}
            if not touched:
                return self.written(current)
        record.update(given)
        derived = yield from self.derive(entity_set, record, given, touched, current)
        column_of = entity_type.column_of
        changed = {
            each for each in {*touched, *derived} if record[each] != current[column_of[each]]
        }
        if not changed:
            return self.written(current)
        if entity_type.has_rules:
            yield from self.check_rules(entity_set, record, changed)
        yield from self.check_unique(entity_set, key, record, changed)
        number, at = self.ledger.log(entity_set, key, UPDATE, by)
        stamp = entity_type.modified_at
        if stamp is not None and stamp.name not in given:
            record[stamp.name] = at
            changed.add(stamp.name)
        names = tuple([name for name in record if name in changed])
        row = (number, *record.values())
        self.ledger.add_difference(entity_type, names, current, row)
        json = record_encoder(entity_type).columns(row)
        yield self.statements.writes.update(self.company_id, entity_set, names, row, json)
        self.identity_map.replace(entity_set, current, row)
        return self.written(row, json[0])

    def delete(self, entity_set: EntitySet, current: Row, by: str) -> Steps[None]:
        """Delete a record with all that it contains.

        Raises `Refusal` (400) for one that must not be deleted while in use, and for too many.
        """
        deleted: dict[tuple[EntitySet, Stored], Row] = {}
        left = [(entity_set, current)]
        while left:
            each, row = left.pop()
            key = row[each.type.column_of[each.type.key]]
            if (each, key) in deleted:
                continue
            if len(deleted) > MOST_CONTAINED:
                raise refusal_rows.TOO_MANY_CONTAINED(limit=MOST_CONTAINED)
            for referrer in each.type.referrers:
                if (yield self.statements.writes.used[referrer].query(self.company_id, key)):
                    user, name = referrer.entity_set, referrer.property
                    raise refusal_rows.IN_USE(referrer=user, key=str(key), set=each.name, name=name)
            deleted[each, key] = row
            left += yield from self._contained(each, row)
        rows: dict[EntitySet, list[Row]] = {}
        for (each, key), row in reversed(deleted.items()):
            self.ledger.log(each, key, DELETE, by)
            self.ledger.add_difference(each.type, each.type.by_name, row, None)
            self.identity_map.replace(each, row, None)
            rows.setdefault(each, []).append((self.company_id, key))
        for each, keys in rows.items():
            yield self.statements.writes.delete[each].many(keys)

    def _contained(self, entity_set: EntitySet, row: Row) -> Steps[list[tuple[EntitySet, Row]]]:
        """The records that a record contains, each with its set; one too many if there are more."""
        contained: list[tuple[EntitySet, Row]] = []
        for navigation in entity_set.type.navigation:
            own, other = navigation.on
            value = row[entity_set.type.column_of[own]]
            # an empty value relates no records
            if navigation.contained and value not in (
                "",
                entity_set.type.by_name[own].type.default,
            ):
                target = self.statements.model.by_name[navigation.target]
                within = ((other, value), *navigation.only.items())
                bounds = Bounds(self.ledger.company, within=within)
                plan = PagePlan(all_records(target), bounds, MOST_CONTAINED + 1)
                rows = yield self.statements.reads.page(plan)
                contained += [(target, each) for each in rows]
        return contained

    def check_rules(
        self, entity_set: EntitySet, record: Mapping[str, Stored], changed: AbstractSet[str]
    ) -> Steps[None]:
        """Raise `Refusal` (400) if changed values are not in order, or reference no record."""
        entity_type, by_name = entity_set.type, entity_set.type.by_name
        for first, last in entity_type.periods:
            is_open = record[last] == by_name[last].type.default
            is_checked = not is_open and not changed.isdisjoint((first, last))
            if is_checked and str(record[first]) > str(record[last]):
                field, other = (first, last) if first in changed else (last, first)
                row = refusal_rows.BEGINS_LATE if field == first else refusal_rows.ENDS_EARLY
                captions = by_name[field].caption, by_name[other].caption
                raise row(field, name=field, limit=other, field=captions[0], other=captions[1])
        for each in entity_type.references:
            value, declared = record[each.property], by_name[each.property]
            if value in ("", declared.type.default) or not each.applies(record, changed):
                continue
            if each.target == entity_set.name and each.is_met_by(record, value):
                continue
            only = () if each.only is None else (each.only[1],)
            related = self.statements.writes.related[each]
            if not (yield related.query(self.company_id, value, *only)):
                raise refusal_rows.NOT_RELATED(
                    each.property,
                    name=each.property,
                    key=each.named_by,
                    set=each.target,
                    field=declared.caption,
                    table=entity_type.caption,
                    value=str(value),
                    related=each.caption,
                )

    def check_unique(
        self,
        entity_set: EntitySet,
        key: Stored,
        record: Mapping[str, Stored],
        changed: AbstractSet[str],
    ) -> Steps[None]:
        """Raise `Refusal` (409) if another record has the changed values of a unique rule."""
        entity_type = entity_set.type
        for rule in entity_type.unique:
            values = [record[name] for name in rule.properties]
            if changed.isdisjoint(rule.properties) or (rule.blank_is_free and values == [""]):
                continue
            identity = (entity_set.name, rule.properties, tuple(values))
            if identity in self.identity_map:
                other = self.identity_map[identity]
                key_column = entity_type.column_of[entity_type.key]
                is_taken = other is not None and other[key_column] != key
            else:
                duplicate = self.statements.writes.duplicate[entity_set, rule]
                is_taken = bool((yield duplicate.query(self.company_id, key, *values)))
            if is_taken:
                raise taken(entity_set, rule.properties, record)

    def free_numbers(self, entity_set: EntitySet, name: str, count: int) -> Steps[Sequence[Stored]]:
        """The next free numbers of a numbered property; raises `Refusal` (400) past the highest."""
        rows = yield self.statements.writes.highest[entity_set, name].query(self.company_id)
        first = max(int(rows[0][0] or 0) + 1, 1)
        if first + count - 1 > Int32.maximum:
            raise refusal_rows.NO_NUMBER(name, name=name)
        return range(first, first + count)

    def derive(
        self,
        entity_set: EntitySet,
        record: dict[str, Stored],
        given: Mapping[str, Stored],
        changed: AbstractSet[str],
        former: Row | None,
    ) -> Steps[set[str]]:
        """Derive values of a record in place; returns the names of those that it changed.

        Only properties that `given` leaves out are derived. `changed` are those that the write
        sets to other values, and `former` is the record before it, None for a new one.
        """
        derived: set[str] = set()
        for rule in entity_set.type.derivations:
            if rule.target in given:
                continue
            if isinstance(rule, Calculated):
                is_same = changed.isdisjoint(rule.sources) and derived.isdisjoint(rule.sources)
                if is_same or _is_own(entity_set.type, former, rule):
                    continue
                value: Stored | None = _computed(entity_set, record, rule)
            else:
                value = yield from self._followed(entity_set, record, rule)
                declared = entity_set.type.by_name[rule.target]
                if value is None and declared.computed:
                    value = declared.initial
            if value is not None and record[rule.target] != value:
                record[rule.target] = value
                derived.add(rule.target)
        return derived

    def _followed(
        self, entity_set: EntitySet, record: Mapping[str, Stored], rule: Followed
    ) -> Steps[Stored | None]:
        """The value of the record that a reference names, None without such a record."""
        reference = record[rule.reference]
        if reference == "":
            return None
        entity_type = entity_set.type
        own_key = record[entity_type.key]
        identity = (entity_set.name, (rule.named_by,), (reference,))
        found: Mapping[str, Stored] | None = None
        if record[rule.named_by] == reference:
            # the record references itself, by values that are not stored yet
            found = record
        elif identity in self.identity_map:
            other = self.identity_map[identity]
            # it may be the record itself by its old number
            if other is not None and other[entity_type.column_of[entity_type.key]] != own_key:
                found = dict(zip(entity_type.by_name, other[1:], strict=True))
        else:
            prepared = self.statements.writes.followed[entity_set, rule]
            rows = yield prepared.query(self.company_id, own_key, reference, *rule.only.values())
            return rows[0][0] if rows else None
        if found is None or any(found[name] != value for name, value in rule.only.items()):
            return None
        return found[rule.value]


Work = Callable[[UnitOfWork], Steps[T]]
"""The content of a unit of work: yields statements, and returns its result."""


async def drive(
    unit: Generator[Yielded, list[Row], T], run: Callable[[Yielded], Awaitable[list[Row]]]
) -> T:
    """Run what a generator yields, such as statements, send it the rows, and return its result."""
    try:
        yielded = next(unit)
        while True:
            yielded = unit.send(await run(yielded))
    except StopIteration as end:
        return cast("T", end.value)


def taken(entity_set: EntitySet, names: Sequence[str], record: Mapping[str, Stored]) -> Refusal:
    """409: another record has the record's values of these properties."""
    entity_type, listed = entity_set.type, ", ".join(names)
    values = entity_type.captioned(names, record, "{}='{}'")
    return refusal_rows.KEY_TAKEN(
        listed, set=entity_set.name, names=listed, table=entity_type.caption, values=values
    )


def _is_own(entity_type: EntityType, former: Row | None, rule: Calculated) -> bool:
    """Whether a calculated value was set by hand, and is kept."""
    if former is None or not rule.keeps_own:
        return False
    edm_type = entity_type.by_name[rule.target].type
    value = former[entity_type.column_of[rule.target]]
    sources = {name: former[entity_type.column_of[name]] for name in rule.sources}
    followed: Stored = rule.function(sources)
    # a stored text may be longer than the type accepts
    with suppress(EdmError):
        followed = edm_type.from_text(str(followed))
    return value not in (edm_type.default, followed)


def _computed(entity_set: EntitySet, record: Mapping[str, Stored], rule: Calculated) -> Stored:
    value = rule.function(record)
    target = entity_set.type.by_name[rule.target].type
    try:
        return target.from_text(value)
    except EdmError as error:
        source = ", ".join(rule.sources)
        raise refusal_rows.FOLLOWING_VALUE(
            source, name=rule.target, source=source, problem=error.problem
        ) from None
