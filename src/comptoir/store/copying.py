"""The unit of work of a copy: rows as they are, with the mark that says how far it has come.

The rows were checked, derived and numbered where they come from, so they are written as they are,
into a company that nobody sees before it is complete.
"""

from collections.abc import Generator, Sequence

import msgspec

from comptoir.errors import KEY_EXISTS, OperatorError, Refusal
from comptoir.plan.read import Row
from comptoir.sql.copying import Whole
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.change import Steps
from comptoir.store.ledger import Ledger
from comptoir.store.snapshot import CopyMark


class TablePart(msgspec.Struct, frozen=True):
    """What a step does to a table: it drops rows by their keys, then adds rows.

    With `clears`, rows that have what is to be unique of a row to add are dropped before.
    """

    table: str
    drops: Sequence[Row] = ()
    rows: Sequence[Row] = ()
    clears: bool = False


class CopyStep(msgspec.Struct, frozen=True):
    """A step of a copy, from one mark to another; None stands for no mark.

    `opens` is the company's own row, with which it is complete and seen; `reopens` takes that row
    away again.
    """

    company_id: str
    was: CopyMark | None
    then: CopyMark | None
    parts: Sequence[TablePart] = ()
    opens: Row | None = None
    reopens: bool = False


def copy_unit(
    step: CopyStep, statements: Statements, ledger: Ledger
) -> Generator[Statement, list[Row], None]:
    """The unit of a step; raises `OperatorError` when the mark is not the one that it goes from."""
    ledger.known.clear()
    copying, company_id = statements.copying, step.company_id
    rows = yield copying.hold_mark.query(company_id)
    if rows != ([] if step.was is None else [msgspec.structs.astuple(step.was)]):
        raise OperatorError(
            f"another copy of the company {company_id} has gone on with this one. Let it end."
        )
    if step.reopens:
        yield copying.drop_company.query(company_id)
    elif step.was is None and (yield copying.origin.query(company_id)):
        raise OperatorError(f"there is a company {company_id} already where it is to be copied to.")
    for part in step.parts:
        yield from _change(company_id, part, copying.tables[part.table])
    if step.opens is not None:
        yield copying.add_company.query(company_id, *step.opens)
    if step.then is None:
        yield copying.drop_mark.query(company_id)
    elif step.was is None:
        yield copying.add_mark.query(company_id, *msgspec.structs.astuple(step.then))
    elif step.then != step.was:
        yield copying.move_mark.query(company_id, *msgspec.structs.astuple(step.then))


def no_copy(company_id: str, statements: Statements) -> Steps:
    """Raise `Refusal` (409) when a company is being copied to here, and so its id is taken."""
    rows = yield statements.copying.hold_mark.query(company_id)
    if rows:
        raise Refusal(
            KEY_EXISTS,
            f"A copy of the company {company_id} is under way, or was interrupted. Choose another "
            "id, or finish the copy.",
            target="id",
        )


def _change(company_id: str, part: TablePart, whole: Whole) -> Steps:
    if part.drops:
        yield whole.drop.many((company_id, *key) for key in part.drops)
    if part.rows and part.clears:
        for rivals in whole.rivals:
            yield rivals.drop.many(
                (company_id, *[row[place] for place in rivals.places]) for row in part.rows
            )
    if part.rows:
        yield whole.add.many((company_id, *row) for row in part.rows)
