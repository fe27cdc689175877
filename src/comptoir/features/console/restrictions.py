"""The fields of a form that restrict something to some roles, or to some companies."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from comptoir.features.console import errors as problems
from comptoir.features.console.companies import listed_companies
from comptoir.features.console.form import Form
from comptoir.features.console.visit import Visit

ALL, SOME = "all", "some"
"""The options of the field that decides whether there is a restriction."""

_FIELDS = {"role": ("restricted", "roles"), "company": ("access", "companies")}

T = TypeVar("T")


def chosen(form: Form, what: str, check: Callable[[Sequence[str]], T]) -> T | None:
    """The values of the ticked boxes, checked; None for all, and for a fault, which is shown.

    `what` is a role or a company. It is a fault if no box is ticked, which is not the same as all.
    """
    decision, boxes = _FIELDS[what]
    if form.has(decision, ALL):
        return None
    values = list(dict.fromkeys(form.data.texts(boxes)))

    def checked(_: str) -> T:
        if not values:
            raise problems.NOTHING_CHOSEN(what=what)
        return check(values)

    return form.read(boxes, checked)


async def company_options(visit: Visit, others: Iterable[str] = ()) -> list[tuple[str, str]]:
    """The ids and names of the companies to choose, and `others` by their ids alone."""
    found = await listed_companies(visit.backend, visit.principal)
    listed = {each.id: each.name for each in found}
    return list((listed | {each: each for each in others if each not in listed}).items())
