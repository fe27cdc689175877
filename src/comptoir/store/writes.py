"""The writes of requests as units of work: preconditions, then the change, once if repeatable.

A prefetch reads the records that many writes will look up in a few statements. It only fills the
identity map: a unit of work reads what it does not find there.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import msgspec

from comptoir.edm.model import Company, EntitySet, EntityType, Followed, KeyValues
from comptoir.edm.record_json import entity_tag, opaque_tag
from comptoir.edm.types import Stored
from comptoir.errors import refusal_rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.read import PagePlan, Row
from comptoir.plan.target import RecordPath, record_not_found
from comptoir.plan.write import CreatePlan, DeletePlan, RelatedWrite, Repeat, UpdatePlan, WritePlan
from comptoir.sql.prepared import Steps
from comptoir.store.unit import UnitOfWork, Written, taken

T = TypeVar("T")

_NAMING_FORMS = {"NO_VALUE": "{}={}", "LETTERS_IN_PHONE": "{}='{}'"}
"""The conditions of bodies whose messages name the record, and the form of each of its values."""

REPEATS_DROPPED = 10
"""The most expired repeatable writes that each new one deletes."""


@dataclass(eq=False)
class GroupRefusal(Exception):  # noqa: N818 - as `Refusal`
    """The refusal of an atomic group: nothing was stored, since one request was refused.

    `index` is the number of that request, from 0. `undone` has the results of those before it.
    """

    index: int
    refusal: Refusal
    undone: Sequence[Written] = ()


def write(plan: WritePlan, unit: UnitOfWork) -> Steps[Written]:
    """Do a write; raises `Refusal` before its first change, unless related records are created.

    Refusals in the order of their checks: 404 for the record, 412, 400 for values, 409.
    """
    return _write(plan, unit) if plan.repeat is None else _write_once(plan, plan.repeat, unit)


def write_all(
    plans: Sequence[WritePlan], refused: Refusal | None, unit: UnitOfWork
) -> Steps[list[Written]]:
    """Do several writes in order; each sees the changes of those before it.

    `refused` is the refusal of the request after them. Raises `GroupRefusal` if that or one of them
    is refused, and then none may be committed.
    """
    done: list[Written] = []
    for index, plan in enumerate(plans):
        try:
            written = yield from write(plan, unit)
        except Refusal as refusal:
            raise GroupRefusal(index, refusal, _undone(done)) from refusal
        if done and written.is_recalled != done[0].is_recalled:
            # another group did the others
            raise GroupRefusal(index, refusal_rows.GROUP_PARTLY_REPEATED(Repeat.header))
        done.append(written)
    if refused is not None:
        raise GroupRefusal(len(plans), refused, _undone(done))
    # a read that sees one of these changes sees all of them
    last = max(each.number for each in done)
    return [msgspec.structs.replace(each, number=last) for each in done]


def _undone(done: Sequence[Written]) -> Sequence[Written]:
    # later changes get the numbers of these, so no tag and no token may contain them
    return [Written((0, *each.row[1:]), 0, each.company) for each in done]


def _write(plan: WritePlan, unit: UnitOfWork) -> Steps[Written]:
    if isinstance(plan, CreatePlan):
        return _create(plan, unit)
    if isinstance(plan, UpdatePlan):
        return _hiding(_update(plan, unit)) if plan.hides else _update(plan, unit)
    return _delete(plan, unit)


def _create(plan: CreatePlan, unit: UnitOfWork) -> Steps[Written]:
    if plan.within is not None:
        plan = yield from _placed(plan, plan.within, unit)
    entity_set, given = plan.entity_set, plan.body.values
    key = entity_set.type.key
    existing: Row | None = None
    if key in given and not plan.body.key_is_generated:
        existing = yield from unit.read(entity_set, given[key])
    if existing is not None and plan.must_not_exist:
        raise _unmet(existing, refusal_rows.RECORD_EXISTS("If-None-Match"))
    if existing is not None and plan.if_match is not None:
        company = unit.ledger.company
        if not plan.if_match.contain(opaque_tag(company, existing[0])):
            raise _changed(company, existing)
    if plan.body.refusal is not None:
        raise _naming(plan.body.refusal, entity_set, given)
    if existing is not None:
        raise taken(entity_set, (key,), given)
    written = yield from unit.insert(entity_set, given, plan.by)
    for each in plan.related:
        yield from _create(_joined(each, entity_set, written.row), unit)
    return unit.written(written.row, written.json) if plan.related else written


def _placed(plan: CreatePlan, path: RecordPath, unit: UnitOfWork) -> Steps[CreatePlan]:
    """The plan of a record with the values that it has at an address.

    Raises `Refusal`: 404 if the address does not exist, 400 for another value in the body.
    """
    within = yield from _found(path.within(), unit)
    if within is None:
        last = path.target.steps[-1].navigation
        raise refusal_rows.NOT_CONTAINED(name=last.name, own=last.on[0], set=path.target.segment)
    values = dict(plan.body.values)
    by_name = plan.entity_set.type.by_name
    for name, value in within:
        if values.get(name, value) not in (value, by_name[name].type.default):
            shown = by_name[name].type.to_text(value)
            raise refusal_rows.OTHER_ADDRESS(name, name=name, value=shown)
        values[name] = value
    body = msgspec.structs.replace(plan.body, values=values)
    return msgspec.structs.replace(plan, body=body)


def _joined(related: RelatedWrite, entity_set: EntitySet, row: Row) -> CreatePlan:
    """The plan of a related record with the value that relates it to a new record."""
    own, plan = related.own, related.plan
    value = row[entity_set.type.column_of[own]]
    if value == "":
        # it would relate no records
        raise refusal_rows.RELATED_LACKS_VALUE(own, name=own)
    values = {**plan.body.values, related.other: value}
    body = msgspec.structs.replace(plan.body, values=values)
    return msgspec.structs.replace(plan, body=body)


def _hiding(update: Steps[Written]) -> Steps[Written]:
    """An update whose refusals do not show the values that identify the record."""
    try:
        return (yield from update)
    except Refusal as refusal:
        if "values" in refusal.facts:
            refusal.facts = {**refusal.facts, "values": "…"}
        raise


def _update(plan: UpdatePlan, unit: UnitOfWork) -> Steps[Written]:
    current = yield from _guarded(plan, unit)
    entity_set, body = plan.entity_set, plan.body
    given = body.values
    if body.refusal is not None or body.unchanged:
        record = dict(zip(entity_set.type.by_name, current[1:], strict=True))
        if body.refusal is not None:
            raise _naming(body.refusal, entity_set, record)
        given = {**given, **_unchanged(plan, record)}
    return (yield from unit.update(entity_set, current, given, plan.by, replaces=plan.replaces))


def _unchanged(plan: UpdatePlan, record: Mapping[str, Stored]) -> dict[str, Stored]:
    """The values that an update repeats, without those that it computes.

    Raises the refusal of the first one that the record does not have, or of any if it `hides`.
    """
    sent, entity_set = plan.body.unchanged, plan.entity_set
    for name, each in sent.items():
        if plan.hides or record[name] != each.value:
            raise _naming(each.refusal, entity_set, record)
    by_name = entity_set.type.by_name
    return {
        name: each.value
        for name, each in sent.items()
        if not (by_name[name].is_stamp or by_name[name].computed)
    }


def _delete(plan: DeletePlan, unit: UnitOfWork) -> Steps[Written]:
    current = yield from _guarded(plan, unit)
    yield from unit.delete(plan.entity_set, current, plan.by)
    return unit.written(current)


def _guarded(plan: UpdatePlan | DeletePlan, unit: UnitOfWork) -> Steps[Row]:
    """The record to write as the transaction sees it, found by its key or along the path.

    Raises `Refusal` unless its ETag satisfies the preconditions.
    """
    if isinstance(plan.address, RecordPath):
        current = yield from _found(plan.address.record(), unit)
    else:
        read = yield from unit.read(plan.entity_set, plan.address)
        if read is None:
            raise record_not_found(plan.entity_set, plan.address, plan.segment)
        current = read
    company = unit.ledger.company
    tag = opaque_tag(company, current[0])
    if not plan.if_match.contain(tag):
        raise _changed(company, current)
    if plan.if_none_match is not None and plan.if_none_match.contain(tag):
        raise _unmet(current, refusal_rows.SAME_TAG("If-None-Match"))
    return current


def _found(search: Generator[PagePlan, list[Row], T], unit: UnitOfWork) -> Steps[T]:
    """The result of a search along a path, as the transaction sees it."""
    try:
        page = next(search)
        while True:
            page = search.send((yield unit.statements.reads.page(page)))
    except StopIteration as end:
        found: T = end.value
        return found


def _naming(refusal: Refusal, entity_set: EntitySet, record: Mapping[str, Stored]) -> Refusal:
    """The refusal of a body, with the values that identify the record if it needs them."""
    if refusal.group in _NAMING_FORMS:
        form, entity_type = _NAMING_FORMS[refusal.group], entity_set.type
        values = entity_type.captioned(entity_type.identification, record, form)
        refusal.facts = {**refusal.facts, "values": values}
    return refusal


def _changed(company: Company, current: Row) -> Refusal:
    tag = entity_tag(company, current[0])
    return _unmet(current, refusal_rows.STALE_TAG("If-Match", tag=tag))


def _unmet(current: Row, refusal: Refusal) -> Refusal:
    refusal.change = int(current[0])
    return refusal


class _Outcome(msgspec.Struct):
    """A stored outcome: the record's version, and its values by name (none after a delete).

    `number` is that of the company's last change by then.
    """

    version: int
    values: dict[str, Stored]
    number: int = 0


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Outcome).decode


def _write_once(plan: WritePlan, repeat: Repeat, unit: UnitOfWork) -> Steps[Written]:
    """Do a repeatable write, or return the outcome that it had before.

    The outcome is stored in the transaction of the write, so neither exists without the other.
    """
    recalled = yield from _recall(plan, repeat, unit)
    if recalled is not None:
        return recalled
    written = yield from _write(plan, unit)
    values = {}
    if not isinstance(plan, DeletePlan):
        values = dict(zip(plan.entity_set.type.by_name, written.row[1:], strict=True))
    outcome = _encode(_Outcome(int(written.row[0]), values, written.number)).decode()
    ids = (unit.company_id, plan.by, repeat.client_id, repeat.request_id)
    service = unit.statements.service
    yield service.add_repeat.query(*ids, repeat.digest, outcome, repeat.at)
    yield service.drop_repeats.query(unit.company_id, repeat.forget_before, REPEATS_DROPPED)
    return written


def _recall(plan: WritePlan, repeat: Repeat, unit: UnitOfWork) -> Steps[Written | None]:
    """The stored outcome of a write, None if it was not done before.

    Raises `Refusal` (400) if another request had the same id.
    """
    ids = (unit.company_id, plan.by, repeat.client_id, repeat.request_id)
    rows = yield unit.statements.service.repeat.query(*ids)
    if not rows:
        return None
    digest, text = rows[0]
    if digest != repeat.digest:
        raise refusal_rows.REPEAT_ID_TAKEN(Repeat.header)
    outcome = _decode(str(text))
    properties = plan.entity_set.type.properties
    values = [outcome.values.get(each.name, each.initial) for each in properties]
    row = (outcome.version, *values)
    return Written(row, outcome.number, unit.ledger.company, is_recalled=True)


class Prefetch:
    """Collects values of keys and of unique rules, then reads the records that have them."""

    def __init__(self) -> None:
        self._values: dict[tuple[EntitySet, tuple[str, ...]], dict[KeyValues, None]] = {}

    def add(self, entity_set: EntitySet, names: tuple[str, ...], values: KeyValues) -> None:
        """Add the record that has these values of a key or a unique rule."""
        self._values.setdefault((entity_set, names), {})[values] = None

    def add_followed(
        self, entity_set: EntitySet, record: Mapping[str, Stored], given: Mapping[str, Stored]
    ) -> None:
        """Add the records that a record references, as it is stored or with the given values."""
        for rule in _followed(entity_set.type):
            reference = given.get(rule.reference, record.get(rule.reference, ""))
            if reference != "" and rule.target not in given:
                self.add(entity_set, (rule.named_by,), (reference,))

    def run(self, unit: UnitOfWork) -> Steps[None]:
        """Read what the identity map lacks, except where only one record would be read."""
        for (entity_set, names), wanted in self._values.items():
            values = [
                each for each in wanted if (entity_set.name, names, each) not in unit.identity_map
            ]
            if len(values) > 1:
                writes = unit.statements.writes
                found = yield from writes.find(unit.company_id, entity_set, names, values)
                for each in values:
                    unit.identity_map[entity_set.name, names, each] = found.get(each)


def prefetch(plans: Iterable[WritePlan], unit: UnitOfWork) -> Steps[None]:
    """Read the records that writes of a company are about, and those that they depend on."""
    first, followed = Prefetch(), Prefetch()
    for plan in plans:
        _add(plan, first)
    yield from first.run(unit)
    for plan in plans:
        if isinstance(plan, UpdatePlan) and plan.key is not None:
            entity_type = plan.entity_set.type
            identity = (plan.entity_set.name, (entity_type.key,), (plan.key,))
            current = unit.identity_map.get(identity)
            if current is not None:
                record = dict(zip(entity_type.by_name, current[1:], strict=True))
                followed.add_followed(plan.entity_set, record, plan.body.values)
    yield from followed.run(unit)


def _add(plan: WritePlan, records: Prefetch) -> None:
    """Add the records that follow from the plan alone."""
    entity_type = plan.entity_set.type
    has_new_key = isinstance(plan, CreatePlan) and plan.body.key_is_generated
    if plan.key is not None and not has_new_key:
        records.add(plan.entity_set, (entity_type.key,), (plan.key,))
    if isinstance(plan, DeletePlan):
        return
    given = plan.body.values
    for rule in entity_type.unique:
        if given.keys() >= set(rule.properties):
            values = tuple(given[name] for name in rule.properties)
            if not (rule.blank_is_free and values == ("",)):
                records.add(plan.entity_set, rule.properties, values)
    records.add_followed(plan.entity_set, {}, given)


@cache
def _followed(entity_type: EntityType) -> list[Followed]:
    """The derivations that find the other record by a unique rule."""
    unique = [rule.properties for rule in entity_type.unique]
    followed = [rule for rule in entity_type.derivations if isinstance(rule, Followed)]
    return [rule for rule in followed if (rule.named_by,) in unique]
