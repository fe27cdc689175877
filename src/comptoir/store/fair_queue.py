"""Fair shares of what reads wait for: parties take turns, and none gets more than its share.

A party is the principal of a request, or a command. However many reads one of them sends, the reads
of the others wait for few of these.
"""

import asyncio
from collections import deque
from contextvars import ContextVar
from dataclasses import dataclass
from math import ceil
from statistics import fmean
from time import monotonic

from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal

CLIENT: ContextVar[str] = ContextVar("CLIENT", default="")
"""The party of the current request; its tasks inherit it."""

RECENT = 20
"""The last reads of clients, whose mean time estimates that of the next ones."""


def half(number: int) -> int:
    """The share of one party: half, rounded up."""
    return (number + 1) // 2


class FairSemaphore:
    """Permits, of which one party holds at most `most_of_one`; parties take turns to wait."""

    def __init__(self, permits: int, most_of_one: int) -> None:
        self._free = permits
        self._most_of_one = most_of_one
        self._held: dict[str, int] = {}
        # in the order of the parties' turns
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def held(self) -> int:
        """The permits that are held, by all parties."""
        return sum(self._held.values())

    @property
    def total(self) -> int:
        """The permits that all parties hold or wait for."""
        return self.held + sum(map(len, self._waiting.values()))

    def count(self, party: str) -> int:
        """The permits that a party holds or waits for."""
        return self._held.get(party, 0) + len(self._waiting.get(party, ()))

    @property
    def is_free(self) -> bool:
        """Whether the current party gets a permit at once."""
        return self._free > 0 and self._held.get(CLIENT.get(), 0) < self._most_of_one

    async def acquire(self) -> str:
        """Wait for a permit; returns the party that must release it."""
        party = CLIENT.get()
        if self.is_free:
            self._grant(party)
            return party
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(party, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.release(party)
            elif turn in self._waiting.get(party, ()):
                self._waiting[party].remove(turn)
            raise
        return party

    def release(self, party: str) -> None:
        """Return a permit, and pass it to the next party that may have it."""
        self._free += 1
        left = self._held.pop(party) - 1
        if left:
            self._held[party] = left
        for each in [*self._waiting]:
            if self._held.get(each, 0) < self._most_of_one:
                turns = self._waiting.pop(each)
                while turns and turns[0].done():
                    turns.popleft()
                if turns:
                    self._grant(each)
                    turns.popleft().set_result(None)
                    if turns:
                        self._waiting[each] = turns
                    return

    def _grant(self, party: str) -> None:
        self._free -= 1
        self._held[party] = self._held.get(party, 0) + 1


@dataclass(frozen=True, slots=True)
class Load:
    """The long reads that run and wait, and the most that may run at once."""

    running: int
    waiting: int
    permits: int


Permit = tuple[str, float]
"""The party that has a permit of a queue, and since when by the monotonic clock."""


class FairQueue:
    """Permits for long reads, of which `most` may wait or run; a party may have half of both.

    A read takes up to `seconds`.
    """

    def __init__(self, permits: int, most: int, seconds: float) -> None:
        self._permits = permits
        self._most = most
        self._seconds = seconds
        self._turns = FairSemaphore(permits, half(permits))
        self._recent: deque[float] = deque(maxlen=RECENT)

    @property
    def load(self) -> Load:
        """The reads that run and wait now."""
        running = self._turns.held
        return Load(running, self._turns.total - running, self._permits)

    @property
    def is_free(self) -> bool:
        """Whether the current party gets a permit at once."""
        return self._turns.is_free

    async def enter(self) -> Permit:
        """Wait for a permit, which the caller gives back by `leave`.

        Raises `Refusal` (503) if too many reads wait or run, of the party or of all.
        """
        party = CLIENT.get()
        own, total = self._turns.count(party), self._turns.total
        if total >= self._most:
            raise self._busy(f"{total} long reads", total, self._permits)
        if own >= half(self._most):
            raise self._busy(f"{own} long reads of the client", own, half(self._permits))
        return await self._turns.acquire(), monotonic()

    def leave(self, permit: Permit) -> None:
        """Give a permit back."""
        party, since = permit
        # those of the service itself are short, and clients do not wait for them
        if party:
            self._recent.append(monotonic() - since)
        self._turns.release(party)

    def _busy(self, reads: str, ahead: int, permits: int) -> Refusal:
        # no read outlasts its seconds, so there is room after them
        each = fmean(self._recent) if self._recent else self._seconds
        seconds = max(1, ceil(min(ahead * each / permits, self._seconds)))
        return rows.READS_WAITING(reads=reads, seconds=seconds)
