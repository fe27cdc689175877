"""Times: `Edm.Date` and `Edm.DateTimeOffset`, and for queries `Edm.TimeOfDay` and `Edm.Duration`.

All but durations are stored as text, whose order is the order in time.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from types import MappingProxyType

from typing_extensions import override

from comptoir.edm.numbers import MOST_DECIMAL, SCALE, UNIT, WHOLE_DIGITS, decimal_text
from comptoir.edm.types import EdmError, Stored, TextualType, Wire
from comptoir.errors import refusal_rows as rows

Clock = Callable[[], float]
"""Returns a time in seconds, by default that since 1970 in UTC."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_INSTANT = re.compile(
    r"(\d{4}-\d{2}-\d{2}[Tt ](\d{2}):\d{2}(?::\d{2})?(?:\.\d{1,20})?)"
    r"(?:[Zz]|[+-](\d{2}):(\d{2}))",
    re.ASCII,
)
_STORED_INSTANT = re.compile(
    r"\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z", re.ASCII
)


class Date(TextualType):
    """A calendar date (RFC 3339 `full-date`); `0001-01-01` is the empty value."""

    edm_name = "Edm.Date"
    default = "0001-01-01"
    expected = "a date"
    example = '"2026-01-31"'
    json_schema = MappingProxyType({"type": "string", "format": "date"})

    @override
    def from_text(self, text: str) -> Stored:
        if _DATE.fullmatch(text) is None:
            raise self.malformed(text)
        try:
            date.fromisoformat(text)
        except ValueError:
            raise EdmError(rows.NO_DATE, value=text) from None
        return text


class DateTimeOffset(TextualType):
    """An instant (RFC 3339 `date-time`) in UTC; digits after the milliseconds are truncated."""

    edm_name = "Edm.DateTimeOffset"
    default = "0001-01-01T00:00:00.000Z"
    expected = "a date and time with an offset"
    example = '"2026-01-31T12:30:00.000Z"'
    facets = MappingProxyType({"Precision": 3})
    json_schema = MappingProxyType({"type": "string", "format": "date-time"})

    @override
    def from_text(self, text: str) -> Stored:
        if _STORED_INSTANT.fullmatch(text) is not None:
            try:
                date.fromisoformat(text[:10])
            except ValueError:
                pass
            else:
                return text
        match = _INSTANT.fullmatch(text)
        if match is None:
            raise self.malformed(text)
        local, hour, offset_hours, offset_minutes = match.groups(default="0")
        try:
            check_hour(hour)
            if int(offset_hours) > 23 or int(offset_minutes) > 59:
                # an error of the date or the time takes precedence
                datetime.fromisoformat(local)
                raise EdmError(rows.NO_OFFSET, value=text)
            return instant(datetime.fromisoformat(text.upper()))
        except (ValueError, OverflowError):
            raise EdmError(rows.NO_INSTANT, value=text) from None


class ShortInstant(DateTimeOffset):
    """An instant whose wire form has no zeros at the end of its seconds: `12:30:00.5Z`."""

    example = '"2026-01-31T12:30:00Z"'
    form = "(short)"

    @staticmethod
    def _wire(stored: Stored) -> Wire:
        seconds, _, fraction = str(stored)[:-1].partition(".")
        fraction = fraction.rstrip("0")
        return f"{seconds}.{fraction}Z" if fraction else f"{seconds}Z"

    to_wire = _wire


def check_hour(time: str) -> None:
    """Raise `ValueError` for the hour 24, which Python 3.14 accepts as the next midnight."""
    if time.startswith("24"):
        raise ValueError(time)


def instant(value: datetime) -> str:
    """The stored form of an `Edm.DateTimeOffset`; `value` has a time zone."""
    utc = value.astimezone(UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='milliseconds')}Z"


_TIME = re.compile(r"\d{2}:\d{2}(?::\d{2}(?:\.\d{1,20})?)?", re.ASCII)
_DURATION = re.compile(
    r"(-?)P(?=[\dT])(?:(\d{1,12})D)?"
    r"(?:T(?=\d)(?:(\d{1,14})H)?(?:(\d{1,16})M)?(?:(\d{1,18})(?:\.(\d{1,20}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
SECOND: int = UNIT
"""A second in the unit of stored durations."""

_MINUTE = 60 * SECOND
_HOUR = 60 * _MINUTE
DAY = 24 * _HOUR
"""A day in the unit of stored durations."""


class TimeOfDay(TextualType):
    """A time of day as `HH:MM:SS.fff`; digits after the milliseconds are truncated."""

    edm_name = "Edm.TimeOfDay"
    default = "00:00:00.000"
    expected = "a time of day"
    example = '"23:59:59.999"'
    json_schema = MappingProxyType({"type": "string", "format": "time"})

    @override
    def from_text(self, text: str) -> Stored:
        if _TIME.fullmatch(text) is None:
            raise self.malformed(text)
        try:
            check_hour(text)
            return time.fromisoformat(text).isoformat("milliseconds")
        except ValueError:
            raise EdmError(rows.NO_TIME, value=text) from None


def duration_text(stored: Stored) -> str:
    """A stored duration in ISO 8601: an hour and a half is `PT1H30M`."""
    days, rest = divmod(abs(int(stored)), DAY)
    hours, rest = divmod(rest, _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    seconds = f"{decimal_text(rest)}S" if rest or not stored else ""
    timed = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes) + seconds
    sign = "-" if int(stored) < 0 else ""
    return f"{sign}P{f'{days}D' * bool(days)}{f'T{timed}' * bool(timed)}"


class Duration(TextualType):
    """A duration (XML Schema `dayTimeDuration`), stored in hundred-thousandths of a second.

    Its length in seconds is a Decimal, and has the range and the scale of one.
    """

    edm_name = "Edm.Duration"
    default = 0
    expected = "a duration"
    example = '"P1DT12H"'
    json_schema = MappingProxyType({"type": "string", "format": "duration"})

    @override
    def from_text(self, text: str) -> Stored:
        match = _DURATION.fullmatch(text)
        if match is None:
            raise self.malformed(text)
        sign, *counts, fraction = match.groups(default="")
        units = (DAY, _HOUR, _MINUTE, SECOND)
        span = sum(int(count or 0) * unit for count, unit in zip(counts, units, strict=True))
        span += int(fraction.ljust(SCALE, "0")[:SCALE])
        if span > MOST_DECIMAL:
            raise EdmError(rows.LONG_DURATION, most=WHOLE_DIGITS, value=text)
        return -span if sign else span

    @override
    def to_text(self, stored: Stored) -> str:
        return duration_text(stored)

    to_wire = staticmethod(duration_text)


DATE = Date()
INSTANT = DateTimeOffset()
SHORT_INSTANT = ShortInstant()
TIME_OF_DAY = TimeOfDay()
DURATION = Duration()
