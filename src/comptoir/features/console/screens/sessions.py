"""Sessions: those of the user, and for an admin those of everybody, each with a way to end it."""

from starlette.responses import RedirectResponse

from comptoir.auth.records import ConsoleRole
from comptoir.features.console import errors
from comptoir.features.console.frame import Answer, Endpoint, Redirect, Screen, TemplatePage
from comptoir.features.console.guards import ORIGIN
from comptoir.features.console.login import LOGIN, cookie_name
from comptoir.features.console.logins import checked_subject
from comptoir.features.console.visit import Visit

MOST_SESSIONS = 200
"""The most sessions that the page lists."""


async def show(visit: Visit) -> Answer:
    """The sessions, the latest first."""
    backend = visit.backend
    found = await backend.logins.sessions(MOST_SESSIONS)
    shown = [
        each
        for each in found
        if not backend.terms.are_over(each, backend.now)
        and (visit.may(ConsoleRole.ADMIN) or each.login.subject == visit.login.subject)
    ]
    return TemplatePage("sessions.html", "Sessions", {"sessions": shown})


async def log_out(visit: Visit) -> Answer:
    """End this session."""
    await visit.backend.logins.end(visit.session, visit.actor)
    return _left(visit)


async def end_all(visit: Visit) -> Answer:
    """End all sessions of a subject, and its codes; only an admin may name another one."""
    subject = checked_subject(visit.form.text("subject"))
    is_own = subject == visit.login.subject
    if not is_own and not visit.may(ConsoleRole.ADMIN):
        raise errors.OTHER_SESSIONS()
    await visit.backend.logins.end_all(subject, visit.actor)
    return _left(visit) if is_own else Redirect(visit.url(SCREEN.address))


def _left(visit: Visit) -> RedirectResponse:
    response = RedirectResponse(LOGIN, 303)
    response.delete_cookie(cookie_name(visit.request.scope[ORIGIN]), path="/")
    return response


SCREEN = Screen(
    "Sessions",
    "/sessions",
    (
        Endpoint("GET", "", show),
        Endpoint("POST", "/log-out", log_out),
        Endpoint("POST", "/end", end_all),
    ),
    90,
)
