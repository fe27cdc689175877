"""The clock of a rehearsal goes forward only."""

import pytest

from comptoir.errors import BAD_REQUEST, Refusal
from comptoir.features.rehearsal.clock import ShiftedClock

DAY = 86_400


def test_a_clock_is_ahead_by_what_it_was_advanced() -> None:
    clock = ShiftedClock(lambda: 1_000.0)
    assert clock() == 1_000.0
    clock.advance(480)
    clock.advance(0.5)
    assert (clock(), clock.shift) == (1_480.5, 480.5)
    assert ShiftedClock(lambda: 1_000.0, clock.shift)() == 1_480.5


@pytest.mark.parametrize("seconds", [0.0, -1.0, -1e300, float("nan"), float("inf"), 367 * DAY])
def test_a_clock_does_not_move_back_nor_too_far(seconds: float) -> None:
    clock = ShiftedClock(lambda: 1_000.0)
    clock.advance(1)
    with pytest.raises(Refusal) as caught:
        clock.advance(seconds)
    assert caught.value.error is BAD_REQUEST
    assert caught.value.target == "advance"
    assert clock() == 1_001.0


def test_the_days_ahead_are_limited_in_sum() -> None:
    clock = ShiftedClock(lambda: 0.0)
    clock.advance(366 * DAY)
    with pytest.raises(Refusal, match="366 days"):
        clock.advance(1)
