"""The SQL of the functions of a plan, in both dialects.

Databases define case, arithmetic and time otherwise than OData. What they do not compute as OData
defines it is a routine `comptoir_…`: in Python on SQLite, in SQL and PL/pgSQL on PostgreSQL.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias, cast

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.type_api import TypeEngine
from typing_extensions import override

from comptoir.edm.numbers import INT32, MOST_DECIMAL, MOST_WHOLE, SCALE, UNIT, WHOLE_DIGITS
from comptoir.plan.expressions.types import LARGEST, LONGEST_TEXT, NAMED, WIDE_SCALE, FunctionName
from comptoir.sql.prepared import CODE_POINTS, PREFIX

SPLIT_AT = 30
"""The bit at which SQLite splits numbers, so that its sums of either part do not overflow."""

SqlValue: TypeAlias = sa.ColumnElement[str | int]
FunctionTable: TypeAlias = Mapping[FunctionName, Callable[..., SqlValue]]
"""The functions that build the SQL of a call. A test requires each name in each dialect."""

_Type: TypeAlias = TypeEngine[str] | TypeEngine[int] | TypeEngine[bool] | None
"""The type of a result; None for that of the first argument."""

_TEXT, _WHOLE, _BOOLEAN = sa.Text(), sa.BigInteger(), sa.Boolean()

_VALUES = {
    "longest": LONGEST_TEXT,
    "unit": UNIT,
    "millisecond": UNIT // 1_000,
    "scale": SCALE,
    "beyond_decimals": 10**WHOLE_DIGITS,
    "int32": f"{INT32.minimum}, {INT32.maximum}",
    "int64": f"{-MOST_WHOLE}, {MOST_WHOLE}",
    "decimals": f"{-MOST_DECIMAL}, {MOST_DECIMAL}",
    "most_whole": MOST_WHOLE,
    "most_decimal": MOST_DECIMAL,
    "most_wide": f"{LARGEST // 10**WIDE_SCALE - 1}.{'9' * WIDE_SCALE}",
    "unit_part": f"0.{1:0{SCALE}d}",
    "upper": f">> {SPLIT_AT}",
    "lower": f"& {(1 << SPLIT_AT) - 1}",
}
"""The values for the names in the templates."""


class Sql(NamedTuple):
    """The SQL of a function: the type of its result, and a template for each dialect.

    In a template, `{0}` is the first argument and `{all}` are all of them; other names are those of
    `_VALUES`. One that is not a call is in parentheses. None is a routine of the function's name.
    """

    result: _Type
    postgresql: str | None = None
    sqlite: str | None = None


def _both(result: _Type, template: str) -> Sql:
    """A function with the same SQL in both dialects."""
    return Sql(result, template, template)


def _part(start: int, length: int) -> Sql:
    """The number at some characters of a stored time."""
    digits = f"substr({{0}}, {start}, {length})"
    return Sql(_WHOLE, f"CAST({digits} AS BIGINT)", f"CAST({digits} AS INTEGER)")


def _milliseconds(start: int) -> Sql:
    digits = _part(start, 3)
    return Sql(
        _WHOLE, f"({digits.postgresql} * {{millisecond}})", f"({digits.sqlite} * {{millisecond}})"
    )


def _operation(name: str, form: str) -> Sql:
    """An operation of numbers in the form `whole`, `decimal` or `wide`."""
    if form == "wide":
        operands = f"comptoir_exact({{0}}), '{name}', comptoir_exact({{1}})"
        return Sql(_TEXT, f"comptoir_wide({operands})")
    return Sql(_WHOLE, f"comptoir_{form}({{0}}, '{name}', {{1}})")


_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "mod": "%"}

_FUNCTIONS: Mapping[FunctionName, Sql] = {
    **{NAMED[name]: Sql(_TEXT) for name in (
        "add_date", "date_of_text", "guid_of_text", "negate_wide", "substring", "text_of_duration",
        "time_of_text", "tolower", "toupper", "trim", "widen",
    )},
    **{NAMED[name]: Sql(_WHOLE) for name in (
        "decimal_of_text", "duration_of_text", "scale_checked",
    )},
    "concat": _both(_TEXT, "({0} || {1})"),
    "contains": Sql(_BOOLEAN, "(strpos({0}, {1}) > 0)"),
    "contains_literal": Sql(_BOOLEAN, "(strpos({0}, {1}) > 0)", "(instr({0}, {1}) > 0)"),
    "endswith": Sql(_BOOLEAN, "starts_with(reverse({0}), reverse({1}))"),
    "endswith_literal": Sql(
        _BOOLEAN,
        "(right({0}, length({1})) = {1})",
        # substr from -0 is the whole text, which ends with the empty text too
        "(length({1}) = 0 OR substr({0}, -length({1})) = {1})",
    ),
    "fold": Sql(_TEXT, "comptoir_fold(ARRAY[{all}])"),
    "indexof": Sql(_WHOLE, "CAST(strpos({0}, {1}) - 1 AS BIGINT)"),
    "indexof_literal": Sql(_WHOLE, "CAST(strpos({0}, {1}) - 1 AS BIGINT)", "(instr({0}, {1}) - 1)"),
    "length": Sql(_WHOLE, "CAST(length({0}) AS BIGINT)", "length({0})"),
    "matchespattern": Sql(_BOOLEAN, "({0} ~ {1})"),
    "startswith": Sql(_BOOLEAN, "starts_with({0}, {1})"),
    "startswith_literal": Sql(
        _BOOLEAN, "starts_with({0}, {1})", "(substr({0}, 1, length({1})) = {1})"
    ),
    "substring_literal": Sql(
        _TEXT,
        "substr({0}, CAST(least({1}, {longest}) AS INTEGER) + 1,"
        " CAST(least({2}, {longest}) AS INTEGER))",
        # substr uses only the lowest 32 bits of a number
        "substr({0}, min({1}, {longest}) + 1, min({2}, {longest}))",
    ),
    "year": _part(1, 4),
    "month": _part(6, 2),
    "day": _part(9, 2),
    "hour": _part(12, 2),
    "minute": _part(15, 2),
    "second": _part(18, 2),
    "hour_of_time": _part(1, 2),
    "minute_of_time": _part(4, 2),
    "second_of_time": _part(7, 2),
    "fractionalseconds": _milliseconds(21),
    "fractionalseconds_of_time": _milliseconds(10),
    "date": _both(_TEXT, "substr({0}, 1, 10)"),
    "time": _both(_TEXT, "substr({0}, 12, 12)"),
    "totaloffsetminutes": Sql(_WHOLE, "(CAST(length({0}) AS BIGINT) * 0)", "(length({0}) * 0)"),
    "totalseconds": _both(None, "{0}"),
    "add_datetime": Sql(_TEXT, "comptoir_add_moment({0}, {1})"),
    "sub_datetime": Sql(_TEXT, "comptoir_add_moment({0}, 0 - {1})"),
    "between_datetimes": Sql(_WHOLE, "(comptoir_span({0}) - comptoir_span({1}))"),
    "sub_date": Sql(_TEXT, "comptoir_add_date({0}, 0 - {1})"),
    "between_dates": Sql(_WHOLE, "(comptoir_span({0}) - comptoir_span({1}))"),
    **{NAMED[f"{name}_native"]: _both(_WHOLE, f"({{0}} {symbol} {{1}})")
       for name, symbol in {**_OPERATORS, "div": "/"}.items()},
    **{NAMED[f"{name}_{form}"]: _operation(name, form)
       for name in _OPERATORS for form in ("whole", "decimal", "wide")},
    "div_whole": _operation("div", "whole"),
    "div_decimal": Sql(_WHOLE, "comptoir_div_decimal(comptoir_exact({0}), comptoir_exact({1}))"),
    "negate": _both(_WHOLE, "(0 - {0})"),
    "narrow": Sql(_WHOLE, "comptoir_narrow(comptoir_exact({0}))"),
    "scale": _both(_WHOLE, "({0} * {unit})"),
    "bounded": Sql(
        _WHOLE, "comptoir_bounded({0})", "max(min({0}, {beyond_decimals}), -{beyond_decimals})"
    ),
    **{name: Sql(_WHOLE, f"comptoir_rounded(comptoir_exact({{0}}), '{name}')")
       for name in (NAMED["round"], NAMED["floor"], NAMED["ceiling"])},
    "int32_of_text": Sql(_WHOLE, "comptoir_whole_of_text({0}, {int32})"),
    "int64_of_text": Sql(_WHOLE, "comptoir_whole_of_text({0}, {int64})"),
    "int32_of_whole": Sql(_WHOLE, "comptoir_within({0}, {int32})"),
    "int32_of_decimal": Sql(_WHOLE, "comptoir_within(round(comptoir_exact({0})), {int32})"),
    "int64_of_decimal": Sql(_WHOLE, "comptoir_within(round(comptoir_exact({0})), {int64})"),
    "rounded_decimal": Sql(
        _WHOLE, "comptoir_within(round(comptoir_exact({0}), {scale}) * {unit}, {decimals})"
    ),
    "boolean_of_text": Sql(_BOOLEAN, "CASE {0} WHEN 'true' THEN true WHEN 'false' THEN false END"),
    "datetime_of_text": Sql(_TEXT, "comptoir_instant_of_text({0})"),
    "text_of_text": _both(None, "{0}"),
    "text_of_whole": _both(_TEXT, "CAST({0} AS TEXT)"),
    "text_of_boolean": _both(_TEXT, "CASE {0} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"),
    "text_of_decimal": Sql(_TEXT, "CAST(trim_scale(comptoir_exact({0})) AS TEXT)"),
    "count": _both(_WHOLE, "count({all})"),
    "countdistinct": _both(_WHOLE, "count(DISTINCT {0})"),
    "min": _both(None, "min({0})"),
    "max": _both(None, "max({0})"),
    **{NAMED[f"{name}_wide"]: Sql(_WHOLE, f"comptoir_narrow(comptoir_exact({name}({{0}})))",
                                  f"comptoir_narrow({name}({{0}}))")
       for name in ("min", "max")},
    "sum_whole": Sql(
        _WHOLE,
        "CAST(comptoir_total(sum({0}), {most_whole}, 'BEYOND_BITS') AS BIGINT)",
        "comptoir_total_whole(sum({0} {upper}), sum({0} {lower}))",
    ),
    "sum_decimal": Sql(
        _WHOLE,
        "CAST(comptoir_total(sum({0}), {most_decimal}, 'BEYOND_DIGITS') AS BIGINT)",
        "comptoir_total_decimal(sum({0} {upper}), sum({0} {lower}))",
    ),
    "sum_wide": Sql(
        _WHOLE,
        "comptoir_narrow(comptoir_total(sum(comptoir_exact({0})), {most_wide}, 'BEYOND_DIGITS'))",
        "comptoir_narrow(comptoir_sum_wide({0}))",
    ),
    "average_whole": Sql(
        _WHOLE,
        "comptoir_mean(sum({0}), count({0}))",
        "comptoir_mean_whole(sum({0} {upper}), sum({0} {lower}), count({0}))",
    ),
    "average_decimal": Sql(
        _WHOLE,
        "comptoir_mean(sum({0}) * {unit_part}, count({0}))",
        "comptoir_mean_decimal(sum({0} {upper}), sum({0} {lower}), count({0}))",
    ),
    "average_wide": Sql(_WHOLE, "comptoir_mean(sum(comptoir_exact({0})), count({0}))"),
    "as_number": Sql(_WHOLE, "CAST(CAST({0} AS INTEGER) AS BIGINT)", "({0})"),
    # null becomes a value that no other one equals: a blob, or a text without the sign of values
    "null_as_value": Sql(_TEXT, "coalesce('=' || CAST({0} AS TEXT), '')", "coalesce({0}, x'00')"),
    # The code is never blank here, but PostgreSQL's planner does not know that. So it keeps the
    # records in the plan, by which Citus finds the node, even if the condition is false for all.
    "tied_to_row": Sql(_BOOLEAN, "CASE WHEN ({0} != '') THEN {1} END", "({1})"),
    # a plus sign keeps SQLite from choosing the index of the groups over the index of the filter
    "unindexed": Sql(None, "{0}", "+{0}"),
}  # fmt: skip
"""The functions by their names in a plan."""


class _TemplateCall(FunctionElement[str | int]):
    """A call of a function, rendered from a template."""

    inherit_cache = False

    def __init__(self, template: str, result: _Type, *arguments: SqlValue) -> None:
        super().__init__(*arguments)
        self.template = template
        self.type = cast("TypeEngine[str | int]", result or arguments[0].type)

    @override
    def self_group(self, against: object = None) -> "_TemplateCall":
        # a template needs no parentheses, and SQLite's conditions are no Boolean values
        return self


@compiles(_TemplateCall)
def _render(call: _TemplateCall, compiler: SQLCompiler, **options: object) -> str:
    arguments = [compiler.process(each, **options) for each in call.clauses]
    return call.template.format(*arguments, all=", ".join(arguments) or "*", **_VALUES)


def _routine(name: str) -> str:
    return f"{PREFIX}{name}({{all}})"


def _by_code_point(function: Sql, template: str) -> str:
    """The template of PostgreSQL, which compares texts by the rules of a language otherwise."""
    return f'({template} COLLATE "{CODE_POINTS}")' if function.result is _TEXT else template


SQLITE_FUNCTIONS: FunctionTable = {
    name: partial(_TemplateCall, each.sqlite or _routine(name), each.result)
    for name, each in _FUNCTIONS.items()
}

POSTGRESQL_FUNCTIONS: FunctionTable = {
    name: partial(
        _TemplateCall, _by_code_point(each, each.postgresql or _routine(name)), each.result
    )
    for name, each in _FUNCTIONS.items()
}
