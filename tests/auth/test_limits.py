"""The limits of a client: what is allowed, when the next request is, and what headers say."""

from collections.abc import Callable

import pytest

from comptoir.auth.limits import Account, Limits, parse_rate
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import TOO_MANY_REQUESTS
from support.clocks import SetClock

NOON = 1_700_049_600.0
"""12:00 UTC of a day."""


@pytest.fixture
def clock() -> SetClock:
    return SetClock(1_000.3)


@pytest.fixture
def wall() -> SetClock:
    return SetClock(NOON)


def account_with(
    clock: SetClock,
    wall: SetClock,
    rate: str | None = None,
    quota: int | None = None,
    at_once: int = 100,
    workers: int = 1,
    *,
    sliding: bool = False,
) -> Account:
    given = None if rate is None else parse_rate(rate)
    limits = Limits(at_once, workers, sliding=sliding, clock=clock, now=wall)
    return limits.account("1", given, quota)


def allowed(account: Account, most: int) -> int:
    """The number of consecutive requests up to the first refusal."""
    for count in range(most):
        try:
            account.enter()
        except Refusal:
            return count
        finally:
            account.leave()
    return most


def seconds_of(call: Callable[[], None]) -> int:
    """The seconds of `Retry-After` in the refusal of a call."""
    with pytest.raises(Refusal) as caught:
        call()
    assert caught.value.error is TOO_MANY_REQUESTS
    return int(caught.value.headers["Retry-After"])


def limit(account: Account) -> str:
    return dict(account.headers())[b"ratelimit"].decode()


def test_a_rate_may_be_used_at_once_and_is_replaced_evenly(clock: SetClock, wall: SetClock) -> None:
    account = account_with(clock, wall, "6/30s")
    assert allowed(account, 10) == 6

    clock.now += 5
    assert allowed(account, 10) == 1
    clock.now += 14.9
    assert allowed(account, 10) == 2
    clock.now += 1_000
    assert allowed(account, 10) == 6


@pytest.mark.parametrize("sliding", [False, True])
@pytest.mark.parametrize("rate", ["6/30s", "7/1s", "6000/300s", "1/999999s", "3/7s"])
def test_retry_after_is_the_whole_second_of_the_next_request(
    rate: str, clock: SetClock, wall: SetClock, *, sliding: bool
) -> None:
    account = account_with(clock, wall, rate, sliding=sliding)
    most = parse_rate(rate).requests
    assert allowed(account, most + 1) == most

    for _ in range(20):
        seconds = seconds_of(lambda: account.take(1))
        assert limit(account) == f'"client";r=0;t={seconds}'
        clock.now += seconds - 1
        if seconds > 1:
            assert allowed(account, 1) == 0
        clock.now += 1
        assert allowed(account, most) >= 1
        allowed(account, most)


def test_a_sliding_window_never_has_more_than_its_rate(clock: SetClock, wall: SetClock) -> None:
    """A client that always sends all it may, and one that resumes after `Retry-After`."""
    account = account_with(clock, wall, "60/300s", sliding=True)
    sent: list[float] = []
    for _ in range(2_000):
        sent += [clock.now] * allowed(account, 1)
        assert sum(each > clock.now - 300 for each in sent) <= 60
        # of each minute, the client sends in the first 40 seconds
        clock.now += 0.7 if clock.now % 60 < 40 else 20
    # what is late is late by a slot at most
    assert len(sent) >= 60 * int((clock.now - sent[0]) / 320)

    clock.now += 300
    assert allowed(account, 100) == 60
    clock.now += 250
    assert seconds_of(lambda: account.take(1)) == 50
    assert seconds_of(lambda: account.take(100)) == 50
    clock.now += 50
    account.take(100)
    assert limit(account) == '"client";r=0;t=300'


def test_a_batch_larger_than_the_rate_needs_all_of_it(clock: SetClock, wall: SetClock) -> None:
    account = account_with(clock, wall, "6/30s")
    assert allowed(account, 1) == 1
    assert seconds_of(lambda: account.take(10)) == 5

    clock.now += 5
    account.take(10)
    assert limit(account) == '"client";r=0;t=25'
    clock.now += 24.9
    assert allowed(account, 1) == 0
    clock.now += 0.1
    assert allowed(account, 2) == 1


def test_each_worker_allows_its_share(clock: SetClock, wall: SetClock) -> None:
    account = account_with(clock, wall, "6/30s", quota=9, at_once=5, workers=3)
    assert allowed(account, 10) == 2
    assert dict(account.headers()) == {
        b"ratelimit-policy": b'"client";q=6;w=30, "records";q=9;qu="comptoir-records";w=86400',
        b"ratelimit": b'"client";r=0;t=15, "records";r=3;t=43200',
    }
    few = account_with(clock, wall, "1/30s", quota=1, at_once=1, workers=3)
    assert allowed(few, 10) == 1


def test_a_quota_ends_with_the_day(clock: SetClock, wall: SetClock) -> None:
    account = account_with(clock, wall, quota=100)
    account.spend(99)
    account.check_quota()
    account.spend(50)
    assert seconds_of(account.check_quota) == 43_200
    assert limit(account) == '"records";r=0;t=43200'

    wall.now += 43_199
    assert seconds_of(account.check_quota) == 1
    wall.now += 1
    account.check_quota()
    assert limit(account) == '"records";r=100;t=86400'
