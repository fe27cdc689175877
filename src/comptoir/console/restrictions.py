"""The fields of a form that restrict something to some roles, or to some companies."""

from collections.abc import Iterable

from comptoir.console import errors as problems
from comptoir.console.companies import listed_companies
from comptoir.console.form import Form
from comptoir.console.visit import Visit
from comptoir.edm.types import is_guid

ALL, SOME = "all", "some"
"""The options of the field that decides whether there is a restriction."""


def chosen(form: Form, decision: str, boxes: str, what: str) -> tuple[str, ...] | None:
    """The values of the ticked `boxes`, each once; None if the field `decision` is `ALL`.

    Raises `OperatorError` if no box is ticked, which is not the same as all.
    """
    if form.has(decision, ALL):
        return None
    values = tuple(dict.fromkeys(form.data.texts(boxes)))
    if not values:
        raise problems.NOTHING_CHOSEN(what=what)
    return values


def chosen_companies(form: Form) -> tuple[str, ...] | None:
    """The ids of the chosen companies, None for all; raises `OperatorError` for other values."""
    companies = chosen(form, "access", "companies", "company")
    if companies is not None and not all(map(is_guid, companies)):
        raise problems.INVALID_COMPANIES()
    return companies


async def company_options(visit: Visit, others: Iterable[str] = ()) -> list[tuple[str, str]]:
    """The ids and names of the companies to choose, and `others` by their ids alone."""
    found = await listed_companies(visit.backend, visit.principal)
    listed = {each.id: each.name for each in found}
    return list((listed | {each: each for each in others if each not in listed}).items())
