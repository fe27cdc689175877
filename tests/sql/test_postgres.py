"""PostgreSQL's functions give what SQLite's give, which are Python's: values, nulls and faults."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.edm.duration import DAY, SECOND, duration_text
from comptoir.edm.number import SCALE, decimal_text
from comptoir.edm.temporal import instant
from comptoir.plan.expressions.kinds import MOST_DECIMAL, MOST_WHOLE
from comptoir.plan.expressions.wide import FINER, LARGEST, WIDE_SCALE, wide_text
from comptoir.sql.functions import SQLITE
from comptoir.sql.postgres import POSTGRES
from support.effort import examples
from support.functions import NotComputed, OnPostgres, OnSqlite, Value, Wholes
from support.postgres import Databases

Values = st.SearchStrategy[Value]

ONLY_SQLITE = {"trigrams", "total_whole", "total_decimal", "mean_whole", "mean_decimal"}
"""What other functions of SQLite are made of."""


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
SPAN = st.one_of(
    _near(SECOND, DAY, 365 * DAY, 3_652_058 * DAY, most=MOST_DECIMAL),
    st.integers(-4_000_000, 4_000_000).map(lambda days: days * DAY),
)
MOMENT = st.one_of(
    st.datetimes(timezones=st.just(UTC)),
    st.sampled_from([datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]),
).map(instant)
DATE = MOMENT.map(lambda moment: moment[:10])
TIME = MOMENT.map(lambda moment: moment[11:23])
BIT = st.integers(0, 1)
NATIVE = st.integers(-(10**9), 10**9)
DIVISOR = NATIVE.filter(bool)
COUNT = st.one_of(st.integers(0, 9), st.sampled_from([2**30, 2**31, 2**31 - 1, MOST_WHOLE]))
POSITION = st.one_of(st.integers(-9, 9), WHOLE)


def _almost(*forms: Values) -> Values:
    """Texts of some forms, and what becomes of them when a character is changed."""

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
    MOMENT,
    _matching(
        r"(000[01]|2024|9999)-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-5][0-9](:[0-5][0-9])?"
        r"(\.[0-9]{1,21})?([Zz]|[+-][0-2][0-9]:[0-6][0-9])?"
    ),
    st.sampled_from(["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59.999-00:01"]),
)
LASTING = _almost(
    SPAN.map(duration_text),
    _matching(
        r"-?[Pp]([0-9]{1,13}[Dd])?([Tt]([0-9]{1,3}[Hh])?([0-9]{1,17}[Mm])?([0-9]{1,4}(\.[0-9]{1,7})?[Ss])?)?"
    ),
    st.sampled_from(["P", "PT", "P1", "P9999999DT", "-P115740740DT17H46M39.99999S"]),
)
GUID = _almost(
    st.uuids().map(str),
    _matching(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
)
NUMBER = st.one_of(DECIMAL, WIDE)
TRUTH = _almost(st.sampled_from(["true", "false", "True", "TRUE", "1", "t", "true\n", ""]))

_TAKES: dict[str, Sequence[Values]] = {
    "contains contains_text startswith startswith_text endswith endswith_text": (TEXT, TEXT),
    "indexof indexof_text concat": (TEXT, TEXT),
    "tolower toupper trim length text_of_text": (TEXT,),
    "fold": (TEXT, TEXT, TEXT),
    "substring_written": (TEXT, COUNT, COUNT),
    "substring": (TEXT, POSITION, POSITION),
    "year month day hour minute second fractionalseconds date time totaloffsetminutes": (MOMENT,),
    "hour_of_time minute_of_time second_of_time fractionalseconds_of_time": (TIME,),
    "totalseconds text_of_duration": (SPAN,),
    "add_moment sub_moment": (MOMENT, SPAN),
    "between_moments": (MOMENT, MOMENT),
    "add_date sub_date": (DATE, SPAN),
    "between_dates": (DATE, DATE),
    "add_native sub_native mul_native": (NATIVE, NATIVE),
    "div_native mod_native": (NATIVE, DIVISOR),
    "negate": (WHOLE,),
    "scale": (st.integers(-(10**13) + 1, 10**13 - 1),),
    "bounded scale_checked text_of_whole int32_of_whole": (WHOLE,),
    "widen": (DECIMAL,),
    "add_whole sub_whole mul_whole div_whole mod_whole": (WHOLE, WHOLE),
    "add_decimal sub_decimal mul_decimal mod_decimal": (DECIMAL, DECIMAL),
    "div_decimal add_wide sub_wide mul_wide mod_wide": (NUMBER, NUMBER),
    "negate_wide rounded_decimal": (WIDE,),
    "narrow round floor ceiling text_of_decimal int32_of_decimal int64_of_decimal": (NUMBER,),
    "int32_of_text int64_of_text decimal_of_text": (NUMERIC,),
    "boolean_of_text": (TRUTH,),
    "guid_of_text": (GUID,),
    "date_of_text": (DATED,),
    "instant_of_text": (INSTANT,),
    "time_of_text": (TIMED,),
    "duration_of_text": (LASTING,),
    "text_of_boolean": (BIT,),
    "as_number": (BIT,),
}
TAKES = {name: takes for names, takes in _TAKES.items() for name in names.split()}
"""The values that each function is called with, those that a plan may hand to it."""

AGGREGATED: dict[str, Values] = {
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

NULLABLE = {"endswith_text": 0, "substring_written": 1}
"""How many of the arguments may be null, where not all may be: the others are literals."""

APART = {"asked_of", "fold", "matchespattern", "present", "group_freely"}
"""What has tests of its own, since the two need not say the same."""

drawn = settings(max_examples=examples(40), deadline=None)


def _outcome(call: Callable[..., Value], *arguments: object) -> Value | tuple[str, str]:
    try:
        return call(*arguments)
    except NotComputed as fault:
        return "not computed", str(fault)


def _wholes(arguments: Sequence[Value]) -> Wholes:
    return tuple([isinstance(each, int) for each in arguments])


def test_each_function_of_sqlite_is_one_of_postgresql() -> None:
    assert set(POSTGRES) == set(SQLITE) - ONLY_SQLITE
    assert set(POSTGRES) - APART == (set(TAKES) | set(AGGREGATED)) - APART


@pytest.mark.parametrize("name", sorted(set(TAKES) - APART))
def test_functions_give_the_same(name: str, sqlite: OnSqlite, postgres: OnPostgres) -> None:
    @drawn
    @given(st.lists(st.tuples(*TAKES[name]), min_size=1, max_size=6))
    def check(rows: list[tuple[Value, ...]]) -> None:
        for row in rows:
            called = [_outcome(each.call, name, _wholes(row), row) for each in (sqlite, postgres)]
            assert called[0] == called[1]
            assert type(called[0]) is type(called[1])

    check()


@pytest.mark.parametrize("name", sorted(set(TAKES) - APART))
def test_null_gives_null(name: str, sqlite: OnSqlite, postgres: OnPostgres) -> None:
    @settings(max_examples=3, deadline=None)
    @given(st.tuples(*TAKES[name]))
    def check(row: tuple[Value, ...]) -> None:
        for place in range(NULLABLE.get(name, len(row))):
            arguments = [None if at == place else each for at, each in enumerate(row)]
            for each in (sqlite, postgres):
                assert each.call(name, _wholes(row), arguments) is None

    check()


@pytest.mark.parametrize("name", sorted(AGGREGATED))
def test_aggregates_give_the_same(name: str, sqlite: OnSqlite, postgres: OnPostgres) -> None:
    whole = AGGREGATED[name] in (WHOLE, DECIMAL)

    @drawn
    @given(st.lists(st.one_of(AGGREGATED[name], st.none()), min_size=1, max_size=5))
    def check(values: list[Value]) -> None:
        made = [_outcome(each.aggregate, name, whole, values) for each in (sqlite, postgres)]
        assert made[0] == made[1]
        assert type(made[0]) is type(made[1])

    check()


def test_every_day_of_a_calendar_is_a_date_and_no_other(
    sqlite: OnSqlite, postgres: OnPostgres
) -> None:
    days = [
        f"{year:04}-{month:02}-{day:02}"
        for year in (0, 1, 4, 100, 400, 1900, 2000, 2023, 2024, 9999)
        for month in range(14)
        for day in (0, 1, 28, 29, 30, 31, 32)
    ]
    read = [sqlite.call("date_of_text", (False,), [day]) for day in days]
    assert postgres.each("date_of_text", days) == read


def test_only_null_is_present_as_null(postgres: OnPostgres) -> None:
    """Lists with null are compared by it."""
    present = [
        postgres.call("present", (isinstance(each, int),), [each])
        for each in (None, "", "=", "x", 0, -1, MOST_WHOLE)
    ]
    assert len(set(present)) == len(present)
    assert None not in present


def test_what_may_be_a_fault_is_computed_for_rows_alone(postgres: OnPostgres) -> None:
    raising = postgres.fetch(
        "SELECT proname::text FROM pg_proc"
        " WHERE proname LIKE 'comptoir%' AND prosrc LIKE '%RAISE%' AND provolatile <> 'v'"
    )
    assert not raising
    assert postgres.fetch("EXPLAIN SELECT 1 WHERE comptoir_whole(1, 'div', 0) = 1")
    assert not postgres.fetch("SELECT 1 WHERE false AND comptoir_whole(1, 'div', 0) = 1")


def test_functions_are_found_in_the_schema_of_the_tables(postgres_server: Databases) -> None:
    with OnPostgres(postgres_server.new_database(), schema="elsewhere") as elsewhere:
        moved = elsewhere.call("add_date", (False, True), ["2024-02-28", 2 * DAY])
        assert moved == "2024-03-01"
        [[schema]] = elsewhere.fetch(
            "SELECT DISTINCT pronamespace::regnamespace::text FROM pg_proc"
            " WHERE proname LIKE 'comptoir%'"
        )
        assert schema == "elsewhere"


def test_statements_may_be_run_again(postgres: OnPostgres) -> None:
    postgres.install()
    assert postgres.call("tolower", (False,), ["\u0130"]) == "i\u0307"
