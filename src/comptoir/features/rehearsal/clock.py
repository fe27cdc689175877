"""A clock that a test can advance: of tokens, of windows of rates, of notifications."""

from comptoir import feature_rows
from comptoir.edm.times import Clock
from comptoir.errors import refuse

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
            raise refuse(feature_rows.CLOCK_BACK, "advance", seconds=seconds)
        if self.shift + seconds > MOST_DAYS * _DAY:
            raise refuse(feature_rows.CLOCK_FAR, "advance", limit=MOST_DAYS)
        self.shift += seconds
