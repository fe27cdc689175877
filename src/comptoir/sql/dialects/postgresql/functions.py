"""The functions of a plan in PostgreSQL's SQL: its own functions, and those in `routines`.

Every function has an exact type, since PostgreSQL converts none: conditions are Boolean, whole
numbers are BIGINT, and texts compare by code point.
"""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import cast

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import array

from comptoir.edm.numbers import INT32, MOST_DECIMAL, MOST_WHOLE, SCALE, UNIT
from comptoir.plan.expressions.types import LARGEST, NAMED, WIDE_SCALE
from comptoir.sql.dialects import (
    COMMON_FUNCTIONS,
    LONGEST_TEXT,
    MILLISECONDS,
    TIME_PARTS,
    FunctionTable,
    SqlExpression,
    SqlValue,
)
from comptoir.sql.prepared import BLANK, CODE_POINTS, PREFIX, constant, constant_text

Computed = Callable[..., SqlExpression]
Result = type[sa.BigInteger] | type[sa.Text] | type[sa.Numeric[Decimal]]


def _numeric(number: str) -> SqlExpression:
    return cast("SqlExpression", sa.literal_column(number, sa.Numeric))


def _call(name: str, result: Result, *arguments: SqlExpression) -> SqlExpression:
    """A call of a routine."""
    return cast("SqlExpression", getattr(sa.func, f"{PREFIX}{name}")(*arguments, type_=result))


def _as_whole(expression: SqlExpression) -> SqlExpression:
    return cast("SqlExpression", sa.cast(expression, sa.BigInteger))


def _by_code_point(text: SqlExpression) -> SqlExpression:
    return sa.collate(cast("sa.ColumnElement[str]", text), CODE_POINTS)


def _exact(number: SqlValue) -> SqlExpression:
    """The numeric value of a stored Decimal or wide decimal."""
    return _call("exact", sa.Numeric, number)


def _whole(name: str) -> Computed:
    """A routine that returns a whole number."""
    return lambda *arguments: _call(name, sa.BigInteger, *arguments)


def _text(name: str) -> Computed:
    """A routine that returns a text."""
    return lambda *arguments: _by_code_point(_call(name, sa.Text, *arguments))


def _operation(routine: str, name: str) -> Computed:
    return lambda left, right: _call(routine, sa.BigInteger, left, constant_text(name), right)


def _wide_operation(name: str) -> Computed:
    def combined(left: SqlValue, right: SqlValue) -> SqlExpression:
        result = _call("wide", sa.Text, _exact(left), constant_text(name), _exact(right))
        return _by_code_point(result)

    return combined


def _narrow(number: SqlExpression) -> SqlExpression:
    return _call("narrow", sa.BigInteger, number)


def _rounded(direction: str) -> Computed:
    return lambda number: _call("rounded", sa.BigInteger, _exact(number), constant_text(direction))


_OPERATORS = ("add", "sub", "mul", "mod")

_NUMBERS: FunctionTable = {
    "scale_checked": _whole("scale_checked"),
    "bounded": _whole("bounded"),
    **{NAMED[f"{each}_whole"]: _operation("whole", each) for each in (*_OPERATORS, "div")},
    **{NAMED[f"{each}_decimal"]: _operation("decimal", each) for each in _OPERATORS},
    **{NAMED[f"{each}_wide"]: _wide_operation(each) for each in _OPERATORS},
    "div_decimal": lambda left, right: _call(
        "div_decimal", sa.BigInteger, _exact(left), _exact(right)
    ),
    "negate_wide": _text("negate_wide"),
    "widen": _text("widen"),
    "narrow": lambda number: _narrow(_exact(number)),
    **{NAMED[each]: _rounded(each) for each in ("round", "floor", "ceiling")},
}


def _contains(text: SqlValue, part: SqlValue) -> SqlExpression:
    return sa.func.strpos(text, part, type_=sa.Integer) > constant(0)


_startswith = partial(sa.func.starts_with, type_=sa.Boolean)


def _endswith(text: SqlValue, part: SqlValue) -> SqlExpression:
    return sa.func.starts_with(sa.func.reverse(text), sa.func.reverse(part), type_=sa.Boolean)


def _matches_pattern(text: SqlValue, pattern: SqlValue) -> SqlExpression:
    return text.op("~", is_comparison=True)(pattern)


def _length(text: SqlValue) -> SqlExpression:
    return _as_whole(sa.func.length(text, type_=sa.Integer))


def _index_of(text: SqlValue, part: SqlValue) -> SqlExpression:
    return _as_whole(sa.func.strpos(text, part, type_=sa.Integer).op("-")(constant(1)))


def _substring_literal(text: SqlValue, start: SqlValue, *length: SqlValue) -> SqlExpression:
    first, *count = [
        sa.cast(sa.func.least(each, constant(LONGEST_TEXT)), sa.Integer)
        for each in (start, *length)
    ]
    return _by_code_point(sa.func.substr(text, first.op("+")(constant(1)), *count, type_=sa.Text))


_TEXTS: FunctionTable = {
    "contains": _contains,
    "contains_literal": _contains,
    "startswith": _startswith,
    "startswith_literal": _startswith,
    "endswith": _endswith,
    "endswith_literal": lambda text, part: (
        sa.func.right(text, sa.func.length(part), type_=sa.Text) == part
    ),
    "matchespattern": _matches_pattern,
    "length": _length,
    "indexof": _index_of,
    "indexof_literal": _index_of,
    "concat": lambda left, right: _by_code_point(left.op("||")(right)),
    "substring": _text("substring"),
    "substring_literal": _substring_literal,
    "tolower": _text("tolower"),
    "toupper": _text("toupper"),
    "trim": _text("trim"),
    "fold": lambda *texts: _by_code_point(_call("fold", sa.Text, array(texts))),
}


def _part(start: int, length: int) -> Computed:
    return lambda text: _as_whole(sa.func.substr(text, constant(start), constant(length)))


def _text_part(start: int, length: int) -> Computed:
    return lambda text: _by_code_point(
        sa.func.substr(text, constant(start), constant(length), type_=sa.Text)
    )


def _fraction(start: int) -> Computed:
    milliseconds = _part(start, 3)
    return lambda text: milliseconds(text).op("*")(constant(UNIT // 1_000))


def _subtracted(name: str) -> Computed:
    """A routine that adds a duration, called with the negative duration."""
    move = _text(name)
    return lambda time, duration: move(time, constant(0).op("-")(duration))


def _between(left: SqlValue, right: SqlValue) -> SqlExpression:
    return _call("span", sa.BigInteger, left).op("-")(_call("span", sa.BigInteger, right))


_TIMES: FunctionTable = {
    **{name: _part(*bounds) for name, bounds in TIME_PARTS.items()},
    **{name: _fraction(start) for name, start in MILLISECONDS.items()},
    "date": _text_part(1, 10),
    "time": _text_part(12, 12),
    "totaloffsetminutes": lambda instant: _length(instant).op("*")(constant(0)),
    "add_datetime": _text("add_moment"),
    "sub_datetime": _subtracted("add_moment"),
    "between_datetimes": _between,
    "add_date": _text("add_date"),
    "sub_date": _subtracted("add_date"),
    "between_dates": _between,
}


def _within(lowest: int, highest: int, number: SqlExpression) -> SqlExpression:
    return _call("within", sa.BigInteger, number, _numeric(str(lowest)), _numeric(str(highest)))


def _rounded_within(lowest: int, highest: int) -> Computed:
    return lambda number: _within(lowest, highest, sa.func.round(_exact(number)))


def _rounded_decimal(number: SqlValue) -> SqlExpression:
    units = sa.func.round(_exact(number), constant(SCALE)).op("*")(constant(UNIT))
    return _within(-MOST_DECIMAL, MOST_DECIMAL, units)


def _whole_of_text(lowest: int, highest: int) -> Computed:
    bounds = (_numeric(str(lowest)), _numeric(str(highest)))
    return lambda text: _call("whole_of_text", sa.BigInteger, text, *bounds)


def _boolean_of_text(text: SqlValue) -> SqlExpression:
    return sa.case(
        {constant_text("true"): sa.true(), constant_text("false"): sa.false()}, value=text
    )


def _text_of_boolean(value: SqlValue) -> SqlExpression:
    texts = {constant(1): constant_text("true"), constant(0): constant_text("false")}
    return _by_code_point(sa.case(texts, value=value))


def _text_of(value: SqlExpression) -> SqlExpression:
    return _by_code_point(cast("SqlExpression", sa.cast(value, sa.Text)))


def _tied_to_row(code: SqlValue, condition: sa.ColumnElement[bool]) -> SqlExpression:
    # The code is never blank here, but the planner does not know that. So it keeps the records in
    # the plan, by which Citus finds the node, even if the condition is false for all of them.
    return sa.case((code != BLANK, condition))


def _null_as_value(value: SqlValue) -> SqlExpression:
    # null becomes the empty text, and any other value begins with a sign
    shown = constant_text("=").op("||")(sa.cast(value, sa.Text))
    return _by_code_point(sa.func.coalesce(shown, constant_text("")))


_CASTS: FunctionTable = {
    "int32_of_text": _whole_of_text(INT32.minimum, INT32.maximum),
    "int64_of_text": _whole_of_text(-MOST_WHOLE, MOST_WHOLE),
    "int32_of_whole": partial(_within, INT32.minimum, INT32.maximum),
    "int32_of_decimal": _rounded_within(INT32.minimum, INT32.maximum),
    "int64_of_decimal": _rounded_within(-MOST_WHOLE, MOST_WHOLE),
    "rounded_decimal": _rounded_decimal,
    "decimal_of_text": _whole("decimal_of_text"),
    "boolean_of_text": _boolean_of_text,
    "guid_of_text": _text("guid_of_text"),
    "date_of_text": _text("date_of_text"),
    "datetime_of_text": _text("instant_of_text"),
    "time_of_text": _text("time_of_text"),
    "duration_of_text": _whole("duration_of_text"),
    "text_of_whole": _text_of,
    "text_of_boolean": _text_of_boolean,
    "text_of_decimal": lambda number: _text_of(sa.func.trim_scale(_exact(number))),
    "text_of_duration": _text("text_of_duration"),
    "as_number": lambda condition: _as_whole(sa.cast(condition, sa.Integer)),
    "null_as_value": _null_as_value,
    "tied_to_row": _tied_to_row,
}


def _fitting(total: SqlExpression, most: str, refusal: str) -> SqlExpression:
    return _call("total", sa.Numeric, total, _numeric(most), constant_text(refusal))


def _sum(most: int, refusal: str) -> Computed:
    return lambda values: _as_whole(_fitting(sa.func.sum(values), str(most), refusal))


def _sum_wide(values: SqlValue) -> SqlExpression:
    most = f"{LARGEST // 10**WIDE_SCALE - 1}.{'9' * WIDE_SCALE}"
    return _narrow(_fitting(sa.func.sum(_exact(values)), most, "BEYOND_DIGITS"))


def _average(total: SqlExpression, values: SqlValue) -> SqlExpression:
    return _call("mean", sa.BigInteger, total, sa.func.count(values))


def _average_decimal(values: SqlValue) -> SqlExpression:
    unit = _numeric(f"0.{1:0{SCALE}d}")
    return _average(sa.func.sum(values).op("*")(unit), values)


def _of_wide(aggregate: Computed) -> Computed:
    return lambda values: _narrow(_exact(cast("SqlValue", aggregate(values))))


_AGGREGATES: FunctionTable = {
    "unindexed": lambda column: column,
    "sum_whole": _sum(MOST_WHOLE, "BEYOND_BITS"),
    "sum_decimal": _sum(MOST_DECIMAL, "BEYOND_DIGITS"),
    "sum_wide": _sum_wide,
    "average_whole": lambda values: _average(sa.func.sum(values), values),
    "average_decimal": _average_decimal,
    "average_wide": lambda values: _average(sa.func.sum(_exact(values)), values),
    "min_wide": _of_wide(sa.func.min),
    "max_wide": _of_wide(sa.func.max),
}

FUNCTIONS: FunctionTable = MappingProxyType(
    {**COMMON_FUNCTIONS, **_NUMBERS, **_TEXTS, **_TIMES, **_CASTS, **_AGGREGATES}
)
"""The functions of PostgreSQL, by their names in a plan."""
