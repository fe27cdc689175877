"""The routines of SQLite: Python functions for what SQLite does not compute as OData defines it.

Connections register them by the names in `REGISTERED`. Results are exact, or an error. Whole
numbers are integers, Decimals are integers of hundred-thousandths, and wide decimals are texts
(`plan/expressions/types.py`). No argument is null.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from functools import partial
from typing import NamedTuple

from comptoir.edm import numbers
from comptoir.edm.numbers import DECIMAL, INT32, MOST_DECIMAL, MOST_WHOLE
from comptoir.edm.times import DATE, DAY, DURATION, INSTANT, SECOND, TIME_OF_DAY, duration_text
from comptoir.edm.types import BOOLEAN, GUID, EdmError, PrimitiveType, Stored
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal, RefusalRow
from comptoir.plan.expressions.options import INDEXED_LENGTH, fold
from comptoir.plan.expressions.types import (
    FINER,
    LARGEST,
    WIDE_SCALE,
    WIDE_UNIT,
    wide_text,
    wide_units,
)
from comptoir.request.pattern import found_in
from comptoir.sql.dialects.functions import SPLIT_AT

Computing = Callable[..., Stored | None]

_FIRST = datetime(1, 1, 1)  # noqa: DTZ001 - instants are stored in UTC, without an offset
_MILLISECOND = SECOND // 1_000
_DAYS = (date.max - date.min).days


def substring(text: str, start: int, length: int | None = None) -> str:
    """The text from a position; a negative position counts from the end."""
    if length is not None and length < 0:
        raise rows.NEGATIVE_SUBSTRING(what=f"{length}")
    first = max(len(text) + start, 0) if start < 0 else start
    return text[first:] if length is None else text[first : first + length]


def trigrams(term: str, most: int) -> str:
    """FTS5's query for the texts that have a term's trigrams, or `most` spread over the term."""
    last = len(term) - INDEXED_LENGTH
    count = min(last + 1, most)
    starts = [at * last // max(count - 1, 1) for at in range(count)]
    quoted = [term[start : start + INDEXED_LENGTH].replace('"', '""') for start in starts]
    return " AND ".join([f'"{each}"' for each in quoted])


def number_text(value: Stored) -> str:
    """The digits of a Decimal or wide decimal."""
    if isinstance(value, int):
        return numbers.decimal_text(value)
    units = wide_units(value)
    whole, rest = divmod(abs(units), WIDE_UNIT)
    digits = f"{whole}.{rest:0{WIDE_SCALE}d}".rstrip("0").rstrip(".")
    return f"-{digits}" if units < 0 else digits


def _units(value: Stored) -> int:
    return value * FINER if isinstance(value, int) else wide_units(value)


def _own_units(value: Stored) -> tuple[int, int]:
    """A Decimal or wide decimal in its own units, and the number 1 in these."""
    return (value, numbers.UNIT) if isinstance(value, int) else (wide_units(value), WIDE_UNIT)


def _too_large(what: str) -> Refusal:
    return rows.BEYOND_DIGITS(what=what, digits=numbers.WHOLE_DIGITS)


def _by_zero(left: str, operator: str) -> Refusal:
    return rows.DIVIDED_BY_ZERO(what=f"{left} {operator} 0")


def truncated(left: int, right: int) -> int:
    """The quotient towards zero."""
    quotient = abs(left) // abs(right)
    return -quotient if (left < 0) != (right < 0) else quotient


def _nearest_even(left: int, right: int) -> int:
    """The quotient to the nearest whole number, halves to the even one."""
    if right < 0:
        left, right = -left, -right
    quotient, rest = divmod(left, right)
    if 2 * rest > right or (2 * rest == right and quotient % 2):
        quotient += 1
    return quotient


def away(left: int, right: int) -> int:
    """The quotient to the nearest whole number, halves away from zero."""
    quotient, rest = divmod(abs(left), right)
    if 2 * rest >= right:
        quotient += 1
    return -quotient if left < 0 else quotient


class Form(NamedTuple):
    """A form of numbers: its largest number, and the row that refuses a larger one.

    `units` reads a stored number, and `stored` is its inverse; `text` shows one in a message.
    """

    most: int
    row: RefusalRow
    units: Callable[[Stored], int]
    stored: Callable[[int], Stored]
    text: Callable[[Stored], str]


FORMS = {
    "whole": Form(MOST_WHOLE, rows.BEYOND_BITS, int, int, str),
    "decimal": Form(MOST_DECIMAL, rows.BEYOND_DIGITS, int, int, number_text),
    "wide": Form(LARGEST - 1, rows.BEYOND_DIGITS, _units, wide_text, number_text),
}


def operation(operator: str, form: str, compute: Callable[[int, int], int]) -> Computing:
    """An operation on numbers of a form; if Decimals are multiplied, the right one is whole."""
    most, row, units, stored, text = FORMS[form]
    right_text = str if operator == "mul" and form == "decimal" else text

    def run(left: Stored, right: Stored) -> Stored:
        divisor = units(right)
        if not divisor and operator in ("div", "mod"):
            raise _by_zero(text(left), operator)
        result = compute(units(left), divisor)
        if abs(result) > most:
            what = f"{text(left)} {operator} {right_text(right)}"
            raise row(what=what, digits=numbers.WHOLE_DIGITS)
        return stored(result)

    return run


def _operation_text(left: Stored, operator: str, right: Stored) -> str:
    return f"{number_text(left)} {operator} {number_text(right)}"


def mul_wide(left: Stored, right: Stored) -> str:
    """The product of two numbers, a wide decimal."""
    units, rest = divmod(_units(left) * _units(right), WIDE_UNIT)
    if rest:
        raise rows.TOO_FINE(what=_operation_text(left, "mul", right), decimals=WIDE_SCALE)
    if abs(units) >= LARGEST:
        raise _too_large(_operation_text(left, "mul", right))
    return wide_text(units)


def div_decimal(left: Stored, right: Stored) -> int:
    """The quotient of two numbers, a Decimal."""
    divisor = _units(right)
    if not divisor:
        raise _by_zero(number_text(left), "div")
    quotient = _nearest_even(_units(left) * numbers.UNIT, divisor)
    if abs(quotient) > MOST_DECIMAL:
        raise _too_large(_operation_text(left, "div", right))
    return quotient


def remainder(left: int, right: int) -> int:
    """The remainder of division towards zero, with the sign of the dividend."""
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def rounding(compute: Callable[[int, int], int], name: str) -> Callable[[Stored], int]:
    """A function that rounds a number to an integer by `compute`."""

    def run(value: Stored) -> int:
        result = compute(*_own_units(value)) * numbers.UNIT
        if abs(result) > MOST_DECIMAL:
            raise _too_large(f"{name} of {number_text(value)}")
        return result

    return run


def scale_checked(value: int) -> int:
    """A whole number as a Decimal."""
    if abs(value) > MOST_DECIMAL // numbers.UNIT:
        raise rows.TOO_MANY_DIGITS(what=f"{value}", digits=numbers.WHOLE_DIGITS)
    return value * numbers.UNIT


def narrow(value: Stored) -> int:
    """A number as a Decimal."""
    stored, rest = divmod(_units(value), FINER)
    if rest:
        raise rows.TOO_MANY_DECIMALS(what=number_text(value), scale=numbers.SCALE)
    return stored


def total(most: int, row: RefusalRow) -> Callable[[int, int], int]:
    """A function that joins the sums of both parts, up to `most`, beyond which `row` refuses."""

    def run(upper: int, lower: int) -> int:
        total = (upper << SPLIT_AT) + lower
        if abs(total) > most:
            raise row(what="a sum", digits=numbers.WHOLE_DIGITS)
        return total

    return run


def _mean(total: int, count: int) -> int:
    mean = _nearest_even(total, count)
    if abs(mean) > MOST_DECIMAL:
        raise _too_large("an average")
    return mean


def averaging(unit: int) -> Callable[[int, int, int], int]:
    """A function that averages numbers, from the sums of both parts and their count."""
    return lambda upper, lower, count: _mean(((upper << SPLIT_AT) + lower) * unit, count)


class WideTotal:
    """Sums wide decimals, and ignores null."""

    def __init__(self) -> None:
        self._total = 0
        self._count = 0

    def step(self, value: str | None) -> None:
        """Add a number."""
        if value is not None:
            self._total += wide_units(value)
            self._count += 1

    def sum(self) -> Stored | None:
        """The sum as a wide decimal; null without numbers."""
        if not self._count:
            return None
        if abs(self._total) >= LARGEST:
            raise _too_large("a sum")
        return wide_text(self._total)

    def average(self) -> Stored | None:
        """The average, rounded to a Decimal; null without numbers."""
        if not self._count:
            return None
        return _mean(self._total, self._count * FINER)


def _since_first(instant: str) -> int:
    """The duration from the first instant to this one."""
    elapsed = datetime.fromisoformat(instant[:-1]) - _FIRST
    seconds = elapsed.days * 86_400 + elapsed.seconds
    return seconds * SECOND + elapsed.microseconds // 10


def add_datetime(instant: str, duration: int) -> str:
    """The instant after a duration."""
    # an instant has no digits after the milliseconds
    elapsed = (_since_first(instant) + duration) // _MILLISECOND
    if not 0 <= elapsed <= (_DAYS + 1) * 86_400_000 - 1:
        raise rows.MOMENT_OUTSIDE(what=f"{instant} and {duration_text(duration)}")
    moved = _FIRST + timedelta(milliseconds=elapsed)
    return f"{moved.isoformat(timespec='milliseconds')}Z"


def add_date(day: str, duration: int) -> str:
    """The date after a duration."""
    days = date.fromisoformat(day).toordinal() - 1 + duration // DAY
    if not 0 <= days <= _DAYS:
        raise rows.DATE_OUTSIDE(what=f"{day} and {duration_text(duration)}")
    return date.fromordinal(days + 1).isoformat()


def between_datetimes(left: str, right: str) -> int:
    """The duration from the right instant to the left one."""
    return _since_first(left) - _since_first(right)


def between_dates(left: str, right: str) -> int:
    """The duration from the right date to the left one."""
    return (date.fromisoformat(left) - date.fromisoformat(right)).days * DAY


def parsing(wanted: PrimitiveType) -> Callable[[str], Stored | None]:
    """A function that parses a text as a type; null where the text is not of the type."""

    def run(text: str) -> Stored | None:
        try:
            return wanted.from_text(text)
        except EdmError:
            return None

    return run


def datetime_of_text(text: str) -> Stored | None:
    """The instant in a text, in UTC where the text has no offset; null where it has none."""
    found = _instant_of_text(text)
    return _instant_of_text(f"{text}Z") if found is None else found


_instant_of_text = parsing(INSTANT)


def whole_of_text(text: str) -> int | None:
    """The whole number in a text, of any size; null where it has none."""
    try:
        return int(numbers.INT64.from_key(text))
    except EdmError:
        return None


def rounded(value: Stored) -> int:
    """A number rounded to an integer, halves away from zero."""
    return away(*_own_units(value))


def within(
    most: int, compute: Callable[..., int | None], least: int | None = None
) -> Callable[[Stored], int | None]:
    """A function that computes a number; null where it is greater than `most` or less than `least`.

    Without `least`, the range is as large below zero.
    """
    lowest = -most if least is None else least

    def run(value: Stored) -> int | None:
        number = compute(value)
        return number if number is not None and lowest <= number <= most else None

    return run


within_int32 = partial(within, INT32.maximum, least=INT32.minimum)

_OPERATIONS = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__, "mod": remainder}

REGISTERED: Mapping[str, Computing] = {
    "contains": lambda text, part: int(part in text),
    "indexof": str.find,
    "endswith": lambda text, part: int(text.endswith(part)),
    "matchespattern": lambda text, pattern: int(found_in(text, pattern)),
    "startswith": lambda text, part: int(text.startswith(part)),
    "substring": substring,
    "tolower": str.lower,
    "toupper": str.upper,
    "trim": str.strip,
    "add_date": add_date,
    "add_datetime": add_datetime,
    "between_dates": between_dates,
    "between_datetimes": between_datetimes,
    "sub_date": lambda day, duration: add_date(day, -duration),
    "sub_datetime": lambda instant, duration: add_datetime(instant, -duration),
    "ceiling": rounding(lambda units, unit: -(-units // unit), "ceiling"),
    "floor": rounding(int.__floordiv__, "floor"),
    "round": rounding(away, "round"),
    **{
        f"{name}_{form}": operation(name, form, compute)
        for name, compute in _OPERATIONS.items()
        for form in FORMS
    },
    "div_decimal": div_decimal,
    "div_whole": operation("div", "whole", truncated),
    "mul_wide": mul_wide,
    "narrow": narrow,
    "negate_wide": lambda value: wide_text(-wide_units(value)),
    "scale_checked": scale_checked,
    "widen": lambda value: wide_text(value * FINER),
    "boolean_of_text": parsing(BOOLEAN),
    "date_of_text": parsing(DATE),
    "datetime_of_text": datetime_of_text,
    "decimal_of_text": parsing(DECIMAL),
    "duration_of_text": parsing(DURATION),
    "guid_of_text": parsing(GUID),
    "int32_of_decimal": within_int32(rounded),
    "int32_of_text": within_int32(whole_of_text),
    "int32_of_whole": within_int32(int),
    "int64_of_decimal": within(MOST_WHOLE, rounded),
    "int64_of_text": within(MOST_WHOLE, whole_of_text),
    "rounded_decimal": within(MOST_DECIMAL, lambda value: away(wide_units(value), FINER)),
    "text_of_decimal": number_text,
    "text_of_duration": duration_text,
    "time_of_text": parsing(TIME_OF_DAY),
    "fold": fold,
    "trigrams": trigrams,
    "total_whole": total(MOST_WHOLE, rows.BEYOND_BITS),
    "total_decimal": total(MOST_DECIMAL, rows.BEYOND_DIGITS),
    "mean_whole": averaging(numbers.UNIT),
    "mean_decimal": averaging(1),
}
"""The functions that every connection registers, by their names in SQL without the prefix."""

REGISTERED_AGGREGATES: Mapping[str, Callable[[WideTotal], Stored | None]] = {
    "sum_wide": WideTotal.sum,
    "average_wide": WideTotal.average,
}
"""The aggregate functions that every connection registers, over wide decimals."""
