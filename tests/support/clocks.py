"""A clock that tests set, and dates that a test may see."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass
class SetClock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def days_ahead(days: int, since: datetime) -> set[str]:
    """The dates that were a number of days ahead since a time: two if a day has ended meanwhile."""
    return {f"{each + timedelta(days=days):%Y-%m-%d}" for each in (since, datetime.now(UTC))}
