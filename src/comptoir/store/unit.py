"""The unit of work: precondition, derivation, row and change record of one write.

A unit is a generator: it yields the statements to run and is sent their rows. So it is written
once, and a session runs it in whatever way its driver works.
"""

from collections.abc import Generator
from uuid import uuid4

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.number import Int32
from comptoir.edm.primitive import Stored
from comptoir.edm.scalar import Guid
from comptoir.errors import (
    BAD_REQUEST,
    ENTITY_CHANGED,
    KEY_EXISTS,
    PARAM_NOT_PROVIDED,
    RECORD_NOT_FOUND,
    Refusal,
)
from comptoir.plan.read import RecordPlan, Row
from comptoir.plan.target import Company
from comptoir.plan.write import CreatePlan, UpdatePlan, WritePlan
from comptoir.response.etag import entity_tag, opaque_tag
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.derivation import derive
from comptoir.store.ledger import Ledger

Steps = Generator[Statement, list[Row], None]
"""What a part of a unit yields and is sent."""

CREATE, UPDATE = "create", "update"
"""The verbs of the change log."""


class Written(msgspec.Struct, frozen=True):
    """The record as it stands after a write."""

    row: Row


def unit_of_work(
    plan: WritePlan, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Written]:
    """The unit of a write; raises `Refusal` when it must not happen, and has then changed nothing.

    The refusals come in this order: 404 unknown record, 412, 400 for values, 409.
    """
    if isinstance(plan, CreatePlan):
        return _create(plan, statements, ledger)
    return _update(plan, statements, ledger)


def _create(
    plan: CreatePlan, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Written]:
    entity_set, kind, given = plan.entity_set, plan.entity_set.type, dict(plan.values.given)
    existing: list[Row] = []
    if kind.key in given:
        sought = RecordPlan(entity_set, plan.company, given[kind.key])
        existing = yield statements.reads.record(sought)
    if existing:
        _check_create_guard(plan, existing[0])
    if plan.values.fault is not None:
        raise plan.values.fault
    if existing:
        raise _taken(entity_set, kind.key)
    for each in kind.properties:
        if each.numbered and each.name not in given:
            rows = yield statements.writes.highest(entity_set, each.name).query(plan.company.id)
            given[each.name] = next_free(each.name, rows[0][0])
    if kind.key not in given:
        if not isinstance(kind.key_property.type, Guid):
            raise Refusal(
                PARAM_NOT_PROVIDED, f"{kind.key} is required. Send a value for it.", target=kind.key
            )
        given[kind.key] = str(uuid4())
    record = {each.name: given.get(each.name, each.type.default) for each in kind.properties}
    yield from derive(plan.company.id, entity_set, record, given, frozenset(record), statements)
    yield from _check_unique(plan.company, entity_set, record, frozenset(record), statements)
    number, at = ledger.take()
    stamp = kind.modified_at
    if stamp is not None and stamp.name not in given:
        record[stamp.name] = at
    yield statements.writes.insert(entity_set).query(plan.company.id, number, *record.values())
    ledger.note(number, entity_set.name, record[kind.key], CREATE, plan.by)
    return Written((number, *record.values()))


def _update(
    plan: UpdatePlan, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Written]:
    entity_set, kind = plan.entity_set, plan.entity_set.type
    rows = yield statements.reads.record(RecordPlan(entity_set, plan.company, plan.key))
    if not rows:
        raise no_record(entity_set, plan.key)
    current = rows[0]
    tag = opaque_tag(plan.company, current[0])
    if not plan.if_match.hold(tag):
        raise _changed(plan.company, current)
    if plan.if_none_match is not None and plan.if_none_match.hold(tag):
        raise Refusal(
            ENTITY_CHANGED,
            "The record has a tag that If-None-Match excludes. Leave that header out.",
            target="If-None-Match",
        )
    if plan.values.fault is not None:
        raise plan.values.fault
    record = dict(zip(kind.by_name, current[1:], strict=True))
    changed = {name for name, value in plan.values.given.items() if record[name] != value}
    if not changed:
        return Written(current)
    record.update(plan.values.given)
    changed |= yield from derive(
        plan.company.id, entity_set, record, plan.values.given, frozenset(changed), statements
    )
    yield from _check_unique(plan.company, entity_set, record, changed, statements)
    number, at = ledger.take()
    stamp = kind.modified_at
    if stamp is not None:
        record[stamp.name] = at
        changed.add(stamp.name)
    names = tuple([name for name in record if name in changed])
    yield statements.writes.update(entity_set, names).query(
        plan.company.id,
        plan.key,
        number,
        *[record[name] for name in names],
    )
    ledger.note(number, entity_set.name, plan.key, UPDATE, plan.by)
    return Written((number, *record.values()))


def no_record(entity_set: EntitySet, key: Stored) -> Refusal:
    """404: the set holds no record with this key."""
    return Refusal(
        RECORD_NOT_FOUND,
        f"{entity_set.name} holds no record with the key {str(key)[:100]}. "
        f"List {entity_set.name} to find the keys that exist.",
    )


def _changed(company: Company, current: Row) -> Refusal:
    return Refusal(
        ENTITY_CHANGED,
        f"The record has changed: its tag is now {entity_tag(company, current[0])}. "
        "Read it again, decide again, and send that tag as If-Match.",
        target="If-Match",
    )


def _check_create_guard(plan: CreatePlan, existing: Row) -> None:
    if plan.must_not_exist:
        raise Refusal(
            ENTITY_CHANGED,
            "A record with this key exists, and If-None-Match: * allows none. Update it instead.",
            target="If-None-Match",
        )
    if plan.if_match is not None and not plan.if_match.hold(opaque_tag(plan.company, existing[0])):
        raise _changed(plan.company, existing)


def _taken(entity_set: EntitySet, names: str) -> Refusal:
    return Refusal(
        KEY_EXISTS,
        f"Another record of {entity_set.name} has the same {names}, which must be unique. "
        "Send other values, or update that record.",
        target=names,
    )


def _check_unique(
    company: Company,
    entity_set: EntitySet,
    record: dict[str, Stored],
    changed: frozenset[str] | set[str],
    statements: Statements,
) -> Steps:
    key = record[entity_set.type.key]
    for rule in entity_set.type.unique:
        values = [record[name] for name in rule.properties]
        if changed.isdisjoint(rule.properties) or (rule.blank_is_free and values == [""]):
            continue
        rows = yield statements.writes.duplicate(entity_set, rule).query(company.id, key, *values)
        if rows:
            raise _taken(entity_set, rule.name)


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
