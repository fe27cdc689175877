"""Repeatable writes: each is kept with its outcome, in the transaction in which it was done."""

from collections.abc import Generator, Sequence

import msgspec

from comptoir.edm.types import Stored
from comptoir.errors import BAD_REQUEST, GroupRefusal, Refusal
from comptoir.plan.read import Row
from comptoir.plan.write import DeletePlan, Repeat, WritePlan
from comptoir.request.repeatability import REQUEST_ID, rejected
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.change import Steps, Written
from comptoir.store.ledger import Ledger

FORGOTTEN = 10
"""How many writes that need not be known any more each repeatable one forgets."""


class Outcome(msgspec.Struct):
    """The record as a write left it: its version, and its values by name; none after a delete.

    `number` is that of the company's last change by then; None where an earlier program kept it.
    """

    version: int
    values: dict[str, Stored]
    number: int | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Outcome).decode


def recall(
    plan: WritePlan, repeat: Repeat, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], Written | None]:
    """The write as it was when it was done before; None when it was not.

    Raises `Refusal` (400) when another request had the same id.
    """
    ids = (plan.company.id, plan.by, repeat.client_id, repeat.request_id)
    rows = yield statements.service.repeat.query(*ids)
    if not rows:
        return None
    digest, outcome = rows[0]
    if digest != repeat.digest:
        raise rejected(
            BAD_REQUEST,
            f"Another request had this {REQUEST_ID}. Send the request again as it was, or give it "
            "an id of its own.",
            REQUEST_ID,
        )
    held = _decode(str(outcome))
    properties = plan.entity_set.type.properties
    values = [held.values.get(each.name, each.type.default) for each in properties]
    number = ledger.number if held.number is None else held.number
    return Written((held.version, *values), number, ledger.company)


def recall_all(
    plans: Sequence[WritePlan], statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], list[Written] | None]:
    """The writes of a group as they were when it was done before; None when it was not.

    Raises `GroupRefusal` when some of its writes were, but not all: that was another group.
    """
    found: list[Written] = []
    for index, plan in enumerate(plans):
        if plan.repeat is None:
            continue
        try:
            written = yield from recall(plan, plan.repeat, statements, ledger)
        except Refusal as refusal:
            raise GroupRefusal(index, refusal) from refusal
        if written is not None:
            found.append(written)
        if found and len(found) <= index:
            raise GroupRefusal(
                index,
                rejected(
                    BAD_REQUEST,
                    f"This {REQUEST_ID} stands in a group with others, of which some were done "
                    "without it. Send the group again as it was, or give all of it ids of its own.",
                    REQUEST_ID,
                ),
            )
    return found or None


def remember(plan: WritePlan, repeat: Repeat, written: Written, statements: Statements) -> Steps:
    """Keep a write that was done, and forget some that need not be known any more."""
    values = {}
    if not isinstance(plan, DeletePlan):
        values = dict(zip(plan.entity_set.type.by_name, written.row[1:], strict=True))
    outcome = _encode(Outcome(int(written.row[0]), values, written.number)).decode()
    company_id = plan.company.id
    yield statements.service.add_repeat.query(
        company_id,
        plan.by,
        repeat.client_id,
        repeat.request_id,
        repeat.digest,
        outcome,
        repeat.at,
    )
    yield statements.service.drop_repeats.query(company_id, repeat.forget_before, FORGOTTEN)
