"""The functions of a plan in SQLite's SQL.

SQLite's own `lower`, `upper` and arithmetic have other results than OData defines, so Python
functions replace them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.sql.elements import AsBoolean, False_, Grouping, True_, UnaryExpression
from sqlalchemy.sql.operators import custom_op

from comptoir.edm.numbers import DECIMAL, INT32, MOST_DECIMAL, MOST_WHOLE, UNIT, WHOLE_DIGITS
from comptoir.edm.times import DATE, DURATION, TIME_OF_DAY, duration_text
from comptoir.edm.types import BOOLEAN, GUID, Stored
from comptoir.errors import refusal_rows as rows
from comptoir.plan.expressions.options import fold
from comptoir.plan.expressions.types import FINER, FunctionName, wide_text, wide_units
from comptoir.request.pattern import found_in
from comptoir.sql.dialects import (
    COMMON_FUNCTIONS,
    LONGEST_TEXT,
    MILLISECONDS,
    TIME_PARTS,
    FunctionTable,
    SqlExpression,
    SqlValue,
    infix,
)
from comptoir.sql.dialects.sqlite import routines
from comptoir.sql.dialects.sqlite.routines import SPLIT_AT, WideTotal
from comptoir.sql.prepared import PREFIX, constant

_BEYOND_DECIMALS: int = 10**WHOLE_DIGITS

TRIGRAMS = f"{PREFIX}trigrams"


@dataclass(frozen=True, slots=True)
class Routine:
    """A Python function that connections register, with `arity` arguments; -1 is any number."""

    arity: int
    compute: Callable[..., Stored | None]


_ROUTINES: Mapping[FunctionName, Routine] = {
    "contains": Routine(2, lambda text, part: int(part in text)),
    "endswith": Routine(2, lambda text, part: int(text.endswith(part))),
    "indexof": Routine(2, str.find),
    "matchespattern": Routine(2, lambda text, pattern: int(found_in(text, pattern))),
    "startswith": Routine(2, lambda text, part: int(text.startswith(part))),
    "substring": Routine(-1, routines.substring),
    "tolower": Routine(1, str.lower),
    "toupper": Routine(1, str.upper),
    "trim": Routine(1, str.strip),
    "add_date": Routine(2, routines.add_date),
    "add_datetime": Routine(2, routines.add_datetime),
    "between_dates": Routine(2, routines.between_dates),
    "between_datetimes": Routine(2, routines.between_datetimes),
    "sub_date": Routine(2, lambda day, duration: routines.add_date(day, -duration)),
    "sub_datetime": Routine(2, lambda instant, duration: routines.add_datetime(instant, -duration)),
    "ceiling": Routine(1, routines.rounding(lambda units, unit: -(-units // unit), "ceiling")),
    "floor": Routine(1, routines.rounding(int.__floordiv__, "floor")),
    "round": Routine(1, routines.rounding(routines.away, "round")),
    "add_decimal": Routine(2, routines.decimal_operation("add", int.__add__)),
    "add_whole": Routine(2, routines.whole_operation("add", int.__add__)),
    "add_wide": Routine(2, routines.wide_operation("add", int.__add__)),
    "div_decimal": Routine(2, routines.div_decimal),
    "div_whole": Routine(2, routines.whole_operation("div", routines.truncated)),
    "mod_decimal": Routine(2, routines.decimal_operation("mod", routines.remainder)),
    "mod_whole": Routine(2, routines.whole_operation("mod", routines.remainder)),
    "mod_wide": Routine(2, routines.wide_operation("mod", routines.remainder)),
    "mul_decimal": Routine(2, routines.decimal_operation("mul", int.__mul__)),
    "mul_whole": Routine(2, routines.whole_operation("mul", int.__mul__)),
    "mul_wide": Routine(2, routines.mul_wide),
    "narrow": Routine(1, routines.narrow),
    "negate_wide": Routine(1, lambda value: wide_text(-wide_units(value))),
    "scale_checked": Routine(1, routines.scale_checked),
    "sub_decimal": Routine(2, routines.decimal_operation("sub", int.__sub__)),
    "sub_whole": Routine(2, routines.whole_operation("sub", int.__sub__)),
    "sub_wide": Routine(2, routines.wide_operation("sub", int.__sub__)),
    "widen": Routine(1, lambda value: wide_text(value * FINER)),
    "boolean_of_text": Routine(1, routines.parsing(BOOLEAN)),
    "date_of_text": Routine(1, routines.parsing(DATE)),
    "datetime_of_text": Routine(1, routines.datetime_of_text),
    "decimal_of_text": Routine(1, routines.parsing(DECIMAL)),
    "duration_of_text": Routine(1, routines.parsing(DURATION)),
    "guid_of_text": Routine(1, routines.parsing(GUID)),
    "int32_of_decimal": Routine(1, routines.rounding_within(INT32.minimum, INT32.maximum)),
    "int32_of_text": Routine(1, routines.parsing_whole(INT32.minimum, INT32.maximum)),
    "int32_of_whole": Routine(1, routines.int32_of_whole),
    "int64_of_decimal": Routine(1, routines.rounding_within(-MOST_WHOLE, MOST_WHOLE)),
    "int64_of_text": Routine(1, routines.parsing_whole(-MOST_WHOLE, MOST_WHOLE)),
    "rounded_decimal": Routine(1, routines.rounded_decimal),
    "text_of_decimal": Routine(1, routines.number_text),
    "text_of_duration": Routine(1, duration_text),
    "time_of_text": Routine(1, routines.parsing(TIME_OF_DAY)),
    "fold": Routine(-1, fold),
}
"""The functions that SQLite does not have, or that have other results."""

REGISTERED: Mapping[str, Routine] = {
    **{f"{PREFIX}{name}": routine for name, routine in _ROUTINES.items()},
    TRIGRAMS: Routine(2, routines.trigrams),
    f"{PREFIX}total_whole": Routine(2, routines.total(MOST_WHOLE, rows.BEYOND_BITS)),
    f"{PREFIX}total_decimal": Routine(2, routines.total(MOST_DECIMAL, rows.BEYOND_DIGITS)),
    f"{PREFIX}mean_whole": Routine(3, routines.mean_whole),
    f"{PREFIX}mean_decimal": Routine(3, routines.mean_decimal),
}
"""The functions that every connection registers, by their names in SQL."""

REGISTERED_AGGREGATES: Mapping[str, Callable[[WideTotal], Stored | None]] = {
    f"{PREFIX}sum_wide": WideTotal.sum,
    f"{PREFIX}average_wide": WideTotal.average,
}
"""The aggregate functions that every connection registers, over wide decimals."""


def _endswith_literal(text: SqlValue, part: SqlValue) -> sa.ColumnElement[bool]:
    # substr from -0 is the whole text, which ends with the empty text too
    return sa.or_(
        sa.func.length(part) == constant(0), sa.func.substr(text, -sa.func.length(part)) == part
    )


def _substring_literal(text: SqlValue, start: SqlValue, *length: SqlValue) -> SqlExpression:
    # substr uses only the lowest 32 bits of a number
    first, *count = [sa.func.min(each, constant(LONGEST_TEXT)) for each in (start, *length)]
    return sa.func.substr(text, first.op("+")(constant(1)), *count, type_=sa.Text)


def _part(start: int, length: int) -> Callable[[SqlValue], SqlExpression]:
    return lambda text: sa.cast(sa.func.substr(text, constant(start), constant(length)), sa.Integer)


def _text_part(start: int, length: int) -> Callable[[SqlValue], SqlExpression]:
    return lambda text: sa.func.substr(text, constant(start), constant(length), type_=sa.Text)


def _fraction(start: int) -> Callable[[SqlValue], SqlExpression]:
    milliseconds = _part(start, 3)
    return lambda text: milliseconds(text).op("*")(constant(UNIT // 1_000))


def _bounded(number: SqlValue) -> SqlExpression:
    return sa.func.max(sa.func.min(number, constant(_BEYOND_DECIMALS)), constant(-_BEYOND_DECIMALS))


def _text_of_boolean(value: SqlValue) -> SqlExpression:
    return sa.case(
        (value == constant(1), sa.literal_column("'true'", sa.Text)),
        (value == constant(0), sa.literal_column("'false'", sa.Text)),
    )


def _as_number(condition: SqlExpression) -> SqlExpression:
    # SQLAlchemy writes a constant as `0 = 1`, without parentheses beside another operator
    is_constant = isinstance(condition, AsBoolean | True_ | False_)
    return sa.type_coerce(Grouping(condition) if is_constant else condition, sa.Integer)


_NATIVE: FunctionTable = {
    "contains_literal": lambda text, part: (
        sa.func.instr(text, part, type_=sa.Integer) > constant(0)
    ),
    "startswith_literal": lambda text, part: (
        sa.func.substr(text, constant(1), sa.func.length(part)) == part
    ),
    "endswith_literal": _endswith_literal,
    "length": lambda text: sa.func.length(text, type_=sa.Integer),
    "concat": infix("||"),
    "indexof_literal": lambda text, part: sa.func.instr(text, part).op("-")(constant(1)),
    "substring_literal": _substring_literal,
    **{name: _part(*bounds) for name, bounds in TIME_PARTS.items()},
    **{name: _fraction(start) for name, start in MILLISECONDS.items()},
    "date": _text_part(1, 10),
    "time": _text_part(12, 12),
    "totaloffsetminutes": lambda instant: sa.func.length(instant).op("*")(constant(0)),
    "bounded": _bounded,
    "text_of_whole": lambda number: sa.cast(number, sa.Text),
    "text_of_boolean": _text_of_boolean,
    "as_number": _as_number,
    "tied_to_row": lambda _, condition: condition,
    # no text or number equals a blob
    "null_as_value": lambda value: sa.func.coalesce(value, sa.literal_column("x'00'")),
}


def _split_sums(values: SqlValue) -> tuple[SqlExpression, SqlExpression]:
    """The sums of the upper and of the lower bits of numbers, neither of which overflows."""
    upper = values.op(">>")(constant(SPLIT_AT))
    lower = values.op("&")(constant((1 << SPLIT_AT) - 1))
    return sa.func.sum(upper), sa.func.sum(lower)


def _sum(name: str) -> Callable[[SqlValue], SqlExpression]:
    return lambda values: getattr(sa.func, f"{PREFIX}{name}")(*_split_sums(values))


def _average(name: str) -> Callable[[SqlValue], SqlExpression]:
    return lambda values: getattr(sa.func, f"{PREFIX}{name}")(
        *_split_sums(values), sa.func.count(values)
    )


def _group_freely(column: SqlValue) -> SqlExpression:
    # a plus sign keeps SQLite from choosing the index of the groups over the index of the filter
    return UnaryExpression(column, operator=custom_op("+"), type_=column.type)


_AGGREGATES: FunctionTable = {
    "unindexed": _group_freely,
    "sum_whole": _sum("total_whole"),
    "sum_decimal": _sum("total_decimal"),
    "sum_wide": lambda values: sa.func.comptoir_narrow(sa.func.comptoir_sum_wide(values)),
    "average_whole": _average("mean_whole"),
    "average_decimal": _average("mean_decimal"),
    "average_wide": sa.func.comptoir_average_wide,
    "min_wide": lambda values: sa.func.comptoir_narrow(sa.func.min(values)),
    "max_wide": lambda values: sa.func.comptoir_narrow(sa.func.max(values)),
}


FUNCTIONS: FunctionTable = {
    **{name: getattr(sa.func, f"{PREFIX}{name}") for name in _ROUTINES},
    **COMMON_FUNCTIONS,
    **_NATIVE,
    **_AGGREGATES,
}
"""The functions of SQLite, by their names in a plan."""
