"""The common parts of screens: their declaration, their answers, and the frame around these."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from comptoir.auth.origins import CONSOLE
from comptoir.auth.records import ConsoleRole
from comptoir.features.console.templates import Context, html_page, shared_part
from comptoir.features.console.visit import Visit

_OF_COMPANY = frozenset({"company", "skiptoken", "skip"})
"""The fields of an address that mean nothing for another company."""


class TemplatePage(NamedTuple):
    """A page by its template, which extends `frame.html`, and what the template shows."""

    template: str
    title: str
    context: Context
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})


class Redirect(NamedTuple):
    """Leads the browser to another page after a POST (303)."""

    location: str


Answer = TemplatePage | Redirect | Response
Handler = Callable[[Visit], Awaitable[Answer]]


class Endpoint(NamedTuple):
    """A method and a path below that of its screen, such as `/{id}`, and who may use it.

    `is_polled`: a page asks for it again and again.
    """

    method: str
    path: str
    handler: Handler
    role: ConsoleRole = ConsoleRole.VIEWER
    is_polled: bool = False


def act(
    path: str,
    change: Callable[..., Awaitable[None]],
    fields: Sequence[str],
    done: str,
    back: str,
    *kept: str,
) -> Endpoint:
    """An endpoint by which an admin changes something in the control tables.

    `change` is a method of `ControlStore`, which gets the `fields` of the form and the user. Then
    the browser is led back to a page, with what was `done` and the fields that are `kept`.
    """

    async def handle(visit: Visit) -> Answer:
        texts = [visit.form.text(each) for each in fields]
        await change(visit.backend.control, *texts, visit.actor)
        query = {each: visit.form.text(each) for each in kept}
        return Redirect(visit.url(f"{CONSOLE}{back}", **query, done=done))

    return Endpoint("POST", path, handle, ConsoleRole.ADMIN)


class Screen(msgspec.Struct, frozen=True, eq=False):
    """A part of the console: its title in the navigation, its path below `/console`, its endpoints.

    `position` orders the navigation. `is_of_service`: it shows what belongs to no
    company, so users who may access only some companies cannot open it. `has_companies`: its pages
    show one company, which the user chooses. `done` has the notices after a change, by the value in
    the address of a page.
    """

    title: str
    path: str
    endpoints: Sequence[Endpoint]
    position: int
    is_of_service: bool = False
    has_companies: bool = False
    done: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def address(self) -> str:
        """The path of its first page."""
        return f"{CONSOLE}{self.path}"


def respond(answer: Answer, visit: Visit, screens: Sequence[Screen], here: Screen) -> Response:
    """The response with a screen's answer, in the frame of all screens."""
    if isinstance(answer, Response):
        return answer
    if isinstance(answer, Redirect):
        return RedirectResponse(answer.location, 303)
    shown = [each for each in screens if visit.sees_service or not each.is_of_service]
    company_id = "" if visit.company is None else visit.company.id
    frame = {
        "title": answer.title,
        "visit": visit,
        "top": _top(visit, here),
        "navigation": shared_part(
            "navigation.html", screens=tuple(shown), here=here, company_id=company_id
        ),
        "is_admin": visit.may(ConsoleRole.ADMIN),
        "here": here,
        "done": here.done.get(visit.query.text("done"), ""),
        "notices": [line for each in visit.backend.features for line in each.notices()],
    }
    return html_page(answer.template, {**frame, **answer.context}, answer.status, answer.headers)


def _top(visit: Visit, here: Screen) -> Markup:
    """The head of a page, which all pages of a list share: another company has other pages."""
    fields = [each for each in visit.query.pairs if each[0] not in _OF_COMPANY]
    return shared_part(
        "top.html",
        companies=tuple(visit.companies) if here.has_companies else (),
        company=visit.company,
        fields=tuple(fields),
        action="" if visit.request.method == "GET" else here.address,
        host=visit.request.headers["host"],
        login=visit.login,
    )
