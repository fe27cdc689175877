"""The logins to the console: the codes of links and sessions, in the control tables.

Codes and the secrets of sessions have 128 random bits, and only their digests are stored.

No method raises the version of these tables: a process reads a session with each request.
"""

import hashlib
import secrets
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from sqlalchemy import BindParameter, Select, Table, delete, insert, or_, select, update

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.auth.records import ConsoleRole, Issuer, IssuerPolicy, Login
from comptoir.auth.verification import CLOCK_SKEW
from comptoir.edm.types import Stored
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import quoted
from comptoir.features.console.tables import CODES, SESSIONS
from comptoir.plan.read import Row
from comptoir.sql.prepared import Query, Steps, named
from comptoir.sql.tables import ISSUERS
from comptoir.store.control import ControlStore, names_of, stored_names

CODE_SECONDS = 600
"""Seconds for which a code is valid."""

NOTED_SECONDS = 60
"""Seconds of use of a session after which it is noted again."""

_LONGEST_SUBJECT = 64
_RANDOM_BYTES = 16


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


class Logins:
    """Adds codes, and begins and ends sessions; all methods raise `Refusal` as writes do."""

    def __init__(self, control: ControlStore) -> None:
        self._control = control
        self._query = control.query
        self._session_with = control.prepared(_with_digest(SESSIONS, named("digest")), "digest")

    async def add_code(self, code: str, login: Login, now: int, actor: Actor) -> None:
        """Add a code with which a login can begin until it ends."""
        companies, ends_at = stored_names(login.companies), now + CODE_SECONDS
        row = (digest_of(code), login.subject, str(login.role), companies, ends_at, 0)
        act = Act(actor, ActName.CONSOLE_CODE, login.subject, login.listed)
        await self._act(act, *self._add_code(now, *row))

    async def begin(self, code: str, new: NewSession) -> Session | None:
        """Begin a session; None if the code is wrong, used or has ended.

        The lock of the version lets only one of several requests use a code.
        """
        now = new.now

        def work() -> Steps[Session | None]:
            yield self._control.lock()
            found = yield self._query(_with_digest(CODES, digest_of(code)))
            if not found:
                return None
            digest, *login, ends_at, used_at = found[0]
            if int(used_at) or int(ends_at) <= now:
                return None
            yield self._query(update(CODES).where(CODES.c.digest == digest).values(used_at=now))
            return (yield from self._begun(login, new))

        return await self._control.transact(work, alone=True)

    async def begin_once(
        self, code: str, issuer: Issuer, login: Login, new: NewSession
    ) -> Session | None:
        """Begin a session of a user of an issuer.

        None if the code of the login was used, or if the issuer was removed or replaced meanwhile.
        """
        now, digest = new.now, digest_of(code)
        row = (login.subject, str(login.role), stored_names(login.companies))

        def work() -> Steps[Session | None]:
            yield self._control.lock()
            if (yield self._query(_with_digest(CODES, digest))):
                return None
            if not _has(issuer, (yield self._query(select(ISSUERS)))):
                return None
            # the clock of the host that has begun the login may be ahead
            ends_at = now + CODE_SECONDS + CLOCK_SKEW
            drop_ended, add = self._add_code(now, digest, *row, ends_at, now)
            yield drop_ended
            yield add
            return (yield from self._begun(row, new))

        return await self._control.transact(work, alone=True)

    def _begun(self, login: Sequence[Stored], new: NewSession) -> Steps[Session]:
        """Begin a session of a user; `login` has the subject, the role and the companies."""
        now, terms, each = new.now, new.terms, SESSIONS.c
        has_ended = or_(each.expires_at <= now, each.seen_at <= now - terms.idle_seconds)
        yield self._query(delete(SESSIONS).where(has_ended))
        former = [_session(row) for row in (yield self._query(_with_digest(SESSIONS, new.former)))]
        yield self._control.drop(SESSIONS, digest=new.former)
        row = (digest_of(new.secret), *login, now, now, now + terms.session_seconds)
        yield self._query(insert(SESSIONS).values(row))
        session = _session(row)
        ended = [_act_of(each, ActName.CONSOLE_LOGOUT, new.actor) for each in former]
        begun = _act_of(session, ActName.CONSOLE_LOGIN, new.actor, session.login.listed)
        yield from self._control.log([*ended, begun])
        return session

    async def session(self, secret: str) -> Session | None:
        """The session with this secret, whether or not it has ended; None if there is none."""
        rows = await self._session_with(digest_of(secret))
        return _session(rows[0]) if rows else None

    async def sessions(self, limit: int) -> list[Session]:
        """The sessions by their last use, the latest first."""
        order = SESSIONS.c.seen_at.desc(), SESSIONS.c.digest
        latest = select(SESSIONS).order_by(*order).limit(limit)
        return [_session(row) for row in await self._control.fetch(latest)]

    async def note_seen(self, session: Session, now: int) -> None:
        """Note that a session is in use."""
        is_session = SESSIONS.c.digest == session.digest

        def work() -> Steps[None]:
            yield self._query(update(SESSIONS).where(is_session).values(seen_at=now))

        await self._control.transact(work)

    async def end(self, session: Session, actor: Actor) -> None:
        """End a session."""
        act = Act(actor, ActName.CONSOLE_LOGOUT, session.login.subject)
        await self._act(act, self._control.drop(SESSIONS, digest=session.digest))

    async def end_all(self, subject: str, actor: Actor) -> None:
        """End all sessions of a subject, and make its codes invalid."""
        dropped = [self._control.drop(each, subject=subject) for each in (CODES, SESSIONS)]
        await self._act(Act(actor, ActName.CONSOLE_END, subject), *dropped)

    def _add_code(self, now: int, *row: Stored) -> tuple[Query, Query]:
        """Add a code: digest, subject, role, companies, end, time of use or 0; drop old ones."""
        ended = self._query(delete(CODES).where(CODES.c.expires_at <= now))
        return ended, self._query(insert(CODES).values(row))

    async def _act(self, act: Act, *changes: Query) -> None:
        def work() -> Steps[None]:
            yield self._control.lock()
            for each in changes:  # noqa: UP028 - the rows of a query are sent to this generator
                yield each
            yield from self._control.log([act])

        await self._control.transact(work, alone=True)


def _with_digest(
    table: Table, digest: str | BindParameter[str | int]
) -> Select[*tuple[str | int, ...]]:
    return select(table).where(table.c.digest == digest)


def _has(issuer: Issuer, rows: Iterable[Row]) -> bool:
    """Whether an issuer is stored as it is known; new keys change nothing for its users."""
    for name, url, document in rows:
        if (name, url) == (issuer.name, issuer.url):
            terms = msgspec.json.decode(str(document), type=IssuerPolicy)
            return issuer.terms == msgspec.structs.replace(terms, refreshed=issuer.terms.refreshed)
    return False


def _act_of(session: Session, name: ActName, actor: Actor, detail: str = "") -> Act:
    """The act of the user of a session, in the request of an actor who was not known before."""
    login = session.login
    return Act(Actor(login.by, actor.address, actor.request), name, login.subject, detail)


def _session(row: Row) -> Session:
    digest, subject, role, companies, created_at, seen_at, expires_at = row
    login = Login(str(subject), ConsoleRole(str(role)), names_of(str(companies)))
    return Session(str(digest), login, int(created_at), int(seen_at), int(expires_at))
