"""The unit of work of a copy or a deletion: one step, from one mark to the next.

A company is deleted by the same steps as an unfinished copy, under a mark without an incarnation.
"""

from collections.abc import Sequence

import msgspec

from comptoir.errors import OperatorError
from comptoir.plan.read import Row
from comptoir.sql.copying import Whole
from comptoir.sql.prepared import Steps
from comptoir.store.unit import UnitOfWork
from comptoir.transfer.snapshot import CopyMark

DROPPED_ROWS = 2_000
"""The most rows that a step drops from a table."""

DROPPED_DOCUMENTS = 500
"""The most documents that a step drops from the text index, where each has many entries."""


class TablePart(msgspec.Struct, frozen=True):
    """The rows of a table that a step drops, by their keys, and then adds.

    With `clears`, rows that have a unique value of a row to add are dropped first.
    """

    table: str
    drops: Sequence[Row] = ()
    rows: Sequence[Row] = ()
    clears: bool = False


class CopyStep(msgspec.Struct, frozen=True):
    """A step of a copy, from one mark to the next; None where there is no mark.

    `opens` is the company's own row, which makes it visible; `reopens` drops that row again.
    `empties` is a table whose first rows are dropped.
    """

    company_id: str
    was: CopyMark | None
    then: CopyMark | None
    parts: Sequence[TablePart] = ()
    opens: Row | None = None
    reopens: bool = False
    empties: str | None = None


def copy_unit(step: CopyStep, unit: UnitOfWork) -> Steps[int]:
    """The unit of work of a step; returns the number of rows that it dropped from `empties`.

    Raises `OperatorError` unless the stored mark is `step.was`.
    """
    unit.identity_map.clear()
    copying, company_id = unit.statements.copying, step.company_id
    rows = yield copying.hold_mark.query(company_id)
    if rows != ([] if step.was is None else [msgspec.structs.astuple(step.was)]):
        raise _overtaken(step, rows)
    if step.reopens:
        yield copying.drop_company.query(company_id)
    elif step.was is None and (yield copying.origin.query(company_id)):
        raise OperatorError(f"the target has a company {company_id} already. Name another one.")
    for part in step.parts:
        yield from _change(company_id, part, copying.tables[part.table])
    dropped = 0
    if step.empties is not None:
        dropped = yield from _drop_some(step.empties, unit)
    if step.opens is not None:
        yield copying.add_company.query(company_id, *step.opens)
    if step.then is None:
        yield copying.drop_mark.query(company_id)
    elif step.was is None:
        yield copying.add_mark.query(company_id, *msgspec.structs.astuple(step.then))
    elif step.then != step.was:
        yield copying.move_mark.query(company_id, *msgspec.structs.astuple(step.then))
    return dropped


def _change(company_id: str, part: TablePart, whole: Whole) -> Steps[None]:
    if part.drops:
        yield whole.drop.many((company_id, *key) for key in part.drops)
    if part.rows and part.clears:
        for rivals in whole.rivals:
            yield rivals.drop.many(
                (company_id, *[row[place] for place in rivals.places]) for row in part.rows
            )
    if part.rows:
        yield whole.add.many((company_id, *row) for row in part.rows)


def _drop_some(table: str, unit: UnitOfWork) -> Steps[int]:
    """Drop the first rows of a company from a table; returns their number."""
    statements, company_id = unit.statements, unit.company_id
    leftovers = statements.copying.leftovers[table]
    if table != statements.tables.search_documents.name:
        keys = yield leftovers.first.query(company_id, DROPPED_ROWS)
    else:
        rows = yield leftovers.first.query(company_id, DROPPED_DOCUMENTS)
        documents = [(int(number), str(text)) for number, text in rows]
        if documents:
            yield from statements.index.documents.drop(documents)
        keys = [(number,) for number, _ in documents]
    if keys:
        yield leftovers.drop.many((company_id, *key) for key in keys)
    return len(keys)


def _overtaken(step: CopyStep, rows: Sequence[Row]) -> OperatorError:
    """The error that another command has moved the mark of a step."""
    deletes = not rows[0][0] if rows else step.was is not None and not step.was.incarnation
    if deletes:
        return OperatorError(f"another command deletes the company {step.company_id}. Let it end.")
    return OperatorError(
        f"another run continues this copy of the company {step.company_id}. Let it end."
    )
