"""Login by a code in the fragment of a link, or through an outside issuer; and sessions."""

import asyncio
import hmac
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Literal
from urllib.parse import urlsplit

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from comptoir.auth.audit import Actor
from comptoir.auth.failures import Guesses
from comptoir.auth.issuers import NoRoleError
from comptoir.auth.origins import CONSOLE
from comptoir.auth.records import Login
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.features.console import errors
from comptoir.features.console.backend import QUICK_SECONDS, Backend
from comptoir.features.console.code_flow import LONGEST_CODE, PendingLogin
from comptoir.features.console.guards import ORIGIN
from comptoir.features.console.logins import (
    CODE_SECONDS,
    NOTED_SECONDS,
    NewSession,
    Session,
    checked_subject,
    former_digest,
    new_secret,
)
from comptoir.features.console.templates import html_page
from comptoir.features.console.visit import FormData, form_data, read_form
from comptoir.http.exchange import Exchange
from comptoir.outgoing import OutgoingError

LOGIN = f"{CONSOLE}/login"

ISSUER = f"{LOGIN}/{{issuer}}"
"""The address that sends a user to an issuer."""

MOST_RUNNING = 8
"""The most logins that wait for one issuer at once."""

_OWN_SITES = (None, "same-origin", "none")

GUESSED = "console"
"""The name of the console's user, where failed authentications are counted."""

Purpose = Literal["session", "login", "company"]
"""What a cookie has: a secret, a login through an issuer that has begun, or the last company."""

_LARGEST_FORM = 1_000
"""The most bytes of a form with a code."""


@cache
def cookie_name(origin: str, purpose: Purpose = "session") -> str:
    """The name of a cookie of the console.

    Browsers accept the prefix `__Host-` only from the host itself, by TLS. Some refuse secure
    cookies on loopback addresses without TLS, which have another name. All services of a host share
    cookies, so the name has the port that the address shows.
    """
    parts = urlsplit(origin)
    name = "__Host-comptoir" if parts.scheme == "https" else "comptoir_console"
    name = name if parts.port is None else f"{name}_{parts.port}"
    return name if purpose == "session" else f"{name}_{purpose}"


class LoginPage:
    """Shows the form for a code, and begins a session with the right one."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._lock = asyncio.Lock()
        self._guesses = Guesses()

    async def show(self, _: Request) -> Response:
        """The form; its script sends the code of the link."""
        return login_form(self._backend)

    async def enter(self, request: Request) -> Response:
        """Begin a session; raises `Refusal` (429) after too many wrong codes."""
        exchange: Exchange = request.scope["exchange"]
        code = (await read_form(request, _LARGEST_FORM)).text("code").strip()
        origin: str = request.scope[ORIGIN]
        backend = self._backend
        # one after another: many at the same time would fill the queue of writes
        async with self._lock:
            check_guesses(self._guesses, GUESSED, exchange)
            new = new_session(backend, exchange, _former(request))
            session = await backend.logins.begin(code, new)
            if session is None:
                self._guesses.note(GUESSED, exchange.client)
        if session is None:
            refusal = errors.WRONG_CODE()
            backend.failures.note(GUESSED, exchange.client, refusal.problem, exchange.id)
            return login_form(backend, refusal)
        exchange.subject = session.login.by
        response = RedirectResponse(CONSOLE, 303)
        set_cookie(response, origin, "session", new.secret, "strict")
        if cookie_name(origin, "login") in request.cookies:
            # a login that began before this session would not end it
            set_cookie(response, origin, "login", "", "lax", 0)
        return response


def check_guesses(guesses: Guesses, name: str, exchange: Exchange) -> None:
    """Raise `Refusal` (429) after too many failed logins from the address of a request."""
    wait = guesses.wait(name, exchange.client)
    if wait:
        raise errors.LOGINS_FAILED(seconds=wait)


def new_session(backend: Backend, exchange: Exchange, former: str) -> NewSession:
    """A session that a request may begin, in place of the one with the digest `former`."""
    actor = Actor("", exchange.client, exchange.id)
    return NewSession(new_secret(), former, backend.terms, backend.now, actor)


def set_cookie(
    response: Response,
    origin: str,
    purpose: Purpose,
    value: str,
    sent: Literal["strict", "lax"],
    seconds: int | None = None,
) -> None:
    """Set a cookie that scripts cannot read, until the browser ends or for some seconds.

    A strict one is `sent` only with what the console's own pages ask for.
    """
    response.set_cookie(
        cookie_name(origin, purpose),
        value,
        max_age=seconds,
        path="/",
        secure=origin.startswith("https:"),
        httponly=True,
        samesite=sent,
    )


def login_form(backend: Backend, refusal: Refusal | None = None) -> Response:
    """The page with all ways to log in, after one that was refused if there was one."""
    context = {
        "title": "Log in",
        "problem": "" if refusal is None else refusal.message,
        "issuers": [(name, f"{LOGIN}/{name}") for name in backend.code_flow.choices],
    }
    status, headers = (200, None) if refusal is None else (refusal.error.status, refusal.headers)
    return html_page("login.html", context, status, headers)


async def found_session(backend: Backend, secret: str) -> Session | None:
    """The session with a secret, whose use is noted; None if there is none, or if it has ended.

    Raises `Refusal` (503) without a database, which alone knows which sessions have ended.
    """
    logins, now = backend.logins, backend.now
    try:
        async with asyncio.timeout(QUICK_SECONDS):
            session = await logins.session(secret)
    except (Refusal, TimeoutError) as error:
        raise errors.NO_ANSWER() from error
    if session is None or backend.terms.are_over(session, now):
        return None
    if now - session.seen_at < NOTED_SECONDS:
        return session
    session = replace(session, seen_at=now)
    # the next request notes it if the database is busy
    with suppress(Refusal):
        await logins.note_seen(session, now)
    return session


class IssuerLogin:
    """Sends users to issuers, and begins a session for those who come back with a role."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._guesses = Guesses()
        self._running: Counter[str] = Counter()

    async def leave(self, request: Request) -> Response:
        """Send the user to an issuer.

        A link leads here, because browsers apply `form-action` to the redirect after a form too.
        Only the console's own page may begin a login.
        """
        if request.headers.get("sec-fetch-site") not in _OWN_SITES:
            return RedirectResponse(LOGIN, 303)
        pending = await self._begun(request)
        try:
            with self._waiting(pending.issuer.name):
                address = await self._backend.code_flow.address(pending)
        except Refusal as refusal:
            return self._failed(pending, refusal, request)
        response = RedirectResponse(address, 303)
        # the way back is a navigation from another site, for which a strict cookie is not sent
        set_cookie(response, request.scope[ORIGIN], "login", pending.text, "lax", CODE_SECONDS)
        return response

    async def come_back(self, request: Request) -> Response:
        """Begin a session for a user who returns with a code.

        Raises `Refusal` (429) after too many failures, and 503 without a database, which do not end
        the login.
        """
        exchange: Exchange = request.scope["exchange"]
        # the query contains a credential, which the log must not have
        exchange.query_string = b""
        query = form_data(request.url.query)
        origin: str = request.scope[ORIGIN]
        pending = await self._begun(request)
        name = pending.issuer.name
        try:
            cookie = request.cookies.get(cookie_name(origin, "login"), "")
            pending = _resumed(pending, cookie, self._backend.now, query.text("state"))
        except Refusal as refusal:
            # any site can send an answer that this browser has not asked for, and another login may
            # be under way in it: that goes on, and nobody waits
            return self._failed(pending, refusal, request)
        check_guesses(self._guesses, name, exchange)
        new = new_session(self._backend, exchange, pending.former)
        session: Session | None = None
        try:
            login = await self._login(pending, query)
        except Refusal as refusal:
            # 503: nobody has checked the code, or the ID token
            if refusal.error.status != 503:
                self._guesses.note(name, exchange.client)
            response = self._failed(pending, refusal, request)
        else:
            logins = self._backend.logins
            session = await logins.begin_once(pending.text, pending.issuer, login, new)
            if session is None:
                response = self._failed(pending, errors.FINISHED_LOGIN(), request)
        if session is not None:
            exchange.subject = session.login.by
            # a redirect would still be a navigation from the issuer, without the strict cookie
            response = html_page("login_done.html", {"title": "Logged in"})
            set_cookie(response, origin, "session", new.secret, "strict")
        # it is over, whatever has become of it
        set_cookie(response, origin, "login", "", "lax", 0)
        return response

    async def _begun(self, request: Request) -> PendingLogin:
        origin: str = request.scope[ORIGIN]
        name, former = request.path_params["issuer"], _former(request)
        return await self._backend.code_flow.begun(name, origin, self._backend.now, former)

    async def _login(self, pending: PendingLogin, query: FormData) -> Login:
        """The user whom the issuer names in exchange for the code; raises `Refusal`."""
        code, issuer = query.text("code"), pending.issuer.name
        if query.text("error") == "access_denied":
            raise errors.CANCELLED(issuer=issuer)
        if query.has("error") or not 0 < len(code) <= LONGEST_CODE:
            raise errors.NO_CODE(issuer=issuer)
        with self._waiting(issuer):
            login = await self._backend.code_flow.user(pending, code, query.text("iss"))
        try:
            checked_subject(login.subject)
        except OperatorError as error:
            raise errors.LONG_NAME() from error
        return login

    @contextmanager
    def _waiting(self, name: str) -> Iterator[None]:
        """Wait for an issuer; raises `Refusal` if too many do, or for what the issuer did."""
        if self._running[name] >= MOST_RUNNING:
            raise errors.MANY_LOGINS(count=MOST_RUNNING, issuer=name)
        self._running[name] += 1
        try:
            yield
        except OutgoingError as error:
            raise errors.LOGIN_FAILED(issuer=name) from error
        except NoRoleError as error:
            raise errors.NO_ROLE(issuer=name) from error
        except Refusal as refusal:
            # the challenge of a 401 is for programs
            is_refused = refusal.error.status == 401
            raise errors.INVALID_ID_TOKEN(
                error=None if is_refused else refusal.error,
                headers=None if is_refused else refusal.headers,
                issuer=name,
            ) from refusal
        finally:
            self._running[name] -= 1

    def _failed(self, pending: PendingLogin, refusal: Refusal, request: Request) -> Response:
        """Note a login that failed for the audit log, and show the ways to log in."""
        exchange: Exchange = request.scope["exchange"]
        reason, target = _reason(refusal), f"{GUESSED} {pending.issuer.name}"
        self._backend.failures.note(target, exchange.client, reason, exchange.id)
        return login_form(self._backend, refusal)


def _resumed(begun: PendingLogin, cookie: str, now: int, state: str) -> PendingLogin:
    """The login of a cookie to which an answer belongs; raises `Refusal` (403) without one."""
    pending = begun.resumed(cookie, now)
    if pending is None:
        raise errors.NOT_BEGUN(issuer=begun.issuer.name, minutes=CODE_SECONDS // 60)
    if not hmac.compare_digest(state.encode(), pending.derived("state").encode()):
        raise errors.OTHER_LOGIN()
    return pending


def _former(request: Request) -> str:
    """The digest of the session that a browser has, blank without one."""
    return former_digest(request.cookies.get(cookie_name(request.scope[ORIGIN]), ""))


def _reason(refusal: Refusal) -> str:
    """Why a login failed: for the operator, with what the page does not tell a stranger."""
    cause = refusal.__cause__
    if isinstance(cause, Refusal):
        return cause.problem.replace("bearer token", "ID token")
    return str(cause) if isinstance(cause, OutgoingError | NoRoleError) else refusal.problem
