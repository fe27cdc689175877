"""Logins of people: their roles, the codes of links, and sessions.

Codes and the secrets of sessions have 128 random bits, and only their digests are stored.
"""

import hashlib
import secrets
from enum import StrEnum

from msgspec import Struct

from comptoir.auth.audit import Actor
from comptoir.auth.tokens import Scope
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import quoted

CODE_SECONDS = 600
"""Seconds for which a code is valid."""

NOTED_SECONDS = 60
"""Seconds of use of a session after which it is noted again."""

_LONGEST_SUBJECT = 64
_RANDOM_BYTES = 16


class ConsoleRole(StrEnum):
    """The roles of people; each role includes those before it."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"

    @property
    def scopes(self) -> frozenset[Scope]:
        """The scopes with which a person reads and writes records."""
        return frozenset(_SCOPES[: self.rank + 1])

    @property
    def rank(self) -> int:
        """The position among the roles, from 0."""
        return list(ConsoleRole).index(self)


_SCOPES = (Scope.RECORDS_READ, Scope.RECORDS_WRITE, Scope.ADMIN)


class Login(Struct, frozen=True):
    """A person who may log in, with a role and its companies; None for all."""

    subject: str
    role: ConsoleRole
    companies: frozenset[str] | None

    @property
    def by(self) -> str:
        """The subject in the change log and in the audit log."""
        return f"console:{self.subject}"

    @property
    def listed(self) -> str:
        """Role and companies in one line."""
        companies = "all" if self.companies is None else ",".join(sorted(self.companies))
        return f"{self.role} companies={companies}"


class Session(Struct, frozen=True):
    """A login from its begin to its end, by the digest of its secret; times in epoch seconds."""

    digest: str
    login: Login
    created_at: int
    seen_at: int
    expires_at: int


class SessionPolicy(Struct, frozen=True):
    """The duration of sessions, in seconds."""

    idle_seconds: int
    session_seconds: int

    def are_over(self, session: Session, now: int) -> bool:
        """Whether a session has ended by time."""
        return session.expires_at <= now or session.seen_at <= now - self.idle_seconds


class NewSession(Struct, frozen=True):
    """A session that begins at a time, with a secret, if a login succeeds.

    `former` is the digest of the session that the browser has until then, blank without one. It
    ends, so that a secret from before a login is worth nothing after it.
    """

    secret: str
    former: str
    terms: SessionPolicy
    now: int
    actor: Actor


def new_secret() -> str:
    """A code, or the secret of a session."""
    return secrets.token_urlsafe(_RANDOM_BYTES)


def digest_of(secret: str) -> str:
    """The digest that is stored of a code, or of the secret of a session."""
    return hashlib.sha256(secret.encode()).hexdigest()


def former_digest(cookie: str) -> str:
    """The digest of the session of a cookie, blank without a cookie."""
    return digest_of(cookie) if cookie else ""


def checked_subject(subject: str) -> str:
    """A subject; raises `OperatorError` unless it is short, printable and not blank."""
    if not subject.strip() or not subject.isprintable() or len(subject) > _LONGEST_SUBJECT:
        raise problems.INVALID_SUBJECT(text=quoted(subject), most=_LONGEST_SUBJECT)
    return subject
