"""Traps: behaviours that surprise a client, and what a tally has seen of them.

A client that has met a trap has recovered once a request to the same address has succeeded. Where
the service cannot see that, only the client's own test can.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType

import msgspec

MOST_CLIENTS = 100
"""The most clients of a tally; the one that was first seen is forgotten."""

MOST_OPEN = 500
"""The most requests of a client whose recovery is awaited; the oldest has not recovered."""


class Trap(StrEnum):
    """A behaviour that an integration meets sooner or later."""

    MISSING_TAG = "missing-tag"
    STALE_TAG = "stale-tag"
    THROTTLING = "throttling"
    PAGE_LIMIT = "page-limit"
    EXPIRED_LINK = "expired-link"
    LOST_ANSWER = "lost-answer"
    EXPIRED_TOKEN = "expired-token"  # noqa: S105 - a trap, not a token
    STALE_READ = "stale-read"
    LOCK = "lock"
    GATEWAY_PAGE = "gateway-page"
    UPDATE_WINDOW = "update-window"
    BATCH_ROLLED_BACK = "batch-rolled-back"
    REPEATED_NOTIFICATION = "repeated-notification"
    REFUSED_OR = "refused-or"
    REFUSED_VALUE = "refused-value"


class TrapType(msgspec.Struct, frozen=True):
    """The meaning of a trap, and the answer of a sound client.

    `is_visible` is whether a later request to the same address shows that it has recovered.
    """

    meaning: str
    remedy: str
    is_visible: bool = True


TRAPS: Mapping[Trap, TrapType] = MappingProxyType(
    {
        Trap.MISSING_TAG: TrapType(
            "An update without If-Match is refused.", "Read the record and send its ETag."
        ),
        Trap.STALE_TAG: TrapType(
            "The record has changed since it was read.",
            "Read the record, decide again, and send its current ETag.",
        ),
        Trap.THROTTLING: TrapType(
            "The client has sent too many requests.", "Wait as long as Retry-After says."
        ),
        Trap.PAGE_LIMIT: TrapType(
            "A list is longer than a page.", "Follow @odata.nextLink to the last page."
        ),
        Trap.EXPIRED_LINK: TrapType(
            "The link to a page is not valid any longer.", "Start the list again."
        ),
        Trap.LOST_ANSWER: TrapType(
            "The connection ends before the answer, and the write may be done.",
            "Look for the record before the request is sent again.",
        ),
        Trap.EXPIRED_TOKEN: TrapType(
            "The token is not accepted any longer.", "Get another token and send the request again."
        ),
        Trap.STALE_READ: TrapType(
            "A read shows an earlier state.",
            "Do not read a record to find out whether it was written.",
            is_visible=False,
        ),
        Trap.LOCK: TrapType(
            "Another session is updating the table.", "Send the request again a little later."
        ),
        Trap.GATEWAY_PAGE: TrapType(
            "An error has a body in HTML or XML.",
            "Read the status before the body, and send the request again later.",
        ),
        Trap.UPDATE_WINDOW: TrapType(
            "The service is unavailable for minutes.", "Wait longer after each attempt."
        ),
        Trap.BATCH_ROLLED_BACK: TrapType(
            "Answers of a batch say 201, and nothing is stored.",
            "Trust a batch with a snapshot only if all its answers are successes.",
            is_visible=False,
        ),
        Trap.REPEATED_NOTIFICATION: TrapType(
            "A notification comes twice.",
            "Compare with what is known before acting on it.",
            is_visible=False,
        ),
        Trap.REFUSED_OR: TrapType(
            "A filter with `or` over two properties is refused.",
            "Send a request for each of them.",
            is_visible=False,
        ),
        Trap.REFUSED_VALUE: TrapType(
            "A value is too long, unknown or missing.", "Correct the value that the error names."
        ),
    }
)
"""All traps."""


class Recovery(StrEnum):
    """Whether a client has recovered from a trap each time, as far as the service can see."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class TrapTarget(msgspec.Struct, frozen=True):
    """The target of a client's request: a success there shows that it has recovered."""

    client: str
    method: str
    path: str

    @property
    def digest(self) -> bytes:
        """A short form of the method and the path, which may be long."""
        return sha256(f"{self.method} {self.path}".encode()).digest()


class TrapLine(msgspec.Struct, frozen=True):
    """A line of the report about a client: how often it has met a trap, and how that went.

    `by_fault` counts those that a rehearsal has caused, and `too_early` the requests that were sent
    before `Retry-After` had passed. `recovery` is None for a trap that was not met.
    """

    trap: Trap
    met: int = 0
    by_fault: int = 0
    too_early: int = 0
    recovery: Recovery | None = None


class _Counts(msgspec.Struct):
    met: int = 0
    by_fault: int = 0
    too_early: int = 0
    open: int = 0


class _Party:
    """The traps that one client has met."""

    def __init__(self) -> None:
        self.counts: dict[Trap, _Counts] = {}
        self.open: OrderedDict[bytes, dict[Trap, float]] = OrderedDict()

    def line(self, trap: Trap) -> TrapLine:
        counts = self.counts.get(trap)
        if counts is None:
            return TrapLine(trap)
        if counts.too_early:
            recovery = Recovery.NO
        elif not TRAPS[trap].is_visible:
            recovery = Recovery.UNKNOWN
        else:
            recovery = Recovery.NO if counts.open else Recovery.YES
        return TrapLine(trap, counts.met, counts.by_fault, counts.too_early, recovery)


class TrapTally:
    """Counts the traps that clients meet; for use in one event loop only. Times are in seconds."""

    def __init__(self) -> None:
        self._parties: OrderedDict[str, _Party] = OrderedDict()

    def meet(
        self, trap: Trap, address: TrapTarget, now: float, *, by_fault: bool, wait: float = 0.0
    ) -> None:
        """Count a trap; `wait` is the seconds in `Retry-After`."""
        party = self._party(address.client)
        counts = party.counts.setdefault(trap, _Counts())
        counts.met += 1
        counts.by_fault += by_fault
        if not TRAPS[trap].is_visible:
            return
        awaited = party.open.setdefault(address.digest, {})
        counts.open += trap not in awaited
        awaited[trap] = now + wait
        if len(party.open) > MOST_OPEN:
            party.open.popitem(last=False)

    def ask(self, address: TrapTarget, now: float) -> None:
        """Note that a request has arrived, before anything else is known about it."""
        party = self._parties.get(address.client)
        if party is None:
            return
        for trap, due in party.open.get(address.digest, {}).items():
            party.counts[trap].too_early += now < due

    def succeed(self, address: TrapTarget) -> None:
        """Note that a request has got the answer that it asks for."""
        party = self._parties.get(address.client)
        if party is None:
            return
        for trap in party.open.pop(address.digest, {}):
            party.counts[trap].open -= 1

    def report(self) -> Mapping[str, Sequence[TrapLine]]:
        """A line for each trap, also for those that were not met, by client."""
        return {
            client: [party.line(trap) for trap in Trap] for client, party in self._parties.items()
        }

    def _party(self, client: str) -> _Party:
        party = self._parties.setdefault(client, _Party())
        if len(self._parties) > MOST_CLIENTS:
            self._parties.popitem(last=False)
        return party
