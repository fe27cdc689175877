"""A visit: one request of a logged-in user, with all that a screen needs to answer it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, quote_plus

from starlette.requests import Request

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.auth.records import ConsoleRole, Login
from comptoir.auth.roles import Principal
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import BODY_TOO_LARGE
from comptoir.features.console import errors
from comptoir.features.console.backend import Backend, CompanyChoice
from comptoir.features.console.logins import Session
from comptoir.features.console.templates import LARGEST_FORM
from comptoir.http.exchange import Exchange, read_body
from comptoir.request.headers import combined

MOST_FIELDS = 1_000
"""The most fields of a form."""

_FORM = "application/x-www-form-urlencoded"

PLAIN = re.compile("[0-9A-Za-z-]+")
"""Texts that are the same in a URL, as most are."""


class FormData:
    """The fields of a query or a form, in their order; a missing one is blank."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self.pairs = pairs

    def text(self, name: str) -> str:
        """The first value of a field."""
        return next((value for key, value in self.pairs if key == name), "")

    def texts(self, name: str) -> list[str]:
        """All values of a field."""
        return [value for key, value in self.pairs if key == name]

    def has(self, name: str) -> bool:
        """Whether there is such a field, which may be blank."""
        return any(key == name for key, _ in self.pairs)


def form_data(text: str) -> FormData:
    """The fields of a URL-encoded text; raises `Refusal` (400) for too many."""
    try:
        return FormData(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise errors.LONG_FORM(limit=MOST_FIELDS) from None


async def read_form(request: Request, limit: int = LARGEST_FORM) -> FormData:
    """The form that a request sends; raises `Refusal` (400, 413, 415)."""
    headers = combined(request.scope["headers"])
    sent = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    if sent != _FORM.encode():
        raise errors.NO_FORM(media=_FORM)
    try:
        body = await read_body(request.receive, headers, limit)
    except Refusal as refusal:
        if refusal.error is not BODY_TOO_LARGE:
            raise
        raise errors.LARGE_FORM(headers=refusal.headers, limit=limit) from None
    return form_data(body.decode("utf-8", "replace"))


def fields_text(pairs: Iterable[tuple[str, str]]) -> str:
    """The fields that are not blank as a query; their names need no encoding."""
    return "&".join(
        [
            f"{name}={text if PLAIN.fullmatch(text) else quote_plus(text)}"
            for name, text in pairs
            if text
        ]
    )


def extended(address: str, query: str) -> str:
    """An address with more of a query, which may be empty."""
    return f"{address}{'&' if '?' in address else '?'}{query}" if query else address


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a logged-in user.

    `query` are the fields of the URL, and `form` those of a POST. `companies` are those that the
    user may choose, none on a screen without companies, and `company` is the chosen one.
    """

    backend: Backend
    request: Request
    session: Session
    query: FormData
    form: FormData
    companies: Sequence[CompanyChoice]
    company: CompanyChoice | None

    @property
    def login(self) -> Login:
        """The user."""
        return self.session.login

    @property
    def exchange(self) -> Exchange:
        """The request in the log, with its id and the user's address."""
        exchange: Exchange = self.request.scope["exchange"]
        return exchange

    @property
    def actor(self) -> Actor:
        """The user in the audit log."""
        return Actor(self.login.by, self.exchange.client, self.exchange.id)

    @property
    def principal(self) -> Principal:
        """The user to the service."""
        return principal_of(self.login)

    @property
    def sees_service(self) -> bool:
        """Whether the user sees what belongs to no company: users of some companies do not."""
        return self.login.companies is None

    def may(self, role: ConsoleRole) -> bool:
        """Whether the user has at least this role; an admin administers all companies, or none."""
        is_limited = role is ConsoleRole.ADMIN and not self.sees_service
        return self.login.role.rank >= role.rank and not is_limited

    def act(self, name: ActName, target: str, detail: str = "") -> Act:
        """The act of the user, for the audit log."""
        return Act(self.actor, name, target, detail)

    def url(self, path: str, **query: str) -> str:
        """The address of a page, with the fields of a query that are not blank."""
        return extended(path, fields_text(query.items()))


@lru_cache
def principal_of(login: Login) -> Principal:
    """The principal of a user, whose changes are those of `console:NAME`."""
    return Principal(login.by, frozenset(login.role.scopes), login.companies)
