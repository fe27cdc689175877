"""The functions of queries: their names, and the types of their arguments and results.

The plan calls functions by these names. Each dialect has a table from the names to its SQL
(`sql/dialects/*/functions.py`), and mypy checks the names everywhere.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from comptoir.edm.numbers import INT32
from comptoir.edm.types import PrimitiveType
from comptoir.plan.expressions import types

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

StatementFunction: TypeAlias = Literal[
    "as_number", "tied_to_row", "fold", "unindexed", "null_as_value"
]
"""Functions of statements, which a plan does not call."""

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
    parameters: tuple[types.ExpressionType, ...]
    result: types.ExpressionType
    most: int = INT32.maximum + 1
    own_type: PrimitiveType | None = None
    utc: bool = False


def _whole(
    function: FunctionName,
    *parameters: types.ExpressionType,
    most: int = INT32.maximum + 1,
    utc: bool = False,
) -> Signature:
    return Signature(function, parameters, types.WHOLE, most, INT32, utc)


SIGNATURES: Mapping[str, tuple[Signature, ...]] = MappingProxyType(
    {
        "concat": (Signature("concat", (types.TEXT, types.TEXT), types.TEXT),),
        "contains": (Signature("contains", (types.TEXT, types.TEXT), types.BOOLEAN),),
        "endswith": (Signature("endswith", (types.TEXT, types.TEXT), types.BOOLEAN),),
        "indexof": (_whole("indexof", types.TEXT, types.TEXT),),
        "length": (_whole("length", types.TEXT),),
        "matchesPattern": (Signature("matchespattern", (types.TEXT, types.TEXT), types.BOOLEAN),),
        "startswith": (Signature("startswith", (types.TEXT, types.TEXT), types.BOOLEAN),),
        "substring": (
            Signature("substring", (types.TEXT, types.WHOLE), types.TEXT),
            Signature("substring", (types.TEXT, types.WHOLE, types.WHOLE), types.TEXT),
        ),
        "tolower": (Signature("tolower", (types.TEXT,), types.TEXT),),
        "toupper": (Signature("toupper", (types.TEXT,), types.TEXT),),
        "trim": (Signature("trim", (types.TEXT,), types.TEXT),),
        "date": (Signature("date", (types.DATE_TIME,), types.DATE, utc=True),),
        "time": (Signature("time", (types.DATE_TIME,), types.TIME_OF_DAY, utc=True),),
        "year": (
            _whole("year", types.DATE, most=9_999),
            _whole("year", types.DATE_TIME, most=9_999, utc=True),
        ),
        "month": (
            _whole("month", types.DATE, most=12),
            _whole("month", types.DATE_TIME, most=12, utc=True),
        ),
        "day": (
            _whole("day", types.DATE, most=31),
            _whole("day", types.DATE_TIME, most=31, utc=True),
        ),
        "hour": (
            _whole("hour", types.DATE_TIME, most=23, utc=True),
            _whole("hour_of_time", types.TIME_OF_DAY, most=23),
        ),
        "minute": (
            _whole("minute", types.DATE_TIME, most=59, utc=True),
            _whole("minute_of_time", types.TIME_OF_DAY, most=59),
        ),
        "second": (
            _whole("second", types.DATE_TIME, most=59),
            _whole("second_of_time", types.TIME_OF_DAY, most=59),
        ),
        "fractionalseconds": (
            Signature("fractionalseconds", (types.DATE_TIME,), types.DECIMAL),
            Signature("fractionalseconds_of_time", (types.TIME_OF_DAY,), types.DECIMAL),
        ),
        "totaloffsetminutes": (_whole("totaloffsetminutes", types.DATE_TIME, utc=True),),
        "totalseconds": (Signature("totalseconds", (types.DURATION,), types.DECIMAL),),
        "maxdatetime": (Signature(None, (), types.DATE_TIME),),
        "mindatetime": (Signature(None, (), types.DATE_TIME),),
        "now": (Signature(None, (), types.DATE_TIME),),
    }
)
"""The overloads of each function, by its name as OData spells it."""
