"""The progress of deliveries: who attempts one, when, and what its outcome means.

Nothing here waits, sends or stores. A unit of work reads a lane, and stores the one that follows.
"""

import math
from datetime import datetime
from enum import Enum

import msgspec

from comptoir.outgoing import PostAnswer

LEASE_SECONDS = 30
"""The time for which a process may attempt a delivery; the post must take less."""

_SUCCESS = range(200, 300)


class Outcome(Enum):
    """The outcome of an attempt."""

    DELIVERED = "delivered"
    FAILED = "failed"
    """Another attempt may succeed."""
    REFUSED = "refused"
    """The receiver does not want notifications, so its subscription is deleted."""


class Retries(msgspec.Struct, frozen=True):
    """The times at which a failed delivery is attempted again."""

    waits: tuple[float, ...]
    """The seconds to wait after each failure; one failure more is final."""

    statuses: frozenset[int]
    """The statuses that are failures; any other than 2xx refuses the notifications."""

    def outcome(self, answer: PostAnswer | None) -> Outcome:
        """The outcome by the receiver's answer, None if there was none."""
        if answer is None or answer.status in self.statuses:
            return Outcome.FAILED
        return Outcome.DELIVERED if answer.status in _SUCCESS else Outcome.REFUSED


class DeliveryCursor(msgspec.Struct, frozen=True):
    """A row of the table `lanes`, which documents its columns."""

    subscription: str
    lane: int
    cursor: int
    tries: int = 0
    due_at: int = 0
    holder: str = ""
    leased_until: int = 0

    def leased(self, holder: str, real_now: float) -> "DeliveryCursor | None":
        """This lane leased to a process, None while another lease lasts."""
        if real_now < self.leased_until:
            return None
        until = math.ceil(real_now) + LEASE_SECONDS
        return msgspec.structs.replace(self, holder=holder, leased_until=until)

    @property
    def was_attempted(self) -> bool:
        """Whether an earlier attempt to deliver the changes after the cursor has ended."""
        return self.due_at > 0

    def delayed(self, until: float) -> "DeliveryCursor":
        """This leased lane, to be attempted later though nothing has failed."""
        return DeliveryCursor(
            self.subscription, self.lane, self.cursor, self.tries, math.ceil(until)
        )

    def settled(
        self, outcome: Outcome, number: int, now: float, retries: Retries
    ) -> "DeliveryCursor | None":
        """This leased lane after an attempt to deliver the changes up to `number`.

        None if the subscription must be deleted. The attempt counts only if the stored lane still
        equals this one: otherwise another process has leased it since, and delivers the same
        changes.
        """
        if outcome is Outcome.DELIVERED:
            return DeliveryCursor(self.subscription, self.lane, number)
        if outcome is Outcome.REFUSED or self.tries == len(retries.waits):
            return None
        due_at = math.ceil(now + retries.waits[self.tries])
        return DeliveryCursor(self.subscription, self.lane, self.cursor, self.tries + 1, due_at)


def due_at(first_change: str, delay: float) -> float:
    """The time when changes are due, by that of the first one after the cursor."""
    return datetime.fromisoformat(first_change).timestamp() + delay
