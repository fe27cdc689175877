"""The types of expressions, the stored form of wide decimals, and the functions of queries.

A Decimal has a fixed precision and scale, and so have sums and quotients. A product may have more
digits after the decimal point: it is a wide decimal, exact within the expression. Its stored form
is a text without a decimal point that sorts by value: the number in units of 10**-30, plus the
limit `LARGEST` so that none is negative, with leading zeros up to a fixed length.

The plan calls functions by their names. A table has their SQL in each dialect
(`sql/dialects/functions.py`), and mypy checks the names everywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import msgspec

from comptoir.edm import numbers, times
from comptoir.edm import types as edm
from comptoir.edm.numbers import INT32, SCALE, WHOLE_DIGITS
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

LONGEST_TEXT = 2**30
"""A number of characters that is larger than the length of any text."""


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

TEXT = ExpressionType(edm.TEXT, ("string",), "a text in single quotes")
WHOLE = ExpressionType(numbers.INT64, _NUMBERS, "a number")
DECIMAL = ExpressionType(numbers.DECIMAL, _NUMBERS, "a number")
WIDE_DECIMAL = ExpressionType(numbers.DECIMAL, _NUMBERS, "a number")
BOOLEAN = ExpressionType(edm.BOOLEAN, ("boolean",), "true or false")
GUID = ExpressionType(edm.GUID, ("guid",), "a Guid without quotes")
DATE = ExpressionType(times.DATE, ("date",), "a date such as 2026-01-31")
DATE_TIME = ExpressionType(
    times.INSTANT, ("datetimeoffset",), "a date and time such as 2026-01-31T12:30:00Z"
)
TIME_OF_DAY = ExpressionType(times.TIME_OF_DAY, ("timeofday",), "a time of day such as 23:59:59")
DURATION = ExpressionType(times.DURATION, ("duration",), "a duration such as duration'PT12H'")
NULL = ExpressionType(edm.TEXT, ("null",), "null")
RECORD = ExpressionType(edm.TEXT, (), "null")

NUMBERS = frozenset({WHOLE, DECIMAL, WIDE_DECIMAL})

TYPE_OF_LITERAL: dict[LiteralType, ExpressionType] = {
    literal: each
    for each in (TEXT, BOOLEAN, GUID, DATE, DATE_TIME, TIME_OF_DAY, DURATION, NULL)
    for literal in each.literals
} | {"integer": WHOLE, "decimal": DECIMAL, "double": DECIMAL}


_EXPRESSION_TYPES: tuple[tuple[type[PrimitiveType], ExpressionType], ...] = (
    (edm.Text, TEXT),
    (numbers.Int32, WHOLE),
    (numbers.DecimalNumber, DECIMAL),
    (edm.Boolean, BOOLEAN),
    (edm.Guid, GUID),
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


AggregateFunction: TypeAlias = Literal[
    "average_decimal", "average_whole", "average_wide", "count", "countdistinct", "max", "max_wide",
    "min", "min_wide", "sum_decimal", "sum_whole", "sum_wide",
]  # fmt: skip

FunctionName: TypeAlias = Literal[
    AggregateFunction,
    # of texts: with `_literal`, for literal operands, which a database computes faster
    "concat", "contains", "contains_literal", "endswith", "endswith_literal", "indexof",
    "indexof_literal", "length", "matchespattern", "startswith", "startswith_literal", "substring",
    "substring_literal", "tolower", "toupper", "trim",
    # of times
    "date", "day", "fractionalseconds", "fractionalseconds_of_time", "hour", "hour_of_time",
    "minute", "minute_of_time", "month", "second", "second_of_time", "time", "totaloffsetminutes",
    "totalseconds", "year", "add_date", "add_datetime", "between_dates", "between_datetimes",
    "sub_date", "sub_datetime",
    # of numbers: `native` is the database's own arithmetic, where the result is known to fit
    "ceiling", "floor", "round", "add_decimal", "add_native", "add_whole", "add_wide", "bounded",
    "div_decimal", "div_native", "div_whole", "mod_decimal", "mod_native", "mod_whole", "mod_wide",
    "mul_decimal", "mul_native", "mul_whole", "mul_wide", "narrow", "negate", "negate_wide",
    "scale", "scale_checked", "sub_decimal", "sub_native", "sub_whole", "sub_wide", "widen",
    # casts
    "boolean_of_text", "date_of_text", "datetime_of_text", "decimal_of_text", "duration_of_text",
    "guid_of_text", "int32_of_decimal", "int32_of_text", "int32_of_whole", "int64_of_decimal",
    "int64_of_text", "rounded_decimal", "text_of_boolean", "text_of_decimal", "text_of_duration",
    "text_of_text", "text_of_whole", "time_of_text",
    # of statements: a plan does not call them
    "as_number", "tied_to_row", "fold", "unindexed", "null_as_value",
]  # fmt: skip

NAMED: Mapping[str, FunctionName] = {name: name for name in get_args(FunctionName)}
"""The functions by name, for names that are composed of an operator and a type."""


class Signature(msgspec.Struct, frozen=True):
    """One overload of a canonical function; `function` is None for a constant instant.

    `most` bounds the size of a whole result. With `utc`, a literal argument must be in UTC, since
    the function asks for parts that an offset changes.
    """

    function: FunctionName | None
    parameters: tuple[ExpressionType, ...]
    result: ExpressionType
    most: int = INT32.maximum + 1
    own_type: PrimitiveType | None = None
    utc: bool = False


def _whole(
    function: FunctionName,
    *parameters: ExpressionType,
    most: int = INT32.maximum + 1,
    utc: bool = False,
) -> Signature:
    return Signature(function, parameters, WHOLE, most, INT32, utc)


SIGNATURES: Mapping[str, tuple[Signature, ...]] = {
    "concat": (Signature("concat", (TEXT, TEXT), TEXT),),
    "contains": (Signature("contains", (TEXT, TEXT), BOOLEAN),),
    "endswith": (Signature("endswith", (TEXT, TEXT), BOOLEAN),),
    "indexof": (_whole("indexof", TEXT, TEXT),),
    "length": (_whole("length", TEXT),),
    "matchesPattern": (Signature("matchespattern", (TEXT, TEXT), BOOLEAN),),
    "startswith": (Signature("startswith", (TEXT, TEXT), BOOLEAN),),
    "substring": (
        Signature("substring", (TEXT, WHOLE), TEXT),
        Signature("substring", (TEXT, WHOLE, WHOLE), TEXT),
    ),
    "tolower": (Signature("tolower", (TEXT,), TEXT),),
    "toupper": (Signature("toupper", (TEXT,), TEXT),),
    "trim": (Signature("trim", (TEXT,), TEXT),),
    "date": (Signature("date", (DATE_TIME,), DATE, utc=True),),
    "time": (Signature("time", (DATE_TIME,), TIME_OF_DAY, utc=True),),
    "year": (_whole("year", DATE, most=9_999), _whole("year", DATE_TIME, most=9_999, utc=True)),
    "month": (_whole("month", DATE, most=12), _whole("month", DATE_TIME, most=12, utc=True)),
    "day": (_whole("day", DATE, most=31), _whole("day", DATE_TIME, most=31, utc=True)),
    "hour": (
        _whole("hour", DATE_TIME, most=23, utc=True),
        _whole("hour_of_time", TIME_OF_DAY, most=23),
    ),
    "minute": (
        _whole("minute", DATE_TIME, most=59, utc=True),
        _whole("minute_of_time", TIME_OF_DAY, most=59),
    ),
    "second": (
        _whole("second", DATE_TIME, most=59),
        _whole("second_of_time", TIME_OF_DAY, most=59),
    ),
    "fractionalseconds": (
        Signature("fractionalseconds", (DATE_TIME,), DECIMAL),
        Signature("fractionalseconds_of_time", (TIME_OF_DAY,), DECIMAL),
    ),
    "totaloffsetminutes": (_whole("totaloffsetminutes", DATE_TIME, utc=True),),
    "totalseconds": (Signature("totalseconds", (DURATION,), DECIMAL),),
    "maxdatetime": (Signature(None, (), DATE_TIME),),
    "mindatetime": (Signature(None, (), DATE_TIME),),
    "now": (Signature(None, (), DATE_TIME),),
}
"""The overloads of each function, by its name as OData spells it."""
