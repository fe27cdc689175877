"""The logins to the console in the control tables.

No method raises the version of these tables: a process reads a session with each request.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.auth.logins import (
    CODE_SECONDS,
    ConsoleRole,
    Login,
    NewSession,
    Session,
    digest_of,
)
from comptoir.auth.records import Issuer, IssuerTerms
from comptoir.auth.verification import CLOCK_SKEW
from comptoir.edm.types import Stored
from comptoir.plan.read import Row
from comptoir.sql.control import ControlStatements
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
        self._fetch = fetch
        self._writer = writer
        self._record = record

    async def add_code(self, code: str, login: Login, now: int, actor: Actor) -> None:
        """Add a code with which a login can begin until it ends."""
        statements = self._statements

        def change() -> Steps[None]:
            yield statements.drop_ended_codes.query(now)
            yield statements.add_code.query(
                digest_of(code),
                login.subject,
                login.role,
                stored_names(login.companies),
                now + CODE_SECONDS,
                0,
            )

        await self._act(change, Act(actor, ActName.CONSOLE_CODE, login.subject, login.listed))

    async def begin(self, code: str, new: NewSession) -> Session | None:
        """Begin a session; None if the code is wrong, used or has ended.

        The lock of the version lets only one of several requests use a code.
        """
        statements, now = self._statements, new.now

        def work(_: UnitOfWork) -> Steps[Session | None]:
            yield statements.lock_version.query()
            found = yield statements.code.query(digest_of(code))
            if not found or _is_over(found[0], now):
                return None
            digest, *login = found[0][:-2]
            yield statements.use_code.query(digest, now)
            return (yield from self._begun(login, new))

        return await self._writer.submit(NO_COMPANY, work, alone=True)

    async def begin_once(
        self, code: str, issuer: Issuer, login: Login, new: NewSession
    ) -> Session | None:
        """Begin a session of a user of an issuer.

        None if the code of the login was used, or if the issuer was removed or replaced meanwhile.
        """
        statements, now, digest = self._statements, new.now, digest_of(code)
        row = (login.subject, str(login.role), stored_names(login.companies))

        def work(_: UnitOfWork) -> Steps[Session | None]:
            yield statements.lock_version.query()
            yield statements.drop_ended_codes.query(now)
            if (yield statements.code.query(digest)):
                return None
            if not _has(issuer, (yield statements.issuers.query())):
                return None
            # the clock of the host that has begun the login may be ahead
            ends_at = now + CODE_SECONDS + CLOCK_SKEW
            yield statements.add_code.query(digest, *row, ends_at, now)
            return (yield from self._begun(row, new))

        return await self._writer.submit(NO_COMPANY, work, alone=True)

    def _begun(self, login: Sequence[Stored], new: NewSession) -> Steps[Session]:
        """Begin a session of a user; `login` has the subject, the role and the companies."""
        statements, now, terms = self._statements, new.now, new.terms
        yield statements.drop_ended_sessions.query(now, now - terms.idle_seconds)
        former = [_session(row) for row in (yield statements.session.query(new.former))]
        yield statements.drop_session.query(new.former)
        row = (digest_of(new.secret), *login, now, now, now + terms.session_seconds)
        yield statements.add_session.query(*row)
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
        return [_session(row) for row in await self._fetch(self._statements.sessions.query(limit))]

    async def note_seen(self, session: Session, now: int) -> None:
        """Note that a session is in use."""

        def work(_: UnitOfWork) -> Steps[None]:
            yield self._statements.note_seen.query(session.digest, now)

        await self._writer.submit(NO_COMPANY, work)

    async def end(self, session: Session, actor: Actor) -> None:
        """End a session."""

        def change() -> Steps[None]:
            yield self._statements.drop_session.query(session.digest)

        await self._act(change, Act(actor, ActName.CONSOLE_LOGOUT, session.login.subject))

    async def end_all(self, subject: str, actor: Actor) -> None:
        """End all sessions of a subject, and make its codes invalid."""

        def change() -> Steps[None]:
            yield self._statements.drop_codes_of.query(subject)
            yield self._statements.drop_sessions_of.query(subject)

        await self._act(change, Act(actor, ActName.CONSOLE_END, subject))

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
            terms = msgspec.json.decode(str(document), type=IssuerTerms)
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
