"""The control tables as a process knows them, at most a second older than the database."""

import asyncio
import logging
from time import monotonic

from comptoir.auth.audit import Actor
from comptoir.auth.records import RegistrySnapshot
from comptoir.edm.times import Clock
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.store.control import READ_SECONDS, ControlStore
from comptoir.store.refusals import IS_REPEATED

_log = logging.getLogger(__name__)

PERIOD_SECONDS = 1.0
"""Seconds between two reads of the version."""

QUICK_SECONDS = 1.0
"""Seconds after which a failed read shows that the database does not answer."""

STALE_SECONDS = 60.0
"""Seconds without a successful read after which nothing is known."""


class ControlWatch:
    """Reads the control tables again when their version has changed; a `Registry`.

    Reads follow one after another, and concurrent callers share one that begins after their call.
    """

    def __init__(self, control: ControlStore, clock: Clock = monotonic) -> None:
        self._control = control
        self._clock = clock
        self.known: RegistrySnapshot | None = None
        """The result of the last read; None before the first, or if it is stale."""
        self.revoked: frozenset[str] = frozenset()
        """The ids (`jti`) of revoked tokens by the last read that succeeded, however old."""
        self._read_at = clock()
        self._is_silent = False
        self._reading = asyncio.Lock()
        self._begun = self._succeeded = 0
        """The numbers of the last read that began, and of the last one that succeeded."""

    @property
    def age(self) -> float:
        """Seconds since the last read that succeeded, or since the start."""
        return self._clock() - self._read_at

    async def refresh(self) -> RegistrySnapshot:
        """The current state; raises `Refusal` (503) if the database does not answer in time.

        After a read that failed only after a second, it raises at once until a poll succeeds.
        """
        if self._is_silent:
            raise _unanswered()
        return await self._read_in_time()

    async def revoke(self, jti: str, expires_at: int, party: str, actor: Actor) -> None:
        """Revoke a token, which this process then refuses at once, and others within a second."""
        await self._control.revoke(jti, expires_at, party, actor)
        await self.refresh()

    async def use_assertion(self, client_id: str, jti: str, expires_at: int) -> bool:
        """Whether a client uses an assertion for the first time, in any process."""
        return await self._control.use_assertion(client_id, jti, expires_at)

    async def poll(self) -> None:
        """Read once; raises `Refusal`."""
        try:
            await self._read_in_time()
        except Refusal:
            # the first read that fails is logged where it fails
            if not IS_REPEATED.get():
                _log.warning("clients cannot be read from the database")
            raise
        finally:
            if self.age > STALE_SECONDS:
                self.known = None
        if IS_REPEATED.get():
            _log.warning("clients can be read from the database again")

    async def _read_in_time(self) -> RegistrySnapshot:
        began, asked = self._clock(), self._begun
        try:
            async with asyncio.timeout(READ_SECONDS), self._reading:
                known = self.known
                # another caller may have read in the meantime
                return known if known and self._succeeded > asked else await self._read()
        except TimeoutError:
            self._is_silent = True
            raise _unanswered() from None
        except Refusal:
            # each request may ask a database that refuses quickly
            self._is_silent = self._clock() - began > QUICK_SECONDS
            raise

    async def _read(self) -> RegistrySnapshot:
        self._begun += 1
        known = self.known
        if known is None or known.version != await self._control.version():
            known = await self._control.load()
        self.known, self.revoked = known, known.revoked
        self._read_at, self._succeeded = self._clock(), self._begun
        self._is_silent = False
        return known


def _unanswered() -> Refusal:
    return rows.UNANSWERED()
