"""Changing a record, for a request or for a load."""

from collections.abc import Generator, Mapping
from collections.abc import Set as AbstractSet

import msgspec

from comptoir.edm.model import Company, EntitySet
from comptoir.edm.numbers import Int32
from comptoir.edm.types import Stored
from comptoir.errors import BAD_REQUEST, KEY_EXISTS, Refusal
from comptoir.plan.read import Row
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.derivation import derive
from comptoir.store.known import Known
from comptoir.store.ledger import Ledger


class Written(msgspec.Struct, frozen=True):
    """The record as it stands after a write, or as it stood before it was deleted.

    `number` is that of the company's last change by then, which may be another write's; `company`
    has the incarnation that the transaction found.
    """

    row: Row
    number: int
    company: Company


Steps = Generator[Statement, list[Row], None]
"""What a part of a unit yields and is sent."""

CREATE, UPDATE, DELETE = "create", "update", "delete"
"""The verbs of the change log."""


def change(
    entity_set: EntitySet,
    current: Row,
    given: Mapping[str, Stored],
    by: str,
    statements: Statements,
    ledger: Ledger,
    *,
    replaces: bool = False,
) -> Generator[Statement, list[Row], Row]:
    """Set values of a record and derive others; returns the new row.

    With `replaces`, properties that are not given get the values of a new record, except those
    that the service sets. A change without effect is not written or logged; `by` is the author of
    others in the change log. Raises `Refusal` (409) for values of a unique rule that another
    record has.
    """
    entity_type, company_id = entity_set.type, ledger.company_id
    record = dict(zip(entity_type.by_name, current[1:], strict=True))
    key = record[entity_type.key]
    if replaces:
        record |= {
            each.name: each.type.default
            for each in entity_type.properties
            if not (each.name == entity_type.key or each.modified_at or each.numbered)
        }
        touched: AbstractSet[str] = record.keys()
    else:
        touched = {name for name, value in given.items() if record[name] != value}
        if not touched:
            return current
    record.update(given)
    derived = yield from derive(
        company_id, entity_set, record, given, touched, statements, ledger.known
    )
    changed = _differing(record, current) if replaces else {*touched, *derived}
    if not changed:
        return current
    yield from check_unique(company_id, entity_set, key, record, changed, statements, ledger.known)
    number, at = ledger.take()
    stamp = entity_type.modified_at
    if stamp is not None and stamp.name not in given:
        record[stamp.name] = at
        changed.add(stamp.name)
    names = tuple([name for name in record if name in changed])
    values = (company_id, key, number, *[record[name] for name in names])
    yield statements.writes.update(entity_set, names).many((values,))
    ledger.note(number, entity_set.name, key, UPDATE, by)
    row = (number, *record.values())
    ledger.known.change(entity_set, current, row)
    return row


def _differing(record: Mapping[str, Stored], current: Row) -> set[str]:
    return {
        name
        for (name, value), before in zip(record.items(), current[1:], strict=True)
        if value != before
    }


def check_unique(
    company_id: str,
    entity_set: EntitySet,
    key: Stored,
    record: Mapping[str, Stored],
    changed: AbstractSet[str],
    statements: Statements,
    known: Known,
) -> Steps:
    """Raise `Refusal` (409) if another record has the changed values of a unique rule."""
    kind = entity_set.type
    for rule in kind.unique:
        values = [record[name] for name in rule.properties]
        if changed.isdisjoint(rule.properties) or (rule.blank_is_free and values == [""]):
            continue
        place = (entity_set.name, rule.properties, tuple(values))
        if place in known:
            holder = known[place]
            is_taken = holder is not None and holder[kind.column_of[kind.key]] != key
        else:
            duplicate = statements.writes.duplicate(entity_set, rule)
            is_taken = bool((yield duplicate.query(company_id, key, *values)))
        if is_taken:
            raise taken(entity_set, rule.name)


def taken(entity_set: EntitySet, names: str) -> Refusal:
    """409: another record has the values that these properties were to have."""
    return Refusal(
        KEY_EXISTS,
        f"Another record of {entity_set.name} has the same {names}, which must be unique. "
        "Send other values, or update that record.",
        target=names,
    )


def next_free(name: str, highest: Stored | None) -> Stored:
    """The number behind the highest one, None when there is none; raises `Refusal` at the end."""
    number = int(highest or 0) + 1
    if number > Int32.maximum:
        raise Refusal(
            BAD_REQUEST,
            f"There is no free number behind the highest {name}. Send a {name} that is free.",
            target=name,
        )
    return max(number, 1)
