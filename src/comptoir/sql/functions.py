"""A dialect is a table of functions: the plan's name to how the database computes the same.

The databases' own `lower`, `upper` and arithmetic differ from what is meant, and from one another.
What SQLite has not, or has otherwise, is registered with it: `REGISTERED`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlalchemy import (
    ColumnElement,
    Integer,
    Text,
    case,
    cast,
    func,
    literal_column,
    or_,
    type_coerce,
)
from sqlalchemy.sql.elements import UnaryExpression
from sqlalchemy.sql.operators import custom_op

from comptoir.sql.prepared import PREFIX, constant

Operand = ColumnElement[str | int]
SqlExpression = ColumnElement[bool] | ColumnElement[str] | ColumnElement[int] | Operand
FunctionTable = Mapping[str, Callable[..., SqlExpression]]

_ARITIES = {
    1: """
        tolower toupper trim round floor ceiling scale_checked widen narrow negate_wide
        rounded_decimal int32_of_text int64_of_text decimal_of_text boolean_of_text guid_of_text
        date_of_text instant_of_text time_of_text duration_of_text int32_of_whole int32_of_decimal
        int64_of_decimal text_of_decimal text_of_duration
    """,
    2: """
        contains startswith endswith indexof matchespattern add_whole sub_whole mul_whole
        div_whole mod_whole add_decimal
        sub_decimal mul_decimal div_decimal mod_decimal add_wide sub_wide mul_wide mod_wide
        add_moment sub_moment between_moments add_date sub_date between_dates total_whole
        total_decimal
    """,
    3: "mean_whole mean_decimal",
}

_BEYOND_DECIMALS = 10**13

MOST_CHARACTERS = 2**30
"""More than a text of any database can have."""

TRIGRAMS = f"{PREFIX}trigrams"

REGISTERED: Mapping[str, int] = MappingProxyType(
    {name: arity for arity, names in _ARITIES.items() for name in names.split()}
    | {"substring": -1, "fold": -1, "trigrams": 2}
)
"""The functions that SQLite must have registered, with how many arguments each takes."""


def _contains_text(text: Operand, part: Operand) -> ColumnElement[bool]:
    return func.instr(text, part, type_=Integer) > constant(0)


def _startswith_text(text: Operand, part: Operand) -> ColumnElement[bool]:
    return func.substr(text, constant(1), func.length(part)) == part


def _endswith_text(text: Operand, part: Operand) -> ColumnElement[bool]:
    # substr from -0 on is the whole text, which the empty part must still be the end of
    return or_(func.length(part) == constant(0), func.substr(text, -func.length(part)) == part)


def _substring_written(text: Operand, start: Operand, *length: Operand) -> SqlExpression:
    # substr takes the lowest 32 bits of a number
    first, *count = [func.min(each, constant(MOST_CHARACTERS)) for each in (start, *length)]
    return func.substr(text, first.op("+")(constant(1)), *count, type_=Text)


def _part(start: int, length: int) -> Callable[[Operand], SqlExpression]:
    def cut(text: Operand) -> SqlExpression:
        return cast(func.substr(text, constant(start), constant(length)), Integer)

    return cut


def _text_part(start: int, length: int) -> Callable[[Operand], SqlExpression]:
    def cut(text: Operand) -> SqlExpression:
        return func.substr(text, constant(start), constant(length), type_=Text)

    return cut


def _fraction(start: int) -> Callable[[Operand], SqlExpression]:
    def fraction(text: Operand) -> SqlExpression:
        milliseconds = cast(func.substr(text, constant(start), constant(3)), Integer)
        return milliseconds.op("*")(constant(100))

    return fraction


def _bounded(number: Operand) -> SqlExpression:
    return func.max(func.min(number, constant(_BEYOND_DECIMALS)), constant(-_BEYOND_DECIMALS))


def _infix(symbol: str) -> Callable[[Operand, Operand], SqlExpression]:
    def combined(left: Operand, right: Operand) -> SqlExpression:
        return left.op(symbol)(right)

    return combined


def _text_of_boolean(value: Operand) -> SqlExpression:
    return case(
        (value == constant(1), literal_column("'true'", Text)),
        (value == constant(0), literal_column("'false'", Text)),
    )


def _as_number(condition: Operand) -> SqlExpression:
    return type_coerce(condition, Integer)


def _present(value: Operand) -> SqlExpression:
    # no value equals it
    return func.coalesce(value, literal_column("x'00'"))


_NATIVE: FunctionTable = {
    "contains_text": _contains_text,
    "startswith_text": _startswith_text,
    "endswith_text": _endswith_text,
    "length": lambda text: func.length(text, type_=Integer),
    "concat": _infix("||"),
    "indexof_text": lambda text, part: func.instr(text, part).op("-")(constant(1)),
    "substring_written": _substring_written,
    "year": _part(1, 4),
    "month": _part(6, 2),
    "day": _part(9, 2),
    "hour": _part(12, 2),
    "minute": _part(15, 2),
    "second": _part(18, 2),
    "hour_of_time": _part(1, 2),
    "minute_of_time": _part(4, 2),
    "second_of_time": _part(7, 2),
    "fractionalseconds": _fraction(21),
    "fractionalseconds_of_time": _fraction(10),
    "date": _text_part(1, 10),
    "time": _text_part(12, 12),
    "totaloffsetminutes": lambda moment: func.length(moment).op("*")(constant(0)),
    "totalseconds": lambda span: span,
    "add_native": _infix("+"),
    "sub_native": _infix("-"),
    "mul_native": _infix("*"),
    "div_native": _infix("/"),
    "mod_native": _infix("%"),
    "negate": constant(0).op("-"),
    "scale": lambda number: number.op("*")(constant(100_000)),
    "bounded": _bounded,
    "text_of_whole": lambda number: cast(number, Text),
    "text_of_boolean": _text_of_boolean,
    "text_of_text": lambda text: text,
    "as_number": _as_number,
    "asked_of": lambda _, condition: condition,
    "present": _present,
}

REGISTERED_AGGREGATES = ("sum_wide", "average_wide")
"""The aggregate functions of one argument that SQLite must have registered."""

PARTED_AT = 30
"""At which bit numbers are parted, so that the database's sums of either part do not overflow."""


def _parted_sums(values: Operand) -> tuple[SqlExpression, SqlExpression]:
    """The sums of the upper and the lower parts of whole numbers."""
    upper = values.op(">>")(constant(PARTED_AT))
    lower = values.op("&")(constant((1 << PARTED_AT) - 1))
    return func.sum(upper), func.sum(lower)


def _sum(name: str) -> Callable[[Operand], SqlExpression]:
    return lambda values: getattr(func, f"{PREFIX}{name}")(*_parted_sums(values))


def _average(name: str) -> Callable[[Operand], SqlExpression]:
    return lambda values: getattr(func, f"{PREFIX}{name}")(
        *_parted_sums(values), func.count(values)
    )


def _group_freely(column: Operand) -> SqlExpression:
    # a column under a plus sign keeps SQLite from choosing the index that groups by it over the
    # one that serves the filter
    return UnaryExpression(column, operator=custom_op("+"), type_=column.type)


_AGGREGATES: FunctionTable = {
    "group_freely": _group_freely,
    "sum_whole": _sum("total_whole"),
    "sum_decimal": _sum("total_decimal"),
    "sum_wide": lambda values: func.comptoir_narrow(func.comptoir_sum_wide(values)),
    "average_whole": _average("mean_whole"),
    "average_decimal": _average("mean_decimal"),
    "average_wide": func.comptoir_average_wide,
    "min": func.min,
    "max": func.max,
    "min_wide": lambda values: func.comptoir_narrow(func.min(values)),
    "max_wide": lambda values: func.comptoir_narrow(func.max(values)),
    "countdistinct": lambda values: func.count(values.distinct()),
    "count": func.count,
}

SQLITE: FunctionTable = MappingProxyType(
    {
        **{name: getattr(func, f"{PREFIX}{name}") for name in REGISTERED},
        **_NATIVE,
        **_AGGREGATES,
    }
)
