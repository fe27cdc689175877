"""Failed authentications are counted by minute, within bounds, and kept until they are written."""

import asyncio
from collections.abc import Sequence

import pytest

from comptoir.auth.audit import Act
from comptoir.auth.failures import MOST_CHARACTERS, MOST_KINDS, MOST_MINUTES, Failures
from comptoir.errors import UNAVAILABLE, Refusal
from support.clocks import SetClock

MINUTE = 60.0


class Log:
    """A log that is away at first, if it `fails`."""

    def __init__(self, *, fails: int = 0) -> None:
        self.fails = fails
        self.acts: list[Act] = []

    async def record(self, acts: Sequence[Act]) -> None:
        if self.fails:
            self.fails -= 1
            raise Refusal(UNAVAILABLE, "The database is away", "Try again.")
        self.acts += acts

    def write(self, failures: Failures, *, is_last: bool = False) -> list[Act]:
        """Write failures; what was written."""
        before = len(self.acts)
        asyncio.run(failures.write(self.record, is_last=is_last))
        return self.acts[before:]


@pytest.fixture
def clock() -> SetClock:
    return SetClock(now=0.0)


@pytest.fixture
def failures(clock: SetClock) -> Failures:
    return Failures(clock)


def test_failures_of_one_kind_in_a_minute_are_one_entry(
    failures: Failures, clock: SetClock
) -> None:
    for at in range(3):
        failures.note("webshop", "10.0.0.1", "The secret is wrong", f"r-{at}")
    failures.note("webshop", "10.0.0.2", "The secret is wrong", "r-9")
    log = Log()
    assert log.write(failures) == []
    clock.now += MINUTE
    failures.note("webshop", "10.0.0.1", "The secret is wrong", "r-10")
    first, second = log.write(failures)
    assert (first.target, first.actor.address, first.actor.request) == (
        "webshop",
        "10.0.0.1",
        "r-0",
    )
    assert first.detail == "count=3 minute=1970-01-01T00:00Z reason=The secret is wrong"
    assert second.actor.address == "10.0.0.2"
    assert log.write(failures) == []
    (last,) = log.write(failures, is_last=True)
    assert last.detail.startswith("count=1 minute=1970-01-01T00:01Z ")


def test_many_kinds_in_a_minute_share_an_entry(failures: Failures) -> None:
    for at in range(MOST_KINDS + 5):
        failures.note(f"client-{at}", "10.0.0.1", "The client is unknown", "r")
    failures.note("client-0", "10.0.0.1", "The client is unknown", "r")
    acts = Log().write(failures, is_last=True)
    assert len(acts) == MOST_KINDS + 1
    assert (acts[0].target, acts[0].detail[:8]) == ("client-0", "count=2 ")
    assert (acts[-1].target, acts[-1].detail[:8]) == ("others", "count=5 ")
    assert acts[-1].actor.address == ""


def test_a_minute_that_cannot_be_written_is_kept(failures: Failures, clock: SetClock) -> None:
    failures.note("one", "", "", "r")
    clock.now += MINUTE
    failures.note("two", "", "", "r")
    clock.now += MINUTE
    log = Log(fails=1)
    with pytest.raises(Refusal):
        log.write(failures)
    assert [each.target for each in log.write(failures)] == ["one", "two"]
    assert log.write(failures, is_last=True) == []


def test_the_oldest_minutes_are_dropped_first(failures: Failures, clock: SetClock) -> None:
    for at in range(MOST_MINUTES + 2):
        failures.note(str(at), "", "", "r")
        clock.now += MINUTE
    kept = [each.target for each in Log().write(failures)]
    assert kept == [str(at) for at in range(2, MOST_MINUTES + 2)]


def test_what_was_sent_is_cut_and_has_no_control_characters(failures: Failures) -> None:
    failures.note("a\0b\nc\x1b[31m\u2028\ud800" + "x" * 1_000, "1\r\n2", "why\0", "r")
    (act,) = Log().write(failures, is_last=True)
    assert act.target.startswith("a\ufffdb\ufffdc\ufffd[31m\ufffd\ufffdx")
    assert len(act.target) == MOST_CHARACTERS
    assert act.actor.address == "1\ufffd\ufffd2"
    assert act.detail.endswith("reason=why\ufffd")
