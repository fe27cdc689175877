"""Failed authentications are kept until they are written, a few of each address."""

import asyncio
from collections.abc import Sequence

import pytest

from comptoir.auth.audit import Act
from comptoir.auth.failures import FREE_ENTRIES, MOST_CHARACTERS, MOST_WAITING, Failures
from support.clocks import SetClock


def written(failures: Failures) -> list[Act]:
    """Write failures; what was written."""
    found: list[Act] = []

    async def record(acts: Sequence[Act]) -> None:
        found.extend(acts)

    asyncio.run(failures.write(record))
    return found


@pytest.fixture
def clock() -> SetClock:
    return SetClock(now=0.0)


@pytest.fixture
def failures(clock: SetClock) -> Failures:
    return Failures(clock)


def test_an_address_cannot_flood_the_log(failures: Failures, clock: SetClock) -> None:
    for at in range(100):
        failures.note(f"client-{at}", "10.0.0.1", "The client is unknown", "r")
    failures.note("webshop", "10.0.0.2", "The secret is wrong", "r")
    assert [each.target for each in written(failures)] == [
        *(f"client-{at}" for at in range(FREE_ENTRIES)),
        "webshop",
    ]
    for _ in range(600):
        clock.now += 1
        failures.note("later", "10.0.0.1", "The client is unknown", "r")
    assert len(written(failures)) < 20


def test_many_addresses_do_not_fill_the_memory(failures: Failures) -> None:
    for at in range(MOST_WAITING + 5):
        failures.note("webshop", f"10.0.{at // 256}.{at % 256}", "The secret is wrong", "r")
    assert len(written(failures)) == MOST_WAITING


def test_what_was_sent_is_cut_and_has_no_control_characters(failures: Failures) -> None:
    failures.note("a\0b\nc\x1b[31m\u2028\ud800" + "x" * 1_000, "1\r\n2", "why\0", "r")
    (act,) = written(failures)
    assert act.target.startswith("a\ufffdb\ufffdc\ufffd[31m\ufffd\ufffdx")
    assert len(act.target) == MOST_CHARACTERS
    assert act.actor.address == "1\ufffd\ufffd2"
    assert act.detail == "reason=why\ufffd"
