"""The unit of work: precondition, derivation, row and change record of one write.

A unit is a generator: it yields the statements to run and is sent their rows. So it is written
once, and a session runs it in whatever way its driver works.
"""

from collections.abc import Generator, Sequence

from comptoir.edm.model import Company
from comptoir.errors import (
    ENTITY_CHANGED,
    PARAM_NOT_PROVIDED,
    GroupRefusal,
    Refusal,
)
from comptoir.plan.read import RecordPlan, Row
from comptoir.plan.target import RecordPath, record_not_found
from comptoir.plan.write import CreatePlan, DeletePlan, Repeat, UpdatePlan, WritePlan
from comptoir.response.records import entity_tag, opaque_tag
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.change import CREATE, DELETE, Written, change, check_unique, next_free, taken
from comptoir.store.derivation import derive
from comptoir.store.known import Known
from comptoir.store.ledger import Ledger
from comptoir.store.repeats import recall, recall_all, remember


def unit_of_work(
    plan: WritePlan, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Written]:
    """The unit of a write; raises `Refusal` when it must not happen, and has then changed nothing.

    The refusals come in this order: 404 unknown record, 412, 400 for values, 409.
    """
    if plan.repeat is not None:
        return _repeatable(plan, plan.repeat, statements, ledger)
    return _write(plan, statements, ledger)


def group_of_work(
    plans: Sequence[WritePlan], statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], list[Written]]:
    """The unit of several writes, each of which sees what those before it did.

    Raises `GroupRefusal` when one of them must not happen; then none has.
    """
    done = yield from recall_all(plans, statements, ledger)
    if done is None:
        done = []
        for index, plan in enumerate(plans):
            try:
                written = yield from unit_of_work(plan, statements, ledger)
            except Refusal as refusal:
                raise GroupRefusal(index, refusal) from refusal
            done.append(written)
    # whoever sees one of them sees all
    last = max(each.number for each in done)
    return [Written(each.row, last, each.company) for each in done]


def _repeatable(
    plan: WritePlan, repeat: Repeat, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Written]:
    """A write that is done once, and recalled whenever it comes again."""
    recalled = yield from recall(plan, repeat, statements, ledger)
    if recalled is not None:
        return recalled
    written = yield from _write(plan, statements, ledger)
    yield from remember(plan, repeat, written, statements)
    return written


def _write(
    plan: WritePlan, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Written]:
    if isinstance(plan, CreatePlan):
        return _create(plan, statements, ledger)
    if isinstance(plan, UpdatePlan):
        return _update(plan, statements, ledger)
    return _delete(plan, statements, ledger)


def _create(
    plan: CreatePlan, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Written]:
    entity_set, kind, given = plan.entity_set, plan.entity_set.type, dict(plan.body.values)
    existing: Row | None = None
    if kind.key in given and not plan.body.key_is_generated:
        sought = RecordPlan(entity_set, plan.company, given[kind.key])
        existing = yield from _record(sought, statements, ledger.known)
    if existing is not None:
        _check_create_guard(plan, existing, ledger.company)
    if plan.body.refusal is not None:
        raise plan.body.refusal
    if existing is not None:
        raise taken(entity_set, kind.key)
    for each in kind.properties:
        if each.numbered and each.name not in given:
            rows = yield statements.writes.highest(entity_set, each.name).query(plan.company.id)
            given[each.name] = next_free(each.name, rows[0][0])
    if kind.key not in given:
        raise Refusal(
            PARAM_NOT_PROVIDED, f"{kind.key} is required. Send a value for it.", target=kind.key
        )
    record = {each.name: given.get(each.name, each.type.default) for each in kind.properties}
    company_id, key = plan.company.id, record[kind.key]
    known = ledger.known
    yield from derive(company_id, entity_set, record, given, record.keys(), statements, known)
    yield from check_unique(company_id, entity_set, key, record, record.keys(), statements, known)
    number, at = ledger.take()
    stamp = kind.modified_at
    if stamp is not None and stamp.name not in given:
        record[stamp.name] = at
    row = (number, *record.values())
    yield statements.writes.insert(entity_set).many(((company_id, *row),))
    ledger.note(number, entity_set.name, key, CREATE, plan.by)
    known.change(entity_set, None, row)
    return Written(row, number, ledger.company)


def _update(
    plan: UpdatePlan, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Written]:
    current = yield from _guarded(plan, statements, ledger)
    if plan.body.refusal is not None:
        raise plan.body.refusal
    given = plan.body.values
    row = yield from change(
        plan.entity_set, current, given, plan.by, statements, ledger, replaces=plan.replaces
    )
    return Written(row, ledger.number, ledger.company)


def _delete(
    plan: DeletePlan, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Written]:
    current = yield from _guarded(plan, statements, ledger)
    kind = plan.entity_set.type
    key = current[kind.column_of[kind.key]]
    number, _ = ledger.take()
    yield statements.writes.delete(plan.entity_set).many(((plan.company.id, key),))
    ledger.note(number, plan.entity_set.name, key, DELETE, plan.by)
    ledger.known.change(plan.entity_set, current, None)
    return Written(current, number, ledger.company)


def _guarded(
    plan: UpdatePlan | DeletePlan, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Row]:
    """The record, whose tag allows what is planned."""
    current = yield from _current(plan, statements, ledger.known)
    # the request may know an incarnation that is not the company's any more
    tag = opaque_tag(ledger.company, current[0])
    if not plan.if_match.hold(tag):
        raise _changed(ledger.company, current)
    if plan.if_none_match is not None and plan.if_none_match.hold(tag):
        raise Refusal(
            ENTITY_CHANGED,
            "The record has a tag that If-None-Match excludes. Leave that header out.",
            target="If-None-Match",
        )
    return current


def _current(
    plan: UpdatePlan | DeletePlan, statements: Statements, known: Known
) -> Generator[Statement, list[Row], Row]:
    """The record as it stands in the transaction, wherever the path says that it is."""
    if not isinstance(plan.address, RecordPath):
        sought = RecordPlan(plan.entity_set, plan.company, plan.address)
        current = yield from _record(sought, statements, known)
        if current is None:
            raise record_not_found(plan.entity_set, plan.address)
        return current
    search = plan.address.record()
    try:
        page = next(search)
        while True:
            page = search.send((yield statements.reads.page(page)))
    except StopIteration as end:
        found: Row = end.value
        return found


def _record(
    sought: RecordPlan, statements: Statements, known: Known
) -> Generator[Statement, list[Row], Row | None]:
    """A record as it stands in the transaction, None when there is none."""
    place = (sought.entity_set.name, (sought.entity_set.type.key,), (sought.key,))
    if place not in known:
        rows = yield statements.reads.record(sought)
        known[place] = rows[0] if rows else None
    return known[place]


def _changed(company: Company, current: Row) -> Refusal:
    return Refusal(
        ENTITY_CHANGED,
        f"The record has changed: its tag is now {entity_tag(company, current[0])}. "
        "Read it again, decide again, and send that tag as If-Match.",
        target="If-Match",
    )


def _check_create_guard(plan: CreatePlan, existing: Row, company: Company) -> None:
    if plan.must_not_exist:
        raise Refusal(
            ENTITY_CHANGED,
            "A record with this key exists, and If-None-Match: * allows none. Update it instead.",
            target="If-None-Match",
        )
    if plan.if_match is not None and not plan.if_match.hold(opaque_tag(company, existing[0])):
        raise _changed(company, existing)
