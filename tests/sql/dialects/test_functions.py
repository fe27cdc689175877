"""The functions of both dialects return the same values, nulls and errors."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.edm.numbers import MOST_DECIMAL, MOST_WHOLE, SCALE, decimal_text
from comptoir.edm.times import DAY, SECOND, duration_text, instant
from comptoir.plan.expressions import types
from comptoir.plan.expressions.types import (
    FINER,
    LARGEST,
    SIGNATURES,
    WIDE_SCALE,
    AggregateFunction,
    FunctionName,
    wide_text,
)
from comptoir.sql.dialects.postgresql import POSTGRESQL
from comptoir.sql.dialects.sqlite import SQLITE
from support.effort import examples
from support.functions import NotComputed, OnPostgres, OnSqlite, Value, Wholes
from support.postgres import Databases
from support.together import together

Values = st.SearchStrategy[Value]


def _near(*points: int, most: int) -> st.SearchStrategy[int]:
    """Whole numbers up to a size, many of them at its bounds and near some points."""
    marked = [sign * point for point in (0, most, *points) for sign in (1, -1)]
    near = st.builds(int.__add__, st.sampled_from(marked), st.integers(-2, 2))
    numbers = st.one_of(near, st.integers(-most, most), st.integers(-1_000, 1_000))
    return numbers.filter(lambda number: abs(number) <= most)


UNIT = 10**SCALE
WHOLE = _near(2**31, 2**32, 10**9, 10**13, most=MOST_WHOLE)
DECIMAL = st.one_of(
    _near(UNIT, UNIT // 2, most=MOST_DECIMAL),
    _near(10**13, most=10**13 - 1).map(lambda number: number * UNIT),
)
WIDE = st.one_of(
    _near(10**WIDE_SCALE, 10**WIDE_SCALE // 2, FINER, most=LARGEST - 1),
    DECIMAL.map(lambda number: number * FINER),
    st.integers(-(10**9), 10**9).map(lambda number: number * FINER // 1_000),
).map(wide_text)
LETTERS = (
    "aAzZ09 \t\n\x1c\x85\xa0\u3000.:'^`-_%\\ΣσςΑά\u0301ßẞéÉİ\u0131ǅŉﬁΐᾳÞþЖж中😀𐐀𐐨\uffff\U0010ffff"
)
TEXT = st.one_of(
    st.text(LETTERS, max_size=8),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
    st.sampled_from(["", "Straße", "ΟΔΥΣΣΕΥΣ ΑΣ.", "abcabc", "bc"]),
)
DURATION = st.one_of(
    _near(SECOND, DAY, 365 * DAY, 3_652_058 * DAY, most=MOST_DECIMAL),
    st.integers(-4_000_000, 4_000_000).map(lambda days: days * DAY),
)
DATETIME = st.one_of(
    st.datetimes(timezones=st.just(UTC)),
    st.sampled_from([datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]),
).map(instant)
DATE = DATETIME.map(lambda moment: moment[:10])
TIME = DATETIME.map(lambda moment: moment[11:23])
BIT = st.integers(0, 1)
NATIVE = st.integers(-(10**9), 10**9)
DIVISOR = NATIVE.filter(bool)
COUNT = st.one_of(st.integers(0, 9), st.sampled_from([2**30, 2**31, 2**31 - 1, MOST_WHOLE]))
POSITION = st.one_of(st.integers(-9, 9), WHOLE)


def _almost(*forms: Values) -> Values:
    """Texts of some forms, and the same with one character changed."""

    def changed(text: Value, at: int, by: str) -> str:
        whole = str(text)
        place = at % (len(whole) + 1)
        return whole[:place] + by + whole[place + 1 :]

    noise = st.sampled_from([*"0129-+.:TZPDe /\n", "", "\u0663", "\uff15", "\u2212", "é"])
    form = st.one_of(*forms)
    return st.one_of(form, st.builds(changed, form, st.integers(0, 60), noise), TEXT)


def _matching(regex: str) -> Values:
    return st.from_regex(regex, fullmatch=True)


NUMERIC = _almost(
    _matching(r"[+-]?([0-9]{1,16}(\.[0-9]{0,7})?|\.[0-9]{1,8})([eE][+-]?[0-9]{1,2})?"),
    _matching(r"-?[0-9]{1,21}"),
    DECIMAL.map(decimal_text),
    WHOLE.map(str),
    st.sampled_from(
        ["1e9999", "0e9999", "1e-9999", "-2147483648", "2147483648", "5.", "-.5", "-0"]
    ),
)
DATED = _almost(
    DATE, _matching(r"[0-9]{4}-[01][0-9]-[0-3][0-9]"), st.sampled_from(["0000-01-01", "1900-02-29"])
)
TIMED = _almost(TIME, _matching(r"[0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,21})?)?"))
INSTANT = _almost(
    DATETIME,
    _matching(
        r"(000[01]|2024|9999)-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-5][0-9](:[0-5][0-9])?"
        r"(\.[0-9]{1,21})?([Zz]|[+-][0-2][0-9]:[0-6][0-9])?"
    ),
    st.sampled_from(["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59.999-00:01"]),
)
LASTING = _almost(
    DURATION.map(duration_text),
    _matching(
        r"-?[Pp]([0-9]{1,13}[Dd])?([Tt]([0-9]{1,3}[Hh])?([0-9]{1,17}[Mm])?([0-9]{1,4}(\.[0-9]{1,7})?[Ss])?)?"
    ),
    st.sampled_from(["P", "PT", "P1", "P9999999DT", "-P115740740DT17H46M39.99999S"]),
)
GUID = _almost(
    st.uuids().map(str), _matching(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
)
NUMBER = st.one_of(DECIMAL, WIDE)
BOOLEAN_TEXT = _almost(st.sampled_from(["true", "false", "True", "TRUE", "1", "t", "true\n", ""]))

OF_TYPE: dict[types.ExpressionType, Values] = {
    types.BOOLEAN: BIT,
    types.DATE: DATE,
    types.DECIMAL: DECIMAL,
    types.DATE_TIME: DATETIME,
    types.DURATION: DURATION,
    types.GUID: st.uuids().map(str),
    types.TIME_OF_DAY: TIME,
    types.WHOLE: WHOLE,
    types.TEXT: TEXT,
    types.WIDE_DECIMAL: WIDE,
}
SIGNATURE_ARGUMENTS: dict[FunctionName, tuple[Values, ...]] = {
    signature.function: tuple([OF_TYPE[each] for each in signature.parameters])
    for signatures in SIGNATURES.values()
    for signature in signatures
    if signature.function is not None
}
"""Arguments of the types in the signatures, for each function that a client may call."""

OTHER_ARGUMENTS: Sequence[tuple[tuple[Values, ...], Sequence[FunctionName]]] = (
    ((TEXT, TEXT), ("contains_literal", "endswith_literal")),
    ((TEXT, TEXT), ("indexof_literal", "startswith_literal")),
    ((TEXT, POSITION, POSITION), ("substring",)),
    ((TEXT, COUNT, COUNT), ("substring_literal",)),
    ((TEXT, TEXT, TEXT), ("fold",)),
    ((DATETIME, DURATION), ("add_datetime", "sub_datetime")),
    ((DATETIME, DATETIME), ("between_datetimes",)),
    ((DATE, DURATION), ("add_date", "sub_date")),
    ((DATE, DATE), ("between_dates",)),
    ((NATIVE, NATIVE), ("add_native", "sub_native", "mul_native")),
    ((NATIVE, DIVISOR), ("div_native", "mod_native")),
    ((WHOLE, WHOLE), ("add_whole", "sub_whole", "mul_whole", "div_whole", "mod_whole")),
    ((DECIMAL, DECIMAL), ("add_decimal", "sub_decimal", "mul_decimal", "mod_decimal")),
    ((NUMBER, NUMBER), ("div_decimal", "add_wide", "sub_wide", "mul_wide", "mod_wide")),
    ((NUMBER,), ("ceiling", "floor", "round", "narrow")),
    ((NUMBER,), ("int32_of_decimal", "int64_of_decimal", "text_of_decimal")),
    ((WHOLE,), ("bounded", "negate", "scale_checked", "int32_of_whole", "text_of_whole")),
    ((st.integers(-(10**13) + 1, 10**13 - 1),), ("scale",)),
    ((DECIMAL,), ("widen",)),
    ((WIDE,), ("negate_wide", "rounded_decimal")),
    ((BIT,), ("as_number", "text_of_boolean")),
    ((BOOLEAN_TEXT,), ("boolean_of_text",)),
    ((DATED,), ("date_of_text",)),
    ((INSTANT,), ("datetime_of_text",)),
    ((NUMERIC,), ("decimal_of_text", "int32_of_text", "int64_of_text")),
    ((LASTING,), ("duration_of_text",)),
    ((GUID,), ("guid_of_text",)),
    ((TIMED,), ("time_of_text",)),
    ((DURATION,), ("text_of_duration",)),
    ((TEXT,), ("text_of_text",)),
)
"""Arguments for other functions, and for those that get narrower values from a plan."""

ARGUMENTS = {
    **SIGNATURE_ARGUMENTS,
    **{name: arguments for arguments, names in OTHER_ARGUMENTS for name in names},
}

AGGREGATED: dict[AggregateFunction, Values] = {
    "sum_whole": WHOLE,
    "average_whole": WHOLE,
    "sum_decimal": DECIMAL,
    "average_decimal": DECIMAL,
    "sum_wide": WIDE,
    "average_wide": WIDE,
    "min_wide": WIDE,
    "max_wide": WIDE,
    "min": TEXT,
    "max": TEXT,
    "countdistinct": TEXT,
    "count": TEXT,
}

NULLABLE: dict[FunctionName, int] = {"endswith_literal": 0, "substring_literal": 1}
"""The number of arguments that may be null, for functions whose other arguments are literals."""

TESTED_APART: set[FunctionName] = {
    "tied_to_row",
    "fold",
    "matchespattern",
    "null_as_value",
    "unindexed",
}
"""Functions that have their own tests, since the dialects may differ."""

drawn = settings(max_examples=examples(4))


def _outcome(call: Callable[..., Value], *arguments: object) -> Value | tuple[str, str]:
    try:
        return call(*arguments)
    except NotComputed as error:
        return "not computed", str(error)


def _wholes(arguments: Sequence[Value]) -> Wholes:
    return tuple([isinstance(each, int) for each in arguments])


def _nulls(name: FunctionName, row: Sequence[Value]) -> list[list[Value]]:
    """The arguments of a function, each time with null in place of another one."""
    places = range(NULLABLE.get(name, len(row)))
    return [[*row[:place], None, *row[place + 1 :]] for place in places]


def test_every_function_is_tested_and_in_each_dialect() -> None:
    for dialect in (SQLITE, POSTGRESQL):
        assert set(dialect.functions) == set(get_args(FunctionName))
    assert {*ARGUMENTS, *AGGREGATED, *TESTED_APART} == set(get_args(FunctionName))


@together("name", sorted(set(ARGUMENTS) - TESTED_APART))
def test_functions_return_the_same_in_both_dialects(
    name: FunctionName, sqlite: OnSqlite, postgres: OnPostgres
) -> None:
    """Values, faults, and null for null."""

    @drawn
    @given(st.lists(st.tuples(*ARGUMENTS[name]), min_size=5, max_size=12))
    def check_rows(rows: list[tuple[Value, ...]]) -> None:
        computed = dict[Wholes, list[tuple[Sequence[Value], Value]]]()
        for row in rows:
            wholes = _wholes(row)
            made = _outcome(sqlite.call, name, wholes, row)
            if isinstance(made, tuple):
                assert _outcome(postgres.call, name, wholes, row) == made
            else:
                computed.setdefault(wholes, []).append((row, made))
        for wholes, pairs in computed.items():
            nulls = _nulls(name, pairs[0][0])
            expected = [made for _, made in pairs] + [None] * len(nulls)
            called = postgres.calls(name, wholes, [*(row for row, _ in pairs), *nulls])
            assert called == expected
            assert list(map(type, called)) == list(map(type, expected))
            assert [sqlite.call(name, wholes, each) for each in nulls] == [None] * len(nulls)

    check_rows()


@together("name", sorted(AGGREGATED))
def test_aggregates_return_the_same_in_both_dialects(
    name: AggregateFunction, sqlite: OnSqlite, postgres: OnPostgres
) -> None:
    whole = AGGREGATED[name] in (WHOLE, DECIMAL)

    @settings(max_examples=examples(8))
    @given(st.lists(st.one_of(AGGREGATED[name], st.none()), min_size=1, max_size=5))
    def check_values(values: list[Value]) -> None:
        made = [_outcome(each.aggregate, name, whole, values) for each in (sqlite, postgres)]
        assert made[0] == made[1]
        assert type(made[0]) is type(made[1])

    check_values()


def test_only_the_days_of_the_calendar_are_dates(sqlite: OnSqlite, postgres: OnPostgres) -> None:
    days = [
        f"{year:04}-{month:02}-{day:02}"
        for year in (0, 1, 4, 100, 400, 1900, 2000, 2023, 2024, 9999)
        for month in range(14)
        for day in (0, 1, 28, 29, 30, 31, 32)
    ]
    read = [sqlite.call("date_of_text", (False,), [day]) for day in days]
    assert postgres.each("date_of_text", days) == read


def test_the_value_for_null_equals_no_other_value(postgres: OnPostgres) -> None:
    """A list that may contain null is compared by these values."""
    present = [
        postgres.call("null_as_value", (isinstance(each, int),), [each])
        for each in (None, "", "=", "x", 0, -1, MOST_WHOLE)
    ]
    assert len(set(present)) == len(present)
    assert None not in present


def test_routines_that_may_refuse_run_only_for_rows(postgres: OnPostgres) -> None:
    raising = postgres.fetch(
        "SELECT proname::text FROM pg_proc"
        " WHERE proname LIKE 'comptoir%' AND prosrc LIKE '%RAISE%' AND provolatile <> 'v'"
    )
    assert not raising
    assert postgres.fetch("EXPLAIN SELECT 1 WHERE comptoir_whole(1, 'div', 0) = 1")
    assert not postgres.fetch("SELECT 1 WHERE false AND comptoir_whole(1, 'div', 0) = 1")


def test_routines_are_in_the_schema_of_the_tables(postgres_server: Databases) -> None:
    with OnPostgres(postgres_server.new_database(), schema="elsewhere") as elsewhere:
        moved = elsewhere.call("add_date", (False, True), ["2024-02-28", 2 * DAY])
        assert moved == "2024-03-01"
        [[schema]] = elsewhere.fetch(
            "SELECT DISTINCT pronamespace::regnamespace::text FROM pg_proc"
            " WHERE proname LIKE 'comptoir%'"
        )
        assert schema == "elsewhere"


def test_the_routines_can_be_created_again(postgres: OnPostgres) -> None:
    postgres.install()
    assert postgres.call("tolower", (False,), ["\u0130"]) == "i\u0307"
