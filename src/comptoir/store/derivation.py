"""Derivation: what a record's other values follow from, for what the body leaves out."""

from collections.abc import Generator, Mapping
from collections.abc import Set as AbstractSet

from comptoir.edm.model import Computed, EntitySet, Followed
from comptoir.edm.types import Stored, ValueFault
from comptoir.errors import BAD_REQUEST, Refusal
from comptoir.plan.read import Row
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.known import Known


def derive(
    company_id: str,
    entity_set: EntitySet,
    record: dict[str, Stored],
    given: Mapping[str, Stored],
    changed: AbstractSet[str],
    statements: Statements,
    known: Known,
) -> Generator[Statement, list[Row], set[str]]:
    """Derive values in place, into a record to which the body has been applied.

    Only properties that `given` leaves out are derived; `changed` are those that the body changed.
    Returns the names of the properties whose values the derivation changed.
    """
    derived: set[str] = set()
    for rule in entity_set.type.derivations:
        if rule.target in given:
            continue
        if isinstance(rule, Computed):
            if rule.source not in changed:
                continue
            value: Stored | None = _computed(entity_set, record, rule)
        else:
            value = yield from _followed(company_id, entity_set, record, rule, statements, known)
        if value is not None and record[rule.target] != value:
            record[rule.target] = value
            derived.add(rule.target)
    return derived


def _computed(entity_set: EntitySet, record: Mapping[str, Stored], rule: Computed) -> Stored:
    value = rule.rule(record[rule.source])
    kind = entity_set.type.by_name[rule.target].type
    try:
        return kind.from_text(kind.to_text(value)) if value != kind.default else value
    except ValueFault as fault:
        raise Refusal(
            BAD_REQUEST,
            f"{rule.target}, which follows from {rule.source}, {fault.problem}",
            f"Send another {rule.source}, or send {rule.target} too.",
            target=rule.source,
        ) from None


def _followed(
    company_id: str,
    entity_set: EntitySet,
    record: Mapping[str, Stored],
    rule: Followed,
    statements: Statements,
    known: Known,
) -> Generator[Statement, list[Row], Stored | None]:
    reference = record[rule.reference]
    if reference == "":
        return None
    if record[rule.named_by] == reference:
        # the record names itself, by values that are not stored yet
        own = all(record[name] == value for name, value in rule.only.items())
        return record[rule.value] if own else None
    own_key = record[entity_set.type.key]
    place = (entity_set.name, (rule.named_by,), (reference,))
    if place in known:
        return _value(entity_set, known[place], own_key, rule)
    prepared = statements.writes.followed(entity_set, rule)
    rows = yield prepared.query(company_id, reference, own_key, *rule.only.values())
    return rows[0][0] if rows else None


def _value(
    entity_set: EntitySet, named: Row | None, own_key: Stored, rule: Followed
) -> Stored | None:
    column_of = entity_set.type.column_of
    # a record that is being renumbered is not the one that its own old number names
    if named is None or named[column_of[entity_set.type.key]] == own_key:
        return None
    if any(named[column_of[name]] != value for name, value in rule.only.items()):
        return None
    return named[column_of[rule.value]]
