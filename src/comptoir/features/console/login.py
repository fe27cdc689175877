"""Login by a code, which the link of `comptoir console` has in its fragment, and sessions."""

import asyncio
from contextlib import suppress
from functools import cache
from typing import Literal
from urllib.parse import urlsplit

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from comptoir.auth.audit import Actor
from comptoir.auth.failures import Guesses
from comptoir.auth.origins import CONSOLE
from comptoir.errors.refusal import Refusal
from comptoir.features.console import errors
from comptoir.features.console.backend import QUICK_SECONDS, Backend
from comptoir.features.console.guards import ORIGIN
from comptoir.features.console.logins import (
    NOTED_SECONDS,
    NewSession,
    Session,
    former_digest,
    new_secret,
)
from comptoir.features.console.templates import html_page
from comptoir.features.console.visit import read_form
from comptoir.http.exchange import Exchange

LOGIN = f"{CONSOLE}/login"

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
        former = former_digest(request.cookies.get(cookie_name(origin), ""))
        # one after another: many at the same time would fill the queue of writes
        async with self._lock:
            check_guesses(self._guesses, GUESSED, exchange)
            new = new_session(backend, exchange, former)
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
