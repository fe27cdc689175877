"""Whether a database is older than what this service last wrote to it."""

from collections.abc import Mapping

from comptoir.edm.model import Company
from comptoir.errors import OperatorError
from comptoir.store.store import Store
from comptoir.store.watermarks import Watermark


async def check_not_older(store: Store, marks: Mapping[Company, Watermark]) -> None:
    """Raise `OperatorError` when the change log lacks a change that was acknowledged.

    Companies with other incarnations than the watermarks have gone ways of their own. Raises
    `Refusal` (503) when the database cannot tell.
    """
    lacking = [company for company, mark in marks.items() if await _lacks(store, company, mark)]
    if not lacking:
        return
    first = lacking[0]
    others = f", and changes of {len(lacking) - 1} more" if len(lacking) > 1 else ""
    raise OperatorError(
        "the database is older than what this service last wrote to it: it lacks change "
        f"{marks[first].number} of the company {first.id}{others}. Run `comptoir company renew "
        "--all`, then start again."
    )


async def _lacks(store: Store, company: Company, mark: Watermark) -> bool:
    last = await store.last_change(company)
    if last is None:
        return False
    if last.number <= mark.number:
        return last != mark
    # as much as was lost may have been written again
    found = await store.changes(company, mark.number - 1, 1)
    return [each.at for each in found] != [mark.at]
