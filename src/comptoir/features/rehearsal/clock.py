"""A clock that a test can advance: of tokens, of windows of rates, of notifications."""

from comptoir.edm.times import Clock
from comptoir.errors.refusal import refuse
from comptoir.features.rehearsal import errors

MOST_DAYS = 366
"""The most days by which a clock can be ahead."""

_DAY = 86_400


class ShiftedClock:
    """A clock that is ahead of another one by `shift` seconds."""

    def __init__(self, clock: Clock, shift: float = 0.0) -> None:
        self._clock = clock
        self.shift = shift

    def __call__(self) -> float:
        """The time in seconds."""
        return self._clock() + self.shift

    def advance(self, seconds: float) -> None:
        """Move the clock on; raises `Refusal` (400) if it would not move, or move back."""
        if not seconds > 0:
            raise refuse(errors.CLOCK_BACK, "advance", seconds=seconds)
        if self.shift + seconds > MOST_DAYS * _DAY:
            raise refuse(errors.CLOCK_FAR, "advance", limit=MOST_DAYS)
        self.shift += seconds
