"""The console as an application: its routes, and how a request becomes a visit."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from pkgutil import resolve_name  # noqa: TID251 - only screens that are on

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from comptoir.auth.origins import CONSOLE
from comptoir.auth.records import ConsoleRole
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.features.console import errors
from comptoir.features.console.backend import Backend, CompanyChoice, company_choices
from comptoir.features.console.figures import Figures
from comptoir.features.console.frame import Answer, Endpoint, Screen, TemplatePage, respond
from comptoir.features.console.guards import ORIGIN, UNLOGGED, Guards
from comptoir.features.console.login import (
    ISSUER,
    LOGIN,
    IssuerLogin,
    LoginPage,
    cookie_name,
    found_session,
    set_cookie,
)
from comptoir.features.console.logins import Session
from comptoir.features.console.screens import (
    audit,
    changes,
    clients,
    issuers,
    overview,
    records,
    roles,
    sessions,
)
from comptoir.features.console.visit import FormData, Visit, form_data, principal_of, read_form
from comptoir.http.exchange import Exchange
from comptoir.http.feature import Kernel

COMPANY_SECONDS = 365 * 24 * 3600
"""The time that a browser remembers the company that it had last."""

SCREENS = (
    overview.SCREEN, records.SCREEN, changes.SCREEN, clients.SCREEN, roles.SCREEN, issuers.SCREEN,
    audit.SCREEN, sessions.SCREEN,
)  # fmt: skip
"""The screens that every console has."""

_STATIC = Path(__file__).with_name("static")
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def console(kernel: Kernel, figures: Figures) -> ASGIApp:
    """The application at `/console`."""
    backend = Backend(kernel, figures)
    others: list[Screen] = [resolve_name(each.screen) for each in backend.features if each.screen]
    screens = sorted([*SCREENS, *others], key=lambda each: each.position)
    login, outside = LoginPage(backend), IssuerLogin(backend)
    routes = [
        *[
            _route(backend, screens, screen, each)
            for screen in screens
            for each in screen.endpoints
        ],
        Route(LOGIN, login.show, methods=["GET"]),
        Route(LOGIN, login.enter, methods=["POST"]),
        Route(ISSUER, outside.leave, methods=["GET"]),
        Route(f"{ISSUER}/back", outside.come_back, methods=["GET"]),
        *_static_routes(),
    ]
    # a redirect would contain the Host header
    router = Router(routes, redirect_slashes=False)
    return Guards(router, backend.settings, kernel.journal)


def _route(
    backend: Backend, screens: Sequence[Screen], screen: Screen, endpoint: Endpoint
) -> Route:
    """The route of an endpoint of a screen, which needs a session and a role."""

    async def handle(request: Request) -> Response:
        if endpoint.is_polled:
            request.scope[UNLOGGED] = True
        secret = request.cookies.get(cookie_name(request.scope[ORIGIN]), "")
        if not secret:
            return RedirectResponse(LOGIN, 303)
        # a form may arrive slowly, and its session may end meanwhile
        form = await read_form(request) if request.method == "POST" else FormData(())
        session = await found_session(backend, secret)
        if session is None:
            return RedirectResponse(LOGIN, 303)
        visit = await _visit(backend, request, session, form, screen)
        response = respond(await _answer(visit, screen, endpoint), visit, screens, screen)
        _remember_company(response, visit)
        return response

    return Route(f"{screen.address}{endpoint.path}", handle, methods=[endpoint.method])


async def _visit(
    backend: Backend, request: Request, session: Session, form: FormData, screen: Screen
) -> Visit:
    exchange: Exchange = request.scope["exchange"]
    exchange.subject = session.login.by
    query = form_data(request.scope["query_string"].decode("latin-1"))
    companies: Sequence[CompanyChoice] = ()
    company = None
    if screen.has_companies or query.has("company"):
        wanted = query.text("company") if query.has("company") else None
        last = request.cookies.get(cookie_name(request.scope[ORIGIN], "company"), "")
        principal = principal_of(session.login)
        companies, company = await company_choices(backend, principal, wanted, last)
    return Visit(backend, request, session, query, form, companies, company)


async def _answer(visit: Visit, screen: Screen, endpoint: Endpoint) -> Answer:
    """The answer of an endpoint, or the page that says why it has none."""
    try:
        _check(visit, screen, endpoint)
        if visit.query.has("company") and visit.company is None:
            return TemplatePage("no_company.html", "Unknown company", {}, 404)
        return await endpoint.handler(visit)
    except Refusal as error:
        refusal = error
    except OperatorError as error:
        refusal = errors.NOT_POSSIBLE(problem=error.problem, remedy=error.remedy)
    except TimeoutError:
        refusal = errors.NO_ANSWER()
    context, status = {"problem": refusal}, refusal.error.status
    return TemplatePage("problem.html", "Not possible", context, status, refusal.headers)


def _remember_company(response: Response, visit: Visit) -> None:
    """Have the browser send the chosen company, which a page without one then shows."""
    origin: str = visit.request.scope[ORIGIN]
    last = visit.request.cookies.get(cookie_name(origin, "company"))
    if visit.company is not None and last != visit.company.id:
        set_cookie(response, origin, "company", visit.company.id, "strict", COMPANY_SECONDS)


def _check(visit: Visit, screen: Screen, endpoint: Endpoint) -> None:
    """Raise `Refusal` (403) for a user who lacks the role, or access to all companies."""
    concerns_all = screen.is_of_service or endpoint.role is ConsoleRole.ADMIN
    if concerns_all and not visit.sees_service:
        raise errors.CONCERNS_ALL(subject=visit.login.subject)
    login, needed = visit.login, endpoint.role
    if not visit.may(needed):
        raise errors.OTHER_ROLE(needed=needed, subject=login.subject, role=login.role)


def _static_routes() -> Iterator[Route]:
    """The files of the console, which are read once."""
    for path in sorted(_STATIC.iterdir()):
        if path.suffix in _MEDIA_TYPES:
            yield Route(f"{CONSOLE}/static/{path.name}", _file(path), methods=["GET"])


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    content, media_type = path.read_bytes(), _MEDIA_TYPES[path.suffix]

    async def response(request: Request) -> Response:
        request.scope[UNLOGGED] = True
        return Response(content, media_type=media_type)

    return response
