"""The logins to the console in the control tables.

No method raises the version of these tables: a process reads a session with each request.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec
from sqlalchemy import delete, insert, or_, select, update

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.auth.logins import (
    CODE_SECONDS,
    ConsoleRole,
    Login,
    NewSession,
    Session,
    digest_of,
)
from comptoir.auth.records import Issuer, IssuerPolicy
from comptoir.auth.verification import CLOCK_SKEW
from comptoir.edm.types import Stored
from comptoir.plan.read import Row
from comptoir.sql.control import ControlStatements, control_tables
from comptoir.sql.prepared import Query, Steps
from comptoir.store.names import names_of, stored_names
from comptoir.store.unit import UnitOfWork
from comptoir.store.writer import NO_COMPANY, Writer


class Logins:
    """Adds codes, and begins and ends sessions; all methods raise `Refusal` as writes do."""

    def __init__(
        self,
        statements: ControlStatements,
        fetch: Callable[[Query], Awaitable[list[Row]]],
        writer: Writer,
        record: Callable[[Iterable[Act]], Steps[None]],
    ) -> None:
        """`record` adds acts to the audit log, in a transaction that has locked the version."""
        self._statements = statements
        self._query = statements.query
        self._tables = control_tables()
        self._fetch = fetch
        self._writer = writer
        self._record = record

    async def add_code(self, code: str, login: Login, now: int, actor: Actor) -> None:
        """Add a code with which a login can begin until it ends."""
        companies = stored_names(login.companies)

        def change() -> Steps[None]:
            yield self._drop_ended_codes(now)
            yield self._add_code(
                digest_of(code), login.subject, login.role, companies, now + CODE_SECONDS, 0
            )

        await self._act(change, Act(actor, ActName.CONSOLE_CODE, login.subject, login.listed))

    async def begin(self, code: str, new: NewSession) -> Session | None:
        """Begin a session; None if the code is wrong, used or has ended.

        The lock of the version lets only one of several requests use a code.
        """
        now, codes = new.now, self._tables.console_codes

        def work(_: UnitOfWork) -> Steps[Session | None]:
            yield self._statements.lock_version.query()
            found = yield self._code(digest_of(code))
            if not found or _is_over(found[0], now):
                return None
            digest, *login = found[0][:-2]
            yield self._query(update(codes).where(codes.c.digest == digest).values(used_at=now))
            return (yield from self._begun(login, new))

        return await self._writer.submit(NO_COMPANY, work, alone=True)

    async def begin_once(
        self, code: str, issuer: Issuer, login: Login, new: NewSession
    ) -> Session | None:
        """Begin a session of a user of an issuer.

        None if the code of the login was used, or if the issuer was removed or replaced meanwhile.
        """
        now, digest = new.now, digest_of(code)
        row = (login.subject, str(login.role), stored_names(login.companies))

        def work(_: UnitOfWork) -> Steps[Session | None]:
            yield self._statements.lock_version.query()
            yield self._drop_ended_codes(now)
            if (yield self._code(digest)):
                return None
            if not _has(issuer, (yield self._query(select(self._tables.issuers)))):
                return None
            # the clock of the host that has begun the login may be ahead
            ends_at = now + CODE_SECONDS + CLOCK_SKEW
            yield self._add_code(digest, *row, ends_at, now)
            return (yield from self._begun(row, new))

        return await self._writer.submit(NO_COMPANY, work, alone=True)

    def _begun(self, login: Sequence[Stored], new: NewSession) -> Steps[Session]:
        """Begin a session of a user; `login` has the subject, the role and the companies."""
        table, now, terms = self._tables.console_sessions, new.now, new.terms
        has_ended = or_(table.c.expires_at <= now, table.c.seen_at <= now - terms.idle_seconds)
        yield self._query(delete(table).where(has_ended))
        former = [_session(row) for row in (yield self._statements.session.query(new.former))]
        yield self._drop_session(new.former)
        row = (digest_of(new.secret), *login, now, now, now + terms.session_seconds)
        yield self._query(insert(table).values(row))
        session = _session(row)
        ended = [_act_of(each, ActName.CONSOLE_LOGOUT, new.actor) for each in former]
        begun = _act_of(session, ActName.CONSOLE_LOGIN, new.actor, session.login.listed)
        yield from self._record([*ended, begun])
        return session

    async def session(self, secret: str) -> Session | None:
        """The session with this secret, whether or not it has ended; None if there is none."""
        rows = await self._fetch(self._statements.session.query(digest_of(secret)))
        return _session(rows[0]) if rows else None

    async def sessions(self, limit: int) -> list[Session]:
        """The sessions by their last use, the latest first."""
        table = self._tables.console_sessions
        latest = select(table).order_by(table.c.seen_at.desc(), table.c.digest).limit(limit)
        return [_session(row) for row in await self._fetch(self._query(latest))]

    async def note_seen(self, session: Session, now: int) -> None:
        """Note that a session is in use."""
        table = self._tables.console_sessions
        is_session = table.c.digest == session.digest

        def work(_: UnitOfWork) -> Steps[None]:
            yield self._query(update(table).where(is_session).values(seen_at=now))

        await self._writer.submit(NO_COMPANY, work)

    async def end(self, session: Session, actor: Actor) -> None:
        """End a session."""

        def change() -> Steps[None]:
            yield self._drop_session(session.digest)

        await self._act(change, Act(actor, ActName.CONSOLE_LOGOUT, session.login.subject))

    async def end_all(self, subject: str, actor: Actor) -> None:
        """End all sessions of a subject, and make its codes invalid."""
        tables = self._tables

        def change() -> Steps[None]:
            for table in (tables.console_codes, tables.console_sessions):
                yield self._query(delete(table).where(table.c.subject == subject))

        await self._act(change, Act(actor, ActName.CONSOLE_END, subject))

    def _code(self, digest: str) -> Query:
        codes = self._tables.console_codes
        return self._query(select(codes).where(codes.c.digest == digest))

    def _add_code(self, *row: Stored) -> Query:
        """Add a code: digest, subject, role, companies, end, time of use or 0."""
        return self._query(insert(self._tables.console_codes).values(row))

    def _drop_ended_codes(self, now: int) -> Query:
        codes = self._tables.console_codes
        return self._query(delete(codes).where(codes.c.expires_at <= now))

    def _drop_session(self, digest: str) -> Query:
        sessions = self._tables.console_sessions
        return self._query(delete(sessions).where(sessions.c.digest == digest))

    async def _act(self, change: Callable[[], Steps[None]], act: Act) -> None:
        def work(_: UnitOfWork) -> Steps[None]:
            yield self._statements.lock_version.query()
            yield from change()
            yield from self._record([act])

        await self._writer.submit(NO_COMPANY, work, alone=True)


def _is_over(code: Row, now: int) -> bool:
    """Whether a code was used or has ended."""
    *_, expires_at, used_at = code
    return int(used_at) > 0 or int(expires_at) <= now


def _has(issuer: Issuer, rows: Iterable[Row]) -> bool:
    """Whether an issuer is stored as it is known; new keys change nothing for its users."""
    for name, url, document in rows:
        if (name, url) == (issuer.name, issuer.url):
            terms = msgspec.json.decode(str(document), type=IssuerPolicy)
            return issuer.terms == msgspec.structs.replace(terms, refreshed=issuer.terms.refreshed)
    return False


def _act_of(session: Session, name: ActName, actor: Actor, detail: str = "") -> Act:
    """What the user of a session does, in the request of an actor who was not known before."""
    login = session.login
    return Act(Actor(login.by, actor.address, actor.request), name, login.subject, detail)


def _session(row: Row) -> Session:
    digest, subject, role, companies, created_at, seen_at, expires_at = row
    login = Login(str(subject), ConsoleRole(str(role)), names_of(str(companies)))
    return Session(str(digest), login, int(created_at), int(seen_at), int(expires_at))
