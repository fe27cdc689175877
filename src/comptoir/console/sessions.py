"""The sessions of users: found by a cookie, noted while in use, remembered without a database."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import msgspec

from comptoir.auth.audit import Actor
from comptoir.auth.logins import NOTED_SECONDS, Session, SessionTerms
from comptoir.console.backend import QUICK_SECONDS
from comptoir.console.problem import unanswered
from comptoir.errors import Refusal
from comptoir.store.control import ControlStore

MOST_REMEMBERED = 100
"""The most sessions that a process remembers for the time without a database."""


class FoundSession(NamedTuple):
    """A session, and whether it is only remembered because the database does not answer."""

    session: Session
    is_remembered: bool


class Sessions:
    """Finds sessions in the database, so any process knows any session, and an end is at once.

    Without a database, a process does not know of a session that another one has ended.
    """

    def __init__(self, control: ControlStore, terms: SessionTerms) -> None:
        self._control = control
        self._terms = terms
        self._remembered: OrderedDict[str, Session] = OrderedDict()
        self._ends = 0

    async def find(self, secret: str) -> FoundSession | None:
        """The session with a secret; None if there is none, or if it has ended.

        Raises `Problem` (503) without a database, unless this process remembers the session.
        """
        now, ends = int(time.time()), self._ends
        is_remembered = False
        try:
            async with asyncio.timeout(QUICK_SECONDS):
                session = await self._control.logins.session(secret)
        except (Refusal, TimeoutError):
            # not before the read, during which it may have ended
            session = self._remembered.get(secret)
            if session is None:
                raise unanswered() from None
            is_remembered = True
        if session is None or self._terms.are_over(session, now):
            self._remembered.pop(secret, None)
            return None
        is_noted = not is_remembered and now - session.seen_at >= NOTED_SECONDS
        if is_noted or is_remembered:
            session = msgspec.structs.replace(session, seen_at=now)
        # a session that ends while it is read must not be remembered, and one that ends while it is
        # noted must be forgotten
        if self._ends == ends:
            self._remember(secret, session)
        if is_noted:
            # the next request notes it if the database is busy
            with suppress(Refusal):
                await self._control.logins.note_seen(session, now)
        return FoundSession(session, is_remembered)

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

    def _forget(self, is_over: Callable[[Session], bool]) -> None:
        self._ends += 1
        for secret, session in list(self._remembered.items()):
            if is_over(session):
                del self._remembered[secret]

    def _remember(self, secret: str, session: Session) -> None:
        self._remembered[secret] = session
        self._remembered.move_to_end(secret)
        if len(self._remembered) > MOST_REMEMBERED:
            self._remembered.popitem(last=False)
