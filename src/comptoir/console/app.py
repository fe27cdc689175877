"""The console as an application: its routes, and how a request becomes a visit."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from comptoir.auth.logins import ConsoleRole, form_token
from comptoir.config import CONSOLE
from comptoir.console.backend import Backend
from comptoir.console.companies import company_choices
from comptoir.console.frame import Answer, Endpoint, Page, Screen, respond
from comptoir.console.guards import ORIGIN, UNLOGGED, Guards
from comptoir.console.issuer_login import ISSUER, IssuerLogin
from comptoir.console.login import (
    LOGIN,
    LoginPage,
    company_cookie_name,
    cookie_name,
    set_cookie,
)
from comptoir.console.problem import Problem, problem_page, unanswered
from comptoir.console.resubmission import TOKEN, resubmission, shortening
from comptoir.console.screens import (
    audit,
    clients,
    faults,
    issuers,
    overview,
    records,
    requests,
    roles,
    sessions,
)
from comptoir.console.sessions import FoundSession, Sessions
from comptoir.console.templates import LARGEST_FORM, LARGEST_KEPT
from comptoir.console.visit import (
    FormData,
    Visit,
    form_data,
    is_too_large,
    principal_of,
    read_form,
)
from comptoir.errors import OperatorError, Refusal
from comptoir.http.exchange import Exchange
from comptoir.http.log import RequestLog

MOST_RUNNING = 8
"""The most requests of users that run at once; one whose answer is being sent does not count."""

COMPANY_SECONDS = 365 * 24 * 3600
"""How long a browser remembers the company that it had last."""

SCREENS = (
    overview.SCREEN,
    requests.SCREEN,
    records.SCREEN,
    clients.SCREEN,
    roles.SCREEN,
    issuers.SCREEN,
    audit.SCREEN,
    faults.SCREEN,
    sessions.SCREEN,
)
"""The screens, in the order of the navigation."""

_STATIC = Path(__file__).with_name("static")
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def console(backend: Backend, log: RequestLog) -> ASGIApp:
    """The application at `/console`."""
    known = Sessions(backend.control, backend.terms)
    entrance = Entrance(backend, known)
    login, outside = LoginPage(backend, known), IssuerLogin(backend, known)
    routes = [
        Route(LOGIN, login.show, methods=["GET"]),
        Route(LOGIN, login.enter, methods=["POST"]),
        Route(ISSUER, outside.leave, methods=["GET"]),
        Route(f"{ISSUER}/back", outside.come_back, methods=["GET"]),
        *_static_routes(),
        *[
            entrance.route(screen, endpoint)
            for screen in entrance.screens
            for endpoint in screen.endpoints
        ],
    ]
    application = Starlette(
        routes=routes,
        exception_handlers={HTTPException: _not_found, Refusal: _failed, Problem: _failed},
    )
    # a redirect would contain the Host header
    application.router.redirect_slashes = False
    return Guards(application, backend.settings, log)


class Entrance:
    """Leads requests to screens: each needs a session, a role, and for a form its token."""

    def __init__(self, backend: Backend, known: Sessions) -> None:
        self._backend = backend
        self._sessions = known
        self._running = 0
        self._keeping = asyncio.Lock()
        self._refusal = problem_page(_busy())
        self.screens = [each for each in SCREENS if each.exists(backend)]

    def route(self, screen: Screen, endpoint: Endpoint) -> Route:
        """The route of an endpoint of a screen."""

        async def handle(request: Request) -> Response:
            if endpoint.is_polled:
                request.scope[UNLOGGED] = True
            secret = request.cookies.get(cookie_name(request.scope[ORIGIN]), "")
            if not secret:
                return RedirectResponse(LOGIN, 303)
            if request.method == "POST" and is_too_large(request):
                return await self._kept(request, secret)
            # a form that arrives slowly must not keep others out
            form = await read_form(request) if request.method == "POST" else FormData(())
            if self._running >= MOST_RUNNING:
                return resubmission(request, form, _busy(), form_token(secret)) or self._refusal
            self._running += 1
            try:
                await self._turn()
                try:
                    found = await self._sessions.find(secret)
                except Problem as problem:
                    again = resubmission(request, form, problem, form_token(secret))
                    return again or problem_page(problem)
                if found is None:
                    return resubmission(request, form, _ended()) or RedirectResponse(LOGIN, 303)
                visit = await self._visit(request, secret, found, form)
                answer = await _answer(visit, screen, endpoint)
                response = respond(answer, visit, self.screens, screen)
                _remember_company(response, visit)
                return response
            finally:
                self._running -= 1

        return Route(f"{screen.address}{endpoint.path}", handle, methods=[endpoint.method])

    async def _kept(self, request: Request, secret: str) -> Response:
        """The page that shows a form again that is too large.

        One at a time is kept, and only from users, so that they take little memory.
        """
        async with self._keeping:
            found = await self._sessions.find(secret)
            form = await read_form(request, LARGEST_FORM if found is None else LARGEST_KEPT)
            return shortening(request, form, form_token(secret))

    async def _turn(self) -> None:
        """Wait while requests that came at the same time are counted, and others are answered.

        A page takes milliseconds without a pause, so no two of them run one after the other.
        """
        for _ in range(self._running):
            await asyncio.sleep(0)

    async def _visit(
        self, request: Request, secret: str, found: FoundSession, form: FormData
    ) -> Visit:
        session = found.session
        exchange: Exchange = request.scope["exchange"]
        exchange.subject = session.login.by
        query = form_data(request.url.query)
        principal = principal_of(session.login)
        companies, company = None, None
        if not found.is_remembered:
            wanted = query.text("company") if query.has("company") else None
            last = request.cookies.get(company_cookie_name(request.scope[ORIGIN]), "")
            companies, company = await company_choices(self._backend, principal, wanted, last)
        return Visit(
            backend=self._backend,
            request=request,
            session=session,
            sessions=self._sessions,
            form_token=form_token(secret),
            query=query,
            form=form,
            companies=companies or (),
            company=company,
            is_cut_off=companies is None,
        )


async def _answer(visit: Visit, screen: Screen, endpoint: Endpoint) -> Answer:
    """What an endpoint answers, or the page that says why it does not."""
    try:
        if endpoint.method == "POST" and not _has_token(visit):
            problem = _without_token()
            page = resubmission(visit.request, visit.form, problem, visit.form_token)
            return page or _page_of(problem)
        _check(visit, screen, endpoint)
        if visit.lacks_company:
            return Page("no_company.html", "Unknown company", {}, 404)
        return await endpoint.handler(visit)
    except Problem as problem:
        return _page_of(problem)
    except Refusal as refusal:
        return _refused(visit, refusal)
    except OperatorError as fault:
        return _page_of(Problem(409, fault.problem, fault.remedy))
    except TimeoutError:
        return _page_of(unanswered())


def _remember_company(response: Response, visit: Visit) -> None:
    """Have the browser send the chosen company, which a page without one then shows."""
    origin: str = visit.request.scope[ORIGIN]
    name = company_cookie_name(origin)
    if visit.company is not None and visit.request.cookies.get(name) != visit.company.id:
        set_cookie(response, origin, name, visit.company.id, "strict", COMPANY_SECONDS)


def _ended() -> Problem:
    remedy = "Open a link of `comptoir console` in another tab, then send this form again."
    return Problem(403, "Your session has ended", remedy)


def _busy() -> Problem:
    return Problem(
        503,
        f"The console answers {MOST_RUNNING} other requests",
        "Send this one again.",
        {"Retry-After": "1"},
    )


def _without_token() -> Problem:
    return Problem(403, "The form does not have the token of this session", "Send it again.")


def _has_token(visit: Visit) -> bool:
    """Whether a form has the token of its session."""
    return hmac.compare_digest(visit.form.text(TOKEN).encode(), visit.form_token.encode())


def _check(visit: Visit, screen: Screen, endpoint: Endpoint) -> None:
    """Raise `Problem` (403) for a user who lacks the role, or access to all companies."""
    concerns_all = screen.is_of_service or endpoint.role is ConsoleRole.ADMIN
    if concerns_all and not visit.sees_service:
        raise Problem(
            403,
            f"This concerns all companies, and {visit.login.subject} has some of them",
            "Log in with a link of `comptoir console` without --company.",
        )
    login, needed = visit.login, endpoint.role
    if not visit.may(needed):
        raise Problem(
            403,
            f"This needs the role {needed}, and {login.subject} has {login.role}",
            f"Log in with a link of `comptoir console --role {needed}`.",
        )


def _refused(visit: Visit, refusal: Refusal) -> Answer:
    """The page with a refusal, which keeps a form that the service may accept later."""
    problem = Problem.of(refusal)
    if "Retry-After" not in refusal.headers:
        return _page_of(problem)
    return resubmission(visit.request, visit.form, problem, visit.form_token) or _page_of(problem)


def _page_of(problem: Problem) -> Page:
    context = {"problem": problem}
    return Page("problem.html", "Not possible", context, problem.status, problem.headers)


async def _not_found(_: Request, fault: Exception) -> Response:
    if isinstance(fault, HTTPException) and fault.status_code == 405:
        problem = "This page has no such form"
        return problem_page(Problem(405, problem, f"Begin at {CONSOLE}.", fault.headers))
    return problem_page(
        Problem(404, "The console has no page at this address", f"Begin at {CONSOLE}.")
    )


async def _failed(_: Request, fault: Exception) -> Response:
    if isinstance(fault, Refusal):
        fault = Problem.of(fault)
    if not isinstance(fault, Problem):
        raise fault
    return problem_page(fault)


def _static_routes() -> list[Route]:
    """The files of the console, which are read once."""
    return [
        Route(f"{CONSOLE}/static/{path.name}", _file(path), methods=["GET"])
        for path in sorted(_STATIC.iterdir())
        if path.suffix in _MEDIA_TYPES
    ]


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    content, media_type = path.read_bytes(), _MEDIA_TYPES[path.suffix]

    async def response(request: Request) -> Response:
        request.scope[UNLOGGED] = True
        return Response(content, media_type=media_type)

    return response
