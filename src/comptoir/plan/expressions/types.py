"""The types of expressions, and the stored form of wide decimals.

A Decimal has a fixed precision and scale, and so have sums and quotients. A product may have more
digits after the decimal point: it is a wide decimal, exact within the expression. Its stored form
is a text without a decimal point that sorts by value: the number in units of 10**-30, plus the
limit `LARGEST` so that none is negative, with leading zeros up to a fixed length.
"""

from dataclasses import dataclass

from comptoir.edm import numbers, times, types
from comptoir.edm.numbers import SCALE, WHOLE_DIGITS
from comptoir.edm.types import PrimitiveType
from comptoir.request.expression.tree import LiteralType

WIDE_SCALE = 30
"""Digits of a wide decimal after the decimal point."""

WIDE_UNIT: int = 10**WIDE_SCALE
"""The number 1 in units of a wide decimal."""

LARGEST: int = 10 ** (WHOLE_DIGITS + WIDE_SCALE)
"""The limit that every wide decimal is below, in its own units."""

FINER: int = 10 ** (WIDE_SCALE - SCALE)
"""Units of a wide decimal in one unit of a stored Decimal."""

_WIDE_LENGTH = len(str(2 * LARGEST))


@dataclass(frozen=True, eq=False, slots=True)
class ExpressionType:
    """A type of expressions: the EDM type of its values in a response, and its literals.

    `form` describes how to write a literal, for messages.
    """

    edm_type: PrimitiveType
    literals: tuple[LiteralType, ...]
    form: str

    @property
    def expected(self) -> str:
        """A noun phrase with its article, for messages."""
        if self is RECORD:
            return "a record"
        return "null" if self is NULL else self.edm_type.expected


_NUMBERS: tuple[LiteralType, ...] = ("integer", "decimal", "double")

TEXT = ExpressionType(types.TEXT, ("string",), "a text in single quotes")
WHOLE = ExpressionType(numbers.INT64, _NUMBERS, "a number")
DECIMAL = ExpressionType(numbers.DECIMAL, _NUMBERS, "a number")
WIDE_DECIMAL = ExpressionType(numbers.DECIMAL, _NUMBERS, "a number")
BOOLEAN = ExpressionType(types.BOOLEAN, ("boolean",), "true or false")
GUID = ExpressionType(types.GUID, ("guid",), "a Guid without quotes")
DATE = ExpressionType(times.DATE, ("date",), "a date such as 2026-01-31")
DATE_TIME = ExpressionType(
    times.INSTANT, ("datetimeoffset",), "a date and time such as 2026-01-31T12:30:00Z"
)
TIME_OF_DAY = ExpressionType(times.TIME_OF_DAY, ("timeofday",), "a time of day such as 23:59:59")
DURATION = ExpressionType(times.DURATION, ("duration",), "a duration such as duration'PT12H'")
NULL = ExpressionType(types.TEXT, ("null",), "null")
RECORD = ExpressionType(types.TEXT, (), "null")

NUMBERS = frozenset({WHOLE, DECIMAL, WIDE_DECIMAL})

TYPE_OF_LITERAL: dict[LiteralType, ExpressionType] = {
    literal: each
    for each in (TEXT, BOOLEAN, GUID, DATE, DATE_TIME, TIME_OF_DAY, DURATION, NULL)
    for literal in each.literals
} | {"integer": WHOLE, "decimal": DECIMAL, "double": DECIMAL}


_EXPRESSION_TYPES: tuple[tuple[type[PrimitiveType], ExpressionType], ...] = (
    (types.Text, TEXT),
    (numbers.Int32, WHOLE),
    (numbers.DecimalNumber, DECIMAL),
    (types.Boolean, BOOLEAN),
    (types.Guid, GUID),
    (times.Date, DATE),
    (times.DateTimeOffset, DATE_TIME),
    (times.TimeOfDay, TIME_OF_DAY),
    (times.Duration, DURATION),
)


def type_of(edm_type: PrimitiveType) -> ExpressionType:
    """Return the type of expressions whose values have an EDM type."""
    return next(found for each, found in _EXPRESSION_TYPES if isinstance(edm_type, each))


def wide_text(units: int) -> str:
    """Return the stored form of a wide decimal; `units` is at most `LARGEST` in size."""
    return f"{units + LARGEST:0{_WIDE_LENGTH}d}"


def wide_units(text: str) -> int:
    """Return the units of a wide decimal from its stored form."""
    return int(text) - LARGEST
