"""The sessions of users: found by a cookie, noted while in use, remembered without a database."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import msgspec

from comptoir.auth.audit import Actor
from comptoir.auth.logins import NOTED_SECONDS, Login, NewSession, Session, SessionTerms
from comptoir.auth.records import Issuer
from comptoir.console.backend import QUICK_SECONDS
from comptoir.console.problem import Problem
from comptoir.errors import Refusal
from comptoir.store.control import ControlStore
from comptoir.store.control_watch import STALE_SECONDS

MOST_REMEMBERED = 100
"""The most sessions that a process remembers for the time without a database."""


REMEMBERED_SECONDS = int(STALE_SECONDS)
"""Seconds since its last read for which a session is believed without a database, as clients are.

Another process may have ended it meanwhile.
"""


class FoundSession(NamedTuple):
    """A session, and whether it is only remembered because the database does not answer."""

    session: Session
    is_remembered: bool


class _Remembered(NamedTuple):
    session: Session
    read_at: int


class Sessions:
    """Finds sessions in the database, so any process knows any session, and an end is at once."""

    def __init__(self, control: ControlStore, terms: SessionTerms) -> None:
        self._control = control
        self._terms = terms
        self._remembered: OrderedDict[str, _Remembered] = OrderedDict()
        self._ends = 0

    async def find(self, secret: str) -> FoundSession | None:
        """The session with a secret; None if there is none, or if it has ended.

        Raises `Problem` (503) without a database, unless this process has just read the session.
        """
        now, ends = int(time.time()), self._ends
        try:
            async with asyncio.timeout(QUICK_SECONDS):
                session = await self._control.logins.session(secret)
        except (Refusal, TimeoutError):
            return self._remembered_as(secret, now)
        if session is None or self._terms.are_over(session, now):
            self._remembered.pop(secret, None)
            return None
        is_noted = now - session.seen_at >= NOTED_SECONDS
        if is_noted:
            session = msgspec.structs.replace(session, seen_at=now)
        # a session that ends while it is read must not be remembered, and one that ends while it is
        # noted must be forgotten
        if self._ends == ends:
            self._remember(secret, _Remembered(session, now))
        if is_noted:
            # the next request notes it if the database is busy
            with suppress(Refusal):
                await self._control.logins.note_seen(session, now)
        return FoundSession(session, is_remembered=False)

    async def begin(self, code: str, new: NewSession) -> Session | None:
        """Begin a session in place of the former one, as `Logins.begin` does."""
        session = await self._control.logins.begin(code, new)
        self._forget_former(session, new)
        return session

    async def begin_once(
        self, code: str, issuer: Issuer, login: Login, new: NewSession
    ) -> Session | None:
        """Begin a session in place of the former one, as `Logins.begin_once` does."""
        session = await self._control.logins.begin_once(code, issuer, login, new)
        self._forget_former(session, new)
        return session

    async def end(self, session: Session, actor: Actor) -> None:
        """End a session."""
        await self._control.logins.end(session, actor)
        self._forget(lambda each: each.digest == session.digest)

    async def end_all(self, subject: str, actor: Actor) -> None:
        """End all sessions of a subject, and make its codes invalid."""
        await self._control.logins.end_all(subject, actor)
        self._forget(lambda each: each.login.subject == subject)

    async def remove_issuer(self, name: str, actor: Actor) -> None:
        """Remove an outside issuer, and end the sessions of its users.

        Raises `OperatorError` if there is none.
        """
        await self._control.remove_issuer(name, actor)
        self._forget(lambda each: each.login.subject.startswith(f"{name}:"))

    def _remembered_as(self, secret: str, now: int) -> FoundSession | None:
        """The session with a secret without a database; raises `Problem` if it was not read."""
        remembered = self._remembered.get(secret)
        # the clock may have been set back
        if remembered is None or not 0 <= now - remembered.read_at < REMEMBERED_SECONDS:
            raise _unchecked()
        if self._terms.are_over(remembered.session, now):
            return None
        return FoundSession(remembered.session, is_remembered=True)

    def _forget_former(self, session: Session | None, new: NewSession) -> None:
        if session is not None:
            self._forget(lambda each: each.digest == new.former)

    def _forget(self, is_over: Callable[[Session], bool]) -> None:
        self._ends += 1
        for secret, remembered in list(self._remembered.items()):
            if is_over(remembered.session):
                del self._remembered[secret]

    def _remember(self, secret: str, remembered: _Remembered) -> None:
        self._remembered[secret] = remembered
        self._remembered.move_to_end(secret)
        if len(self._remembered) > MOST_REMEMBERED:
            self._remembered.popitem(last=False)


def _unchecked() -> Problem:
    return Problem(
        503,
        "The database does not answer, and it alone knows which sessions have ended",
        "Try again in a moment. `/readyz` and the log of the service say what is wrong.",
        {"Retry-After": "5"},
    )
