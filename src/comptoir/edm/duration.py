"""Times of day and durations: `Edm.TimeOfDay` and `Edm.Duration`, which queries compute with."""

import re
from datetime import time

from typing_extensions import override

from comptoir.edm.number import MOST_DECIMAL, SCALE, UNIT, decimal_text
from comptoir.edm.primitive import JsonSchema, Stored, ValueFault, Wire, WrittenType
from comptoir.edm.temporal import check_hour

_TIME = re.compile(r"(\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,20}))?)?", re.ASCII)
_DURATION = re.compile(
    r"(-?)P(?=[\dT])(?:(\d{1,12})D)?"
    r"(?:T(?=\d)(?:(\d{1,14})H)?(?:(\d{1,16})M)?(?:(\d{1,18})(?:\.(\d{1,20}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
SECOND: int = UNIT
"""A second as durations are stored."""

_MINUTE = 60 * SECOND
_HOUR = 60 * _MINUTE
DAY = 24 * _HOUR
"""A day as durations are stored."""


class TimeOfDay(WrittenType):
    """A time of day as `HH:MM:SS.fff`; digits past milliseconds are cut."""

    edm_name = "Edm.TimeOfDay"
    default = "00:00:00.000"
    no_value = '"00:00:00.000"'
    expected = "a time of day"

    @property
    @override
    def json_schema(self) -> JsonSchema:
        return {"type": "string", "format": "time"}

    @override
    def from_text(self, text: str) -> Stored:
        match = _TIME.fullmatch(text)
        if match is None:
            raise ValueFault(
                f"must be {self.expected} such as 23:59:59.999, but {text[:40]!r} is not."
            )
        minutes, seconds, fraction = match.groups()
        try:
            check_hour(minutes)
            time.fromisoformat(f"{minutes}:{seconds or '00'}")
        except ValueError:
            raise ValueFault(f"names a time that does not exist: {text[:40]}.") from None
        return f"{minutes}:{seconds or '00'}.{(fraction or '').ljust(3, '0')[:3]}"


class Duration(WrittenType):
    """A span of days and less (XML Schema `dayTimeDuration`), in hundred-thousandths of a second.

    So it has the range of a Decimal, which its seconds are.
    """

    edm_name = "Edm.Duration"
    default = 0
    no_value = '"PT0S"'
    expected = "a duration"

    @property
    @override
    def json_schema(self) -> JsonSchema:
        return {"type": "string", "format": "duration"}

    @override
    def from_text(self, text: str) -> Stored:
        match = _DURATION.fullmatch(text)
        if match is None:
            raise ValueFault(f"must be {self.expected} such as P1DT12H, but {text[:40]!r} is not.")
        sign, days, hours, minutes, seconds, fraction = match.groups()
        span = (
            int(days or 0) * DAY
            + int(hours or 0) * _HOUR
            + int(minutes or 0) * _MINUTE
            + int(seconds or 0) * SECOND
        )
        span += int((fraction or "").ljust(SCALE, "0")[:SCALE])
        if span > MOST_DECIMAL:
            raise ValueFault(f"is longer than a duration may be: {text[:40]}.")
        return -span if sign else span

    @override
    def to_text(self, stored: Stored) -> str:
        return duration_text(int(stored))

    @staticmethod
    def _wire(stored: Stored) -> Wire:
        return duration_text(int(stored))

    to_wire = _wire


def duration_text(stored: int) -> str:
    """A stored duration in ISO 8601: an hour and a half is `PT1H30M`."""
    days, rest = divmod(abs(stored), DAY)
    hours, rest = divmod(rest, _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    seconds = f"{decimal_text(rest)}S" if rest or not stored else ""
    timed = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes) + seconds
    sign = "-" if stored < 0 else ""
    return f"{sign}P{f'{days}D' * bool(days)}{f'T{timed}' * bool(timed)}"


TIME_OF_DAY = TimeOfDay()
DURATION = Duration()
