"""The limits of a client: its rate of requests, how many run at once, and its records of a day.

Each process counts for itself, and allows its share: the limit divided by the number of workers.
"""

import time
from collections import deque
from dataclasses import KW_ONLY, dataclass, field
from math import ceil
from weakref import WeakValueDictionary

import msgspec

from comptoir.config import RATE
from comptoir.edm.times import Clock
from comptoir.errors import operator_rows as problems
from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.errors.refusal import Fact, Refusal, RefusalRow

DAY = 86_400
"""The seconds of a day."""

_SLOTS = 30
"""The parts of a sliding window that are counted separately: 10 seconds of 300."""

_TOLERANCE = 1e-6
"""Seconds by which sums of fractions may differ."""


class Rate(msgspec.Struct, frozen=True):
    """The most requests of a client within a number of seconds."""

    requests: int
    seconds: int

    def __str__(self) -> str:
        return f"{self.requests}/{self.seconds}s"


def parse_rate(text: str) -> Rate:
    """A rate such as `6000/300s`; raises `OperatorError`."""
    parts = RATE.fullmatch(text)
    if parts is None:
        raise problems.INVALID_RATE(text=quoted(text))
    return Rate(int(parts[1]), int(parts[2]))


class _Bucket:
    """A token bucket: all requests of a rate may come at once, and are replaced evenly.

    It is the instant at which the bucket is full again; each request delays that. `share` are the
    requests that this process may count.
    """

    def __init__(self, rate: Rate, share: float, clock: Clock) -> None:
        self.rate = rate
        self._clock = clock
        self._each = rate.seconds / share
        self._full_at = clock()

    def count(self, requests: int) -> None:
        """Count requests that are allowed."""
        self._full_at = max(self._full_at, self._clock()) + requests * self._each

    def wait(self, requests: int) -> int:
        """The whole seconds until this number of requests is allowed."""
        most = max(0.0, self.rate.seconds - requests * self._each)
        return _whole(self._full_at - self._clock() - most)

    @property
    def left(self) -> int:
        """The requests that are allowed now."""
        missing = max(0.0, self._full_at - self._clock())
        return max(0, int((self.rate.seconds - missing + _TOLERANCE) / self._each))


class _Window:
    """A sliding window: at most the requests of a rate in any time of its length.

    The requests of a slot are forgotten together, a window after the last of them.
    """

    def __init__(self, rate: Rate, share: float, clock: Clock) -> None:
        self.rate = rate
        self._clock = clock
        self._share = int(share)
        self._slots: deque[tuple[float, float, int]] = deque()
        """The times of the first and the last request of each slot, and how many it has."""
        self._taken = 0

    def count(self, requests: int) -> None:
        """Count requests that are allowed."""
        first = now = self._clock()
        self._taken += requests
        if self._slots and now - self._slots[-1][0] < self.rate.seconds / _SLOTS:
            first, _, former = self._slots.pop()
            requests += former
        self._slots.append((first, now, requests))

    def wait(self, requests: int) -> int:
        """The whole seconds until this number of requests is allowed."""
        self._forget()
        excess = self._taken + min(requests, self._share) - self._share
        for _, last, taken in self._slots:
            if excess <= taken:
                return _whole(self._until(last)) if excess > 0 else 0
            excess -= taken
        return 0

    @property
    def left(self) -> int:
        """The requests that are allowed now."""
        self._forget()
        return max(0, self._share - self._taken)

    def _forget(self) -> None:
        while self._slots and self._until(self._slots[0][1]) <= _TOLERANCE:
            self._taken -= self._slots.popleft()[2]

    def _until(self, last: float) -> float:
        """The seconds until the requests of a slot are forgotten, by the time of the last one."""
        return last + self.rate.seconds - self._clock()


@dataclass(eq=False)
class Limits:
    """The accounts of the clients, by id: a new token does not change what is left.

    `rate` is that of clients without one, and of any other party. `of_all`: tokens that are not a
    client's have an account too. `sliding`: a rate is counted in a sliding window, and else
    replaced evenly. `clock` is that of the rates, and `now` that of the days.
    """

    at_once: int
    workers: int
    _: KW_ONLY
    rate: Rate | None = None
    of_all: bool = False
    sliding: bool = False
    clock: Clock = time.monotonic
    now: Clock = time.time
    _accounts: dict[str, "Account"] = field(default_factory=dict)
    # a party may have any name, and only its requests under way count
    _parties: WeakValueDictionary[str, "Account"] = field(default_factory=WeakValueDictionary)

    def __post_init__(self) -> None:
        self.at_once = max(1, self.at_once // self.workers)

    def account(self, client_id: str, rate: Rate | None, quota: int | None) -> "Account":
        """The account of a client with these limits, which may have changed."""
        account = self._accounts.setdefault(client_id, Account(self))
        account.set_limits(rate or self.rate, quota)
        return account

    def party(self, subject: str) -> "Account":
        """The account of a subject without limits of its own, such as one of an outside issuer."""
        account = self._parties.setdefault(subject, Account(self))
        account.set_limits(self.rate, None)
        return account

    def refill(self) -> None:
        """Forget what all of them have used, as when their clock moves back."""
        for account in [*self._accounts.values(), *self._parties.values()]:
            account.refill()

    def meter(self, rate: Rate) -> _Bucket | _Window:
        """The counter of an account's requests against this process's share of a rate."""
        share = max(1.0, rate.requests / self.workers)
        return (_Window if self.sliding else _Bucket)(rate, share, self.clock)

    def share(self, quota: int) -> int:
        """The records of a quota that this process may count."""
        return max(1, quota // self.workers)


@dataclass(eq=False)
class Account:
    """The part of its limits that a client has used in this process, in one event loop."""

    _limits: Limits
    _running: int = 0
    _meter: _Bucket | _Window | None = None
    _quota: int | None = None
    _spent: int = 0
    _day: int = 0

    def set_limits(self, rate: Rate | None, quota: int | None) -> None:
        """Set the rate and the quota of records; another rate forgets the requests so far."""
        if rate is None:
            self._meter = None
        elif self._meter is None or self._meter.rate != rate:
            self._meter = self._limits.meter(rate)
        self._quota = quota

    def enter(self) -> None:
        """Begin a request, which `leave` ends even after a refusal.

        Raises `Refusal` (429) above a limit.
        """
        self._running += 1
        most = self._limits.at_once
        if self._running > most:
            raise _beyond(rows.CONCURRENCY, 1, actual=self._running, limit=most)
        self.check_quota()
        self.take(1)

    def refill(self) -> None:
        """Forget what was used; the requests under way still count."""
        if self._meter is not None:
            self._meter = self._limits.meter(self._meter.rate)
        self._spent = 0

    def leave(self) -> None:
        """End a request."""
        self._running -= 1

    def take(self, requests: int) -> None:
        """Count requests; raises `Refusal` (429) and counts none if they exceed the rate.

        More requests than the rate allows at once, as in a batch, need all of it, and later ones
        wait for the excess.
        """
        if self._meter is None:
            return
        seconds = self._meter.wait(requests)
        if seconds:
            rate, most = self._meter.rate, self._meter.rate.requests
            raise _beyond(rows.RATE, seconds, rate=f"{rate}", actual=most + requests, limit=most)
        self._meter.count(requests)

    def check_quota(self) -> None:
        """Raise `Refusal` (429) if the client has read the records of the day."""
        if self._quota is not None:
            seconds = self._seconds_today()
            if self._spent >= self._limits.share(self._quota):
                raise _beyond(rows.QUOTA, seconds, records=self._quota)

    def spend(self, records: int) -> None:
        """Count records that the client reads, also beyond the quota of the day.

        A response that has begun is complete.
        """
        if self._quota is not None:
            self._seconds_today()
            self._spent += records

    def _seconds_today(self) -> int:
        """The seconds until the next day of UTC; the first call of a day begins its quota."""
        day, second = divmod(int(self._limits.now()), DAY)
        if day != self._day:
            self._day, self._spent = day, 0
        return DAY - second

    def headers(self) -> list[tuple[bytes, bytes]]:
        """The limits and what is left of them (draft-ietf-httpapi-ratelimit-headers-11).

        While no request is left, the time is that of the next one, as in `Retry-After`, and else
        that at which all of the rate is allowed.
        """
        states: list[tuple[str, str]] = []
        if self._meter is not None:
            rate, left = self._meter.rate, self._meter.left
            seconds = self._meter.wait(rate.requests if left else 1)
            policy = f'"client";q={rate.requests};w={rate.seconds}'
            states.append((policy, f'"client";r={left};t={seconds}'))
        if self._quota is not None:
            seconds = self._seconds_today()
            left = max(0, self._limits.share(self._quota) - self._spent)
            policy = f'"records";q={self._quota};qu="comptoir-records";w={DAY}'
            states.append((policy, f'"records";r={left};t={seconds}'))
        if not states:
            return []
        policies, limits = zip(*states, strict=True)
        return [
            (b"ratelimit-policy", ", ".join(policies).encode()),
            (b"ratelimit", ", ".join(limits).encode()),
        ]


def _whole(seconds: float) -> int:
    return max(0, ceil(seconds - _TOLERANCE))


def _beyond(row: RefusalRow, seconds: int, /, **facts: Fact) -> Refusal:
    plural = "" if seconds == 1 else "s"
    return row(more={**facts, "seconds": seconds, "plural": plural})
