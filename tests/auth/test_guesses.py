"""The waits after failed authentications, with a clock that the tests set."""

import pytest

from comptoir.auth.failures import FREE_FAILURES, MOST_ENTRIES, Guesses
from support.clocks import SetClock
from support.together import together

HERE, ELSEWHERE = "198.51.100.7", "198.51.100.8"


@pytest.fixture
def clock() -> SetClock:
    return SetClock(1_000.3)


@pytest.fixture
def guesses(clock: SetClock) -> Guesses:
    return Guesses(clock)


def wait(guesses: Guesses, client: str = "shop", address: str = HERE) -> int:
    """The seconds that a client has to wait, 0 if it may try."""
    return guesses.wait(client, address)


def fail(guesses: Guesses, times: int = 1, client: str = "shop", address: str = HERE) -> None:
    for _ in range(times):
        guesses.note(client, address)


def test_the_waits_double_up_to_a_minute(guesses: Guesses, clock: SetClock) -> None:
    fail(guesses, FREE_FAILURES - 1)
    assert wait(guesses) == 0
    for seconds in (2, 4, 8, 16, 32, 60, 60):
        fail(guesses)
        # a request meanwhile does not prolong it
        assert {wait(guesses) for _ in range(100)} == {seconds}
        clock.now += seconds - 0.1
        assert wait(guesses) == 1
        clock.now += 0.1
        assert wait(guesses) == 0


def test_only_failures_of_the_last_minute_count(guesses: Guesses, clock: SetClock) -> None:
    for _ in range(100):
        fail(guesses)
        assert wait(guesses) == 0
        clock.now += 15.1
    fail(guesses, 1)
    assert wait(guesses) == 0
    fail(guesses, 1)
    assert wait(guesses) == 2


def test_a_minute_after_the_last_wait_all_is_forgotten(guesses: Guesses, clock: SetClock) -> None:
    fail(guesses, FREE_FAILURES + 2)
    assert wait(guesses) == 8
    clock.now += 8 + 60
    fail(guesses)
    assert wait(guesses) == 16
    clock.now += 16 + 60.1
    fail(guesses)
    assert wait(guesses) == 0


@together(
    ("first", "second", "is_same"),
    [
        (HERE, HERE, True),
        (HERE, ELSEWHERE, False),
        ("2001:db8:1:2::7", "2001:db8:1:2:ffff::8", True),
        ("2001:db8:1:2::7", "2001:db8:1:3::7", False),
        ("2001:DB8:1:2::7", "2001:db8:1:2::7", True),
        (f"::ffff:{HERE}", HERE, True),
        (f"::ffff:{HERE}", f"::ffff:{ELSEWHERE}", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("unknown", "unknown", True),
        ("unknown", "", False),
        ("", "", True),
    ],
)
def test_an_address_is_a_network_of_ipv6(
    clock: SetClock, first: str, second: str, *, is_same: bool
) -> None:
    guesses = Guesses(clock)
    fail(guesses, FREE_FAILURES, address=first)
    assert (wait(guesses, address=second) > 0) == is_same


def test_the_memory_is_bounded(guesses: Guesses) -> None:
    """The client whose last failure is the oldest is forgotten first."""
    fail(guesses, FREE_FAILURES, client="first")
    fail(guesses, FREE_FAILURES, client="second")
    fail(guesses, client="first")
    for number in range(MOST_ENTRIES - 1):
        fail(guesses, client=f"{number}")
    assert wait(guesses, client="second") == 0
    assert wait(guesses, client="first") > 0
    fail(guesses, client="last")
    assert wait(guesses, client="first") == 0
