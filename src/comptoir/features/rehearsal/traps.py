"""Traps: behaviours that surprise a client, and what a tally has seen of them.

A client that has met a trap has recovered once a request to the same address has succeeded. Where
the service cannot see that, only the client's own test can.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from comptoir.edm.times import Clock
from comptoir.errors import table
from comptoir.features.rehearsal.entries import TrapLine

MOST_CLIENTS = 100
"""The most clients of a tally; the one that was first seen is forgotten."""

MOST_OPEN = 500
"""The most requests of a client whose recovery is awaited; the oldest has not recovered."""


class Trap(StrEnum):
    """A behaviour that an integration meets sooner or later, and the answer of a sound client.

    `is_visible` is whether a later request to the same address shows that a client has recovered.
    """

    meaning: str
    remedy: str
    is_visible: bool

    def __new__(cls, name: str, meaning: str, remedy: str, is_visible: bool = True) -> "Trap":
        """A trap, by its name."""
        trap = str.__new__(cls, name)
        trap._value_ = name
        trap.meaning, trap.remedy, trap.is_visible = meaning, remedy, is_visible
        return trap

    # fmt: off
    MISSING_TAG = ("missing-tag", "An update without If-Match is refused.",
        "Read the record and send its ETag.")
    STALE_TAG = ("stale-tag", "The record has changed since it was read.",
        "Read the record, decide again, and send its current ETag.")
    THROTTLING = ("throttling", "The client has sent too many requests.",
        "Wait as long as Retry-After says.")
    PAGE_LIMIT = ("page-limit", "A list is longer than a page.",
        "Follow @odata.nextLink to the last page.")
    EXPIRED_LINK = ("expired-link", "The link to a page is not valid any longer.",
        "Start the list again.")
    LOST_ANSWER = ("lost-answer",
        "The connection ends before the answer, and the write may be done.",
        "Look for the record before the request is sent again.")
    EXPIRED_TOKEN = ("expired-token", "The token is not accepted any longer.",
        "Get another token and send the request again.")
    STALE_READ = ("stale-read", "A read shows an earlier state.",
        "Do not read a record to find out whether it was written.", False)
    LOCK = ("lock", "Another session is updating the table.",
        "Send the request again a little later.")
    GATEWAY_PAGE = ("gateway-page", "An error has a body in HTML or XML.",
        "Read the status before the body, and send the request again later.")
    UPDATE_WINDOW = ("update-window", "The service is unavailable for minutes.",
        "Wait longer after each attempt.")
    BATCH_ROLLED_BACK = ("batch-rolled-back", "Answers of a batch say 201, and nothing is stored.",
        "Trust a batch with a snapshot only if all its answers are successes.", False)
    REPEATED_NOTIFICATION = ("repeated-notification", "A notification comes twice.",
        "Compare with what is known before acting on it.", False)
    REFUSED_OR = ("refused-or", "A filter with `or` over two properties is refused.",
        "Send a request for each of them.", False)
    REFUSED_VALUE = ("refused-value", "A value is too long, unknown or missing.",
        "Correct the value that the error names.")
    # fmt: on


OF_SIGNS: Mapping[str, Trap] = {
    table.PRECONDITION_REQUIRED.code: Trap.MISSING_TAG,
    table.ENTITY_CHANGED.code: Trap.STALE_TAG,
    table.TOO_MANY_REQUESTS.code: Trap.THROTTLING,
    table.LINK_EXPIRED.code: Trap.EXPIRED_LINK,
    table.INVALID_CREDENTIALS.code: Trap.EXPIRED_TOKEN,
    "LINK_GONE": Trap.EXPIRED_LINK,
    "LOCKED": Trap.LOCK,
    "ALTERNATIVES": Trap.REFUSED_OR,
    "TOO_LONG": Trap.REFUSED_VALUE,
    "NO_OPTION": Trap.REFUSED_VALUE,
    "WRONG_TYPE": Trap.REFUSED_VALUE,
    "NULL_VALUE": Trap.REFUSED_VALUE,
    "NO_VALUE": Trap.REFUSED_VALUE,
}
"""The trap that a refusal shows, by its group, else by the code of its error."""


class TrapTarget(msgspec.Struct, frozen=True):
    """The target of a client's request: a success there shows that it has recovered."""

    client: str
    method: str
    path: str


class _Party:
    """The traps that one client has met.

    `open` has the requests whose recovery is awaited, each with its traps and when it may be sent
    again. `lost` are the traps of those that are not awaited any longer.
    """

    def __init__(self) -> None:
        self.lines = {
            trap: TrapLine(trap, trap.meaning, trap.remedy, 0, 0, 0, None) for trap in Trap
        }
        self.open: dict[TrapTarget, dict[Trap, float]] = {}
        self.lost: set[Trap] = set()

    def report(self) -> Sequence[TrapLine]:
        awaited = self.lost.union(*self.open.values())
        for trap, line in self.lines.items():
            if line.met:
                seen = "yes" if trap.is_visible else "unknown"
                line.recovered = "no" if line.too_early or trap in awaited else seen
        return list(self.lines.values())


class TrapTally:
    """Counts the traps that clients meet, by a clock; for use in one event loop only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._parties: dict[str, _Party] = {}

    def meet(
        self, trap: Trap, address: TrapTarget, *, by_fault: bool = False, wait: float = 0.0
    ) -> None:
        """Count a trap; `wait` is the seconds in `Retry-After`."""
        party = self._parties.setdefault(address.client, _Party())
        if len(self._parties) > MOST_CLIENTS:
            del self._parties[next(iter(self._parties))]
        line = party.lines[trap]
        line.met += 1
        line.by_fault += by_fault
        if trap.is_visible:
            party.open.setdefault(address, {})[trap] = self._clock() + wait
        if len(party.open) > MOST_OPEN:
            party.lost.update(party.open.pop(next(iter(party.open))))

    def ask(self, address: TrapTarget) -> None:
        """Note that a request has arrived, before anything else is known about it."""
        party = self._parties.get(address.client)
        if party is not None:
            for trap, due in party.open.get(address, {}).items():
                party.lines[trap].too_early += self._clock() < due

    def succeed(self, address: TrapTarget) -> None:
        """Note that a request has got the answer that it asks for."""
        party = self._parties.get(address.client)
        if party is not None:
            party.open.pop(address, None)

    def report(self) -> Mapping[str, Sequence[TrapLine]]:
        """A line for each trap, also for those that were not met, by client."""
        return {client: party.report() for client, party in self._parties.items()}
