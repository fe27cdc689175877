"""Forms as pages show them: the values of their fields, each with what is wrong with it."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from comptoir.auth.fields import Field
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.errors.table import BAD_REQUEST
from comptoir.features.console import errors as problems
from comptoir.features.console.backend import listed_companies
from comptoir.features.console.frame import TemplatePage
from comptoir.features.console.visit import FormData, Visit

T = TypeVar("T")


class Form:
    """The entries of a form, which is shown again until nothing is wrong."""

    def __init__(self, data: FormData) -> None:
        self.data = data
        self.errors: dict[str, str] = {}
        """The message of each field that is not valid."""

    def text(self, name: str) -> str:
        """The value of a field, without spaces around it."""
        return self.data.text(name).strip()

    def has(self, name: str, value: str) -> bool:
        """Whether a box with this value is ticked, or an option chosen."""
        return value in self.data.texts(name)

    def read(self, name: str, parse: Callable[[str], T]) -> T | None:
        """The parsed value of a field; None if it is not valid, which is shown."""
        try:
            return parse(self.text(name))
        except (OperatorError, Refusal) as error:
            self.refuse(name, error)
            return None

    def given(self, fields: Iterable[Field[object]]) -> dict[str, object]:
        """The entries as the options of a command have them; shows what is wrong with each."""
        entries: dict[str, object] = {}
        for each in fields:
            text = self.text(each.name)
            parts = map(str.strip, text.split(each.separator or None))
            entries[each.key] = list(filter(None, parts)) if each.separator else text
            try:
                if each.is_required:
                    needed(text)
                each.of(entries)
            except OperatorError as error:
                self.refuse(each.name, error)
        return entries

    async def accepts(self, name: str, change: Awaitable[None]) -> bool:
        """Whether a change was made; false if it is refused, which is shown."""
        try:
            await change
        except OperatorError as error:
            self.refuse(name, error)
        return name not in self.errors

    def refuse(self, name: str, error: OperatorError | Refusal | str) -> None:
        """Show an error beside a field."""
        message = error.message if isinstance(error, Refusal) else str(error)
        self.errors[name] = message[:1].upper() + message[1:]


def form_page(template: str, title: str, form: Form, **context: object) -> TemplatePage:
    """The page with a form, which is that of an error if something is wrong with an entry."""
    status = BAD_REQUEST.status if form.errors else 200
    return TemplatePage(template, title, {"form": form, **context}, status)


def needed(text: str) -> str:
    """A text; raises `OperatorError` if it is blank."""
    if not text:
        raise problems.MISSING()
    return text


ALL, SOME = "all", "some"
"""The options of the field that decides whether there is a restriction."""

_RESTRICTED = {"role": ("restricted", "roles"), "company": ("access", "companies")}


def chosen(form: Form, what: str, check: Callable[[Sequence[str]], T]) -> T | None:
    """The values of the ticked boxes, checked; None for all, and for an error, which is shown.

    `what` is a role or a company. It is an error if no box is ticked, which is not the same as all.
    """
    decision, boxes = _RESTRICTED[what]
    if form.has(decision, ALL):
        return None
    values = list(dict.fromkeys(form.data.texts(boxes)))
    if not values:
        form.refuse(boxes, problems.NOTHING_CHOSEN(what=what))
        return None
    return form.read(boxes, lambda _: check(values))


async def company_options(visit: Visit, others: Iterable[str] = ()) -> list[tuple[str, str]]:
    """The ids and names of the companies to choose, and `others` by their ids alone."""
    found = await listed_companies(visit.backend, visit.principal)
    listed = {each.id: each.name for each in found}
    return list((listed | {each: each for each in others if each not in listed}).items())
