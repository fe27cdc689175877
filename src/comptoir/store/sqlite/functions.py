"""The functions that SQLite is taught: text, times and numbers as Python computes them."""

import sqlite3
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial

from comptoir.edm.duration import DAY, DURATION, SECOND, TIME_OF_DAY, duration_text
from comptoir.edm.primitive import PrimitiveType, Stored, ValueFault
from comptoir.edm.scalar import BOOLEAN, GUID
from comptoir.edm.temporal import DATE, INSTANT
from comptoir.plan.searches import fold
from comptoir.request.pattern import compiled_pattern
from comptoir.sql.functions import REGISTERED, REGISTERED_AGGREGATES
from comptoir.sql.prepared import PREFIX
from comptoir.sql.trigrams import trigrams
from comptoir.store.sqlite.computing import NUMBERS, Computing, ComputingFault
from comptoir.store.sqlite.limit import Limit
from comptoir.store.sqlite.totals import TOTALS, WIDE_TOTALS, WideTotal

_FIRST = datetime(1, 1, 1)  # noqa: DTZ001 - moments are stored in UTC, without saying so
_MILLISECOND = SECOND // 1_000
_DAYS = (date.max - date.min).days


def _substring(text: str, start: int, length: int | None = None) -> str:
    """The text from a position on; a negative position counts from the end."""
    if length is not None and length < 0:
        raise ComputingFault(f"substring takes a length that is not negative, but got {length}.")
    first = max(len(text) + start, 0) if start < 0 else start
    return text[first:] if length is None else text[first : first + length]


def _matching(limit: Limit) -> Computing:
    def matches(text: str, pattern: str) -> int:
        return int(compiled_pattern(pattern).found_in(text, limit.check))

    return matches


def _span(moment: str) -> int:
    """A moment as the span since the first one, in a duration's units."""
    elapsed = datetime.fromisoformat(moment[:-1]) - _FIRST
    seconds = elapsed.days * 86_400 + elapsed.seconds
    return seconds * SECOND + elapsed.microseconds // 10


def _moved_moment(moment: str, span: int) -> str:
    # what is finer than a millisecond is cut, as in every instant
    elapsed = (_span(moment) + span) // _MILLISECOND
    if not 0 <= elapsed <= (_DAYS + 1) * 86_400_000 - 1:
        raise ComputingFault(
            f"{moment} and {duration_text(span)} give a moment outside the years 1 to 9999."
        )
    moved = _FIRST + timedelta(milliseconds=elapsed)
    return f"{moved.isoformat(timespec='milliseconds')}Z"


def _moved_date(day: str, span: int) -> str:
    days = date.fromisoformat(day).toordinal() - 1 + span // DAY
    if not 0 <= days <= _DAYS:
        raise ComputingFault(
            f"{day} and {duration_text(span)} give a date outside the years 1 to 9999."
        )
    return date.fromordinal(days + 1).isoformat()


def _between_dates(left: str, right: str) -> int:
    return (date.fromisoformat(left) - date.fromisoformat(right)).days * DAY


def _read(kind: PrimitiveType) -> Callable[[str], Stored | None]:
    def run(text: str) -> Stored | None:
        try:
            return kind.from_text(text)
        except ValueFault:
            return None

    return run


def _instant_of_text(text: str) -> Stored | None:
    read = _read(INSTANT)
    found = read(text)
    return read(f"{text}Z") if found is None else found


_OTHERS: dict[str, Computing] = {
    "fold": fold,
    "trigrams": trigrams,
    "tolower": str.lower,
    "toupper": str.upper,
    "trim": str.strip,
    "contains": lambda text, part: int(part in text),
    "startswith": lambda text, part: int(text.startswith(part)),
    "indexof": str.find,
    "endswith": lambda text, part: int(text.endswith(part)),
    "substring": _substring,
    "add_moment": _moved_moment,
    "sub_moment": lambda moment, span: _moved_moment(moment, -span),
    "between_moments": lambda left, right: _span(left) - _span(right),
    "add_date": _moved_date,
    "sub_date": lambda day, span: _moved_date(day, -span),
    "between_dates": _between_dates,
    "boolean_of_text": _read(BOOLEAN),
    "guid_of_text": _read(GUID),
    "date_of_text": _read(DATE),
    "instant_of_text": _instant_of_text,
    "time_of_text": _read(TIME_OF_DAY),
    "duration_of_text": _read(DURATION),
    "text_of_duration": duration_text,
}


_ALL = {**_OTHERS, **NUMBERS, **TOTALS}


class Faults:
    """Keeps what a function of a connection found wrong; the driver tells only that it failed."""

    def __init__(self) -> None:
        self._message: str | None = None

    def guarded(self, compute: Computing, limit: Limit) -> Computing:
        """A function that gives null for null, keeps the message of a fault and checks a limit."""

        def run(*arguments: Stored | None) -> Stored | None:
            if None in arguments:
                return None
            limit.check()
            try:
                return compute(*arguments)
            except ComputingFault as fault:
                self.keep(fault)
                raise

        return run

    def keep(self, fault: ComputingFault) -> None:
        """Keep the message of a fault."""
        self._message = str(fault)

    def take(self) -> str | None:
        """The message of the last fault, once."""
        message, self._message = self._message, None
        return message


class _Total:
    """An aggregate function of a connection: takes wide numbers in, and makes something of them."""

    def __init__(
        self, faults: Faults, limit: Limit, made: Callable[[WideTotal], Stored | None]
    ) -> None:
        self._faults = faults
        self._limit = limit
        self._made = made
        self._total = WideTotal()

    def step(self, value: str | None, /) -> None:
        """Take a number in."""
        self._limit.check()
        self._total.step(value)

    def finalize(self) -> Stored | None:
        """What is made of the numbers."""
        try:
            return self._made(self._total)
        except ComputingFault as fault:
            self._faults.keep(fault)
            raise


class Connection(sqlite3.Connection):
    """A connection that knows what its functions found wrong, and when a statement must end."""

    faults = Faults()
    limit = Limit()

    def stop(self) -> None:
        """End the statement under way: between two records, or within a function."""
        self.limit.stop()
        self.interrupt()


def register(connection: Connection) -> None:
    """Teach a connection the functions."""
    faults, limit = connection.faults, connection.limit = Faults(), Limit()
    functions = {**_ALL, "matchespattern": _matching(limit)}
    for name, arity in REGISTERED.items():
        compute = functions[name]
        # deterministic functions are computed once for a constant argument
        connection.create_function(
            f"{PREFIX}{name}", arity, faults.guarded(compute, limit), deterministic=True
        )
    for name in REGISTERED_AGGREGATES:
        total = partial(_Total, faults, limit, WIDE_TOTALS[name])
        # the driver takes more than the whole numbers that its declaration says
        connection.create_aggregate(f"{PREFIX}{name}", 1, total)  # type: ignore[arg-type]
