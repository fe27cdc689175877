"""The functions of queries: a name for each, and the types that each takes and returns.

The plan calls functions by these names. Each dialect has a table from the names to its SQL
(`sql/dialects/*/functions.py`), and mypy checks the names everywhere.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from comptoir.edm.number import INT32
from comptoir.edm.primitive import PrimitiveType
from comptoir.plan.expressions.kinds import (
    DAYS,
    EXACT,
    MOMENTS,
    SPANS,
    TIMES,
    TRUTH,
    WHOLE,
    WORDS,
    Kind,
)

TextFunction: TypeAlias = Literal[
    "concat",
    "contains",
    "contains_literal",
    "endswith",
    "endswith_literal",
    "indexof",
    "indexof_literal",
    "length",
    "matchespattern",
    "startswith",
    "startswith_literal",
    "substring",
    "substring_literal",
    "tolower",
    "toupper",
    "trim",
]
"""A name with `_literal` is a variant for literal operands, which a database computes faster."""

TimeFunction: TypeAlias = Literal[
    "date",
    "day",
    "fractionalseconds",
    "fractionalseconds_of_time",
    "hour",
    "hour_of_time",
    "minute",
    "minute_of_time",
    "month",
    "second",
    "second_of_time",
    "time",
    "totaloffsetminutes",
    "totalseconds",
    "year",
    "add_date",
    "add_datetime",
    "between_dates",
    "between_datetimes",
    "sub_date",
    "sub_datetime",
]

NumberFunction: TypeAlias = Literal[
    "ceiling",
    "floor",
    "round",
    "add_decimal",
    "add_native",
    "add_whole",
    "add_wide",
    "bounded",
    "div_decimal",
    "div_native",
    "div_whole",
    "mod_decimal",
    "mod_native",
    "mod_whole",
    "mod_wide",
    "mul_decimal",
    "mul_native",
    "mul_whole",
    "mul_wide",
    "narrow",
    "negate",
    "negate_wide",
    "scale",
    "scale_checked",
    "sub_decimal",
    "sub_native",
    "sub_whole",
    "sub_wide",
    "widen",
]
"""`native` is the database's own arithmetic, for operands whose result is known to fit."""

CastFunction: TypeAlias = Literal[
    "boolean_of_text",
    "date_of_text",
    "datetime_of_text",
    "decimal_of_text",
    "duration_of_text",
    "guid_of_text",
    "int32_of_decimal",
    "int32_of_text",
    "int32_of_whole",
    "int64_of_decimal",
    "int64_of_text",
    "rounded_decimal",
    "text_of_boolean",
    "text_of_decimal",
    "text_of_duration",
    "text_of_text",
    "text_of_whole",
    "time_of_text",
]

AggregateFunction: TypeAlias = Literal[
    "average_decimal",
    "average_whole",
    "average_wide",
    "count",
    "countdistinct",
    "max",
    "max_wide",
    "min",
    "min_wide",
    "sum_decimal",
    "sum_whole",
    "sum_wide",
]

StatementFunction: TypeAlias = Literal["as_number", "asked_of", "fold", "group_freely", "present"]
"""What statements need besides the functions that a plan calls."""

FunctionName: TypeAlias = Literal[
    TextFunction,
    TimeFunction,
    NumberFunction,
    CastFunction,
    AggregateFunction,
    StatementFunction,
]


class Signature(msgspec.Struct, frozen=True):
    """One overload of a canonical function; `function` is None for a constant instant.

    `most` bounds the size of a whole result. With `utc`, a literal argument must be in UTC, since
    the function asks for parts that an offset changes.
    """

    function: FunctionName | None
    parameters: tuple[Kind, ...]
    result: Kind
    most: int = INT32.maximum + 1
    own_type: PrimitiveType | None = None
    utc: bool = False


def _whole(
    function: FunctionName, *parameters: Kind, most: int = INT32.maximum + 1, utc: bool = False
) -> Signature:
    return Signature(function, parameters, WHOLE, most, INT32, utc)


SIGNATURES: Mapping[str, tuple[Signature, ...]] = MappingProxyType(
    {
        "concat": (Signature("concat", (WORDS, WORDS), WORDS),),
        "contains": (Signature("contains", (WORDS, WORDS), TRUTH),),
        "endswith": (Signature("endswith", (WORDS, WORDS), TRUTH),),
        "indexof": (_whole("indexof", WORDS, WORDS),),
        "length": (_whole("length", WORDS),),
        "matchesPattern": (Signature("matchespattern", (WORDS, WORDS), TRUTH),),
        "startswith": (Signature("startswith", (WORDS, WORDS), TRUTH),),
        "substring": (
            Signature("substring", (WORDS, WHOLE), WORDS),
            Signature("substring", (WORDS, WHOLE, WHOLE), WORDS),
        ),
        "tolower": (Signature("tolower", (WORDS,), WORDS),),
        "toupper": (Signature("toupper", (WORDS,), WORDS),),
        "trim": (Signature("trim", (WORDS,), WORDS),),
        "date": (Signature("date", (MOMENTS,), DAYS, utc=True),),
        "time": (Signature("time", (MOMENTS,), TIMES, utc=True),),
        "year": (_whole("year", DAYS, most=9_999), _whole("year", MOMENTS, most=9_999, utc=True)),
        "month": (_whole("month", DAYS, most=12), _whole("month", MOMENTS, most=12, utc=True)),
        "day": (_whole("day", DAYS, most=31), _whole("day", MOMENTS, most=31, utc=True)),
        "hour": (
            _whole("hour", MOMENTS, most=23, utc=True),
            _whole("hour_of_time", TIMES, most=23),
        ),
        "minute": (
            _whole("minute", MOMENTS, most=59, utc=True),
            _whole("minute_of_time", TIMES, most=59),
        ),
        "second": (_whole("second", MOMENTS, most=59), _whole("second_of_time", TIMES, most=59)),
        "fractionalseconds": (
            Signature("fractionalseconds", (MOMENTS,), EXACT),
            Signature("fractionalseconds_of_time", (TIMES,), EXACT),
        ),
        "totaloffsetminutes": (_whole("totaloffsetminutes", MOMENTS, utc=True),),
        "totalseconds": (Signature("totalseconds", (SPANS,), EXACT),),
        "maxdatetime": (Signature(None, (), MOMENTS),),
        "mindatetime": (Signature(None, (), MOMENTS),),
        "now": (Signature(None, (), MOMENTS),),
    }
)
"""The overloads of each function, by its name as OData spells it."""
