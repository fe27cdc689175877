"""Dates and instants: `Edm.Date` and `Edm.DateTimeOffset`, stored as text that sorts in time."""

import re
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType

from typing_extensions import override

from comptoir.edm.primitive import JsonSchema, Stored, ValueFault, WrittenType

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_INSTANT = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,20}))?"
    r"(?:[Zz]|([+-])(\d{2}):(\d{2}))",
    re.ASCII,
)


class _Temporal(WrittenType):
    form: str

    def _malformed(self, text: str) -> ValueFault:
        return ValueFault(f"must be {self.expected} such as {self.form}, but {text[:40]!r} is not.")


class Date(_Temporal):
    """A calendar date (RFC 3339 `full-date`); `0001-01-01` is no date."""

    edm_name = "Edm.Date"
    default = "0001-01-01"
    no_value = '"0001-01-01"'
    expected = "a date"
    form = '"2026-01-31"'

    @property
    @override
    def json_schema(self) -> JsonSchema:
        return {"type": "string", "format": "date"}

    @override
    def from_text(self, text: str) -> Stored:
        if _DATE.fullmatch(text) is None:
            raise self._malformed(text)
        try:
            date.fromisoformat(text)
        except ValueError:
            raise ValueFault(f"names a day that does not exist: {text}.") from None
        return text


class DateTimeOffset(_Temporal):
    """An instant (RFC 3339 `date-time`), kept in UTC; digits past milliseconds are cut."""

    edm_name = "Edm.DateTimeOffset"
    default = "0001-01-01T00:00:00.000Z"
    no_value = '"0001-01-01T00:00:00.000Z"'
    expected = "a date and time with an offset"
    form = '"2026-01-31T12:30:00.000Z"'
    facets = MappingProxyType({"Precision": 3})

    @property
    @override
    def json_schema(self) -> JsonSchema:
        return {"type": "string", "format": "date-time"}

    @override
    def from_text(self, text: str) -> Stored:
        match = _INSTANT.fullmatch(text)
        if match is None:
            raise self._malformed(text)
        day, time, fraction, sign, hours, minutes = match.groups()
        milliseconds = (fraction or "").ljust(3, "0")[:3]
        try:
            check_hour(time)
            moment = datetime.fromisoformat(f"{day}T{time}")
            if sign:
                if int(hours) > 23 or int(minutes) > 59:
                    raise ValueFault(f"has an offset out of range: {text[:40]}.")
                offset = timedelta(hours=int(hours), minutes=int(minutes))
                moment = moment - offset if sign == "+" else moment + offset
        except (ValueError, OverflowError):
            raise ValueFault(
                f"names a moment that does not exist or is out of range: {text[:40]}."
            ) from None
        return f"{moment.isoformat(timespec='seconds')}.{milliseconds}Z"


def check_hour(time: str) -> None:
    """Raise `ValueError` for the hour 24, which Python takes from 3.14 on as the next midnight."""
    if time.startswith("24"):
        raise ValueError(time)


def instant(moment: datetime) -> str:
    """A moment in the stored form of `Edm.DateTimeOffset`."""
    utc = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='milliseconds')}Z"


DATE = Date()
INSTANT = DateTimeOffset()
