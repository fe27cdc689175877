"""Random records and expressions for Hypothesis; of few values, so that many are equal."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache, partial
from typing import TypeVar, cast
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from support import evaluator
from support.evaluator import Operand, Specimen

T = TypeVar("T")


def any_of(*choices: T) -> SearchStrategy[T]:
    """One of some values; like `cache`, it spares Hypothesis to validate a strategy again."""
    return cast("SearchStrategy[T]", _any_of(choices))


@cache
def _any_of(choices: tuple[object, ...]) -> SearchStrategy[object]:
    return st.sampled_from(choices)


_ALPHABET = st.sampled_from("aAbB%_'\\ ßÉéſıİ\u0301中文م😀\uffff")
TEXTS = st.one_of(
    st.text("aAéß", max_size=2),
    st.text(_ALPHABET, max_size=3),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
)
INTEGERS = st.one_of(st.integers(-3, 3), st.integers(-(2**31), 2**31 - 1))
DECIMALS = st.one_of(
    st.integers(-3, 3).map(Decimal),
    st.decimals(-3, 3, places=5),
    st.decimals(Decimal("-9999999999999.99999"), Decimal("9999999999999.99999"), places=5),
)
_FINE_DECIMALS = st.one_of(DECIMALS, st.decimals(-3, 3, places=9))
GUIDS = st.sampled_from(
    [UUID(int=0), UUID(int=10 << 120), UUID(int=11 << 120), UUID(int=2**128 - 1)]
)
DATES = st.one_of(st.dates(date(2024, 2, 27), date(2024, 3, 2)), st.dates())
_DAY = datetime(2024, 2, 29, tzinfo=UTC)
MOMENTS = st.one_of(
    st.integers(-3, 3).map(lambda steps: _DAY + timedelta(milliseconds=steps)),
    st.integers(-100_000, 100_000).map(lambda steps: _DAY + timedelta(hours=steps)),
)
_SPANS = st.one_of(
    st.integers(-3, 3).map(lambda days: timedelta(days=days)),
    st.integers(-100_000, 100_000).map(lambda steps: timedelta(milliseconds=steps)),
    st.integers(-3, 3).map(lambda steps: timedelta(microseconds=10 * steps)),
)

_RECORDS: SearchStrategy[Specimen] = st.fixed_dictionaries(
    {
        "series": st.sampled_from(["", "0", "0", "1", "2"]),
        "text": TEXTS,
        "mirrored": TEXTS,
        "amount": DECIMALS,
        "rate": DECIMALS,
        "active": st.booleans(),
        "reference": GUIDS,
        "day": DATES,
        "moment": MOMENTS,
    }
)


@st.composite
def data_sets(draw: DrawFn) -> list[Specimen]:
    """Up to ten specimens whose codes are their numbers."""
    ranks = draw(st.lists(INTEGERS, min_size=1, max_size=10, unique=True))
    return [
        {"code": f"{number}", "rank": rank, **draw(_RECORDS)} for number, rank in enumerate(ranks)
    ]


def _duration(span: timedelta) -> str:
    sign = "-" if span < timedelta() else ""
    return f"duration'{sign}PT{_seconds(abs(span)):f}S'"


def _seconds(span: timedelta) -> Decimal:
    return Decimal(span // timedelta(microseconds=1)) / 1_000_000


def _pointed(value: Decimal) -> Operand:
    text = f"{value:f}"
    return evaluator.constant(value, text if "." in text else f"{text}.0")


@cache
@st.composite
def _moment_text(draw: DrawFn) -> Operand:
    value = draw(MOMENTS)
    text = value.isoformat(timespec="milliseconds").replace("+00:00", draw(any_of(*"Zz")))
    return evaluator.constant(value, text)


_LITERALS: Mapping[str, SearchStrategy[Operand]] = {
    "text": TEXTS.map(evaluator.quoted),
    "whole": INTEGERS.map(lambda value: evaluator.constant(value, f"{value}")),
    "decimal": _FINE_DECIMALS.map(_pointed),
    "boolean": st.booleans().map(lambda value: evaluator.constant(value, str(value).lower())),
    "guid": GUIDS.map(lambda value: evaluator.constant(value, str(value).upper())),
    "date": DATES.map(lambda value: evaluator.constant(value, value.isoformat())),
    "moment": _moment_text(),
    "time": st.sampled_from([time(), time(1, 2, 3), time(23, 59, 59, 999_000)]).map(
        lambda value: evaluator.constant(value, value.isoformat(timespec="milliseconds"))
    ),
    "span": _SPANS.map(lambda value: evaluator.constant(value, _duration(value))),
}

_LENGTHS = st.one_of(
    st.integers(0, 3).map(lambda value: evaluator.constant(value, f"{value}")),
    st.just(evaluator.field("rank")),
)

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "mirrored", "code"),
    "whole": ("rank",),
    "decimal": ("amount", "rate"),
    "boolean": ("active",),
    "guid": ("reference",),
    "date": ("day",),
    "moment": ("moment",),
}

TYPES = tuple(_LITERALS)

Variables = tuple[str, ...]
"""The names of records in an expression: variables, and "" for the record itself."""

_PATTERNS = ("a", "^a", "[^a]$", "a+|ß", "^.{2}$", "(a|A)(é|ß)?", "\\d", "^$", "^\\w*$", "中|\\.")

_TEXT_CHANGES: Mapping[str, Callable[[str], str]] = {
    "tolower": str.lower,
    "toupper": str.upper,
    "trim": str.strip,
}
_TEXT_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "contains": lambda text, part: part in text,
    "startswith": str.startswith,
    "endswith": str.endswith,
}


@cache
@st.composite
def values(draw: DrawFn, type_name: str, depth: int, variables: Variables = ("",)) -> Operand:
    """A value of a type, up to a depth."""
    choice = draw(st.integers(0, 9))
    if depth == 0 or choice < 3:
        return draw(_leaves(type_name, variables))
    if choice == 3:
        return draw(_chosen(type_name, depth - 1, variables))
    return draw(_MADE[type_name](depth - 1, variables))


@cache
@st.composite
def _leaves(draw: DrawFn, type_name: str, variables: Variables) -> Operand:
    source = draw(st.integers(0, 9))
    names = _FIELDS.get(type_name, ())
    if source == 0:
        return evaluator.constant(None, "null")
    if not names or source < 4:
        return draw(_LITERALS[type_name])
    name, variable = draw(any_of(*names)), draw(any_of(*variables))
    return (evaluator.original if source == 4 else evaluator.field)(name, variable)


@cache
@st.composite
def _chosen(draw: DrawFn, type_name: str, depth: int, variables: Variables) -> Operand:
    conditions = draw(st.lists(values("boolean", depth, variables), min_size=1, max_size=2))
    branches = [(each, draw(values(type_name, depth, variables))) for each in conditions]
    if draw(st.booleans()):
        branches.append((evaluator.constant(True, "true"), draw(values(type_name, 0, variables))))
    return evaluator.chosen(branches)


@cache
def _starts(variables: Variables) -> SearchStrategy[Operand]:
    return st.one_of(values("whole", 0, variables), _LITERALS["whole"])


@cache
@st.composite
def _texts(draw: DrawFn, depth: int, variables: Variables) -> Operand:
    def text() -> Operand:
        return draw(values("text", depth, variables))

    def whole() -> Operand:
        return draw(_starts(variables))

    match draw(st.integers(0, 4)):
        case 0:
            name = draw(any_of(*sorted(_TEXT_CHANGES)))
            return evaluator.called(name, _TEXT_CHANGES[name], text())
        case 1:
            return evaluator.called("concat", str.__add__, text(), text())
        case 2:
            return evaluator.substring(text(), whole())
        case 3:
            return evaluator.substring(text(), whole(), draw(_LENGTHS))
    if draw(st.booleans()):
        return evaluator.cast(draw(values("whole", depth, variables)), "Edm.String", str)
    operand = draw(values("decimal", depth, variables))
    return evaluator.cast(operand, "Edm.String", evaluator.text_of_decimal)


@cache
@st.composite
def _wholes(draw: DrawFn, depth: int, variables: Variables) -> Operand:
    def of(type_name: str) -> Operand:
        return draw(values(type_name, depth, variables))

    match draw(st.integers(0, 7)):
        case 0:
            return evaluator.called("length", len, of("text"))
        case 1:
            return evaluator.called("indexof", str.find, of("text"), of("text"))
        case 2 | 3:
            part = draw(any_of("year", "month", "day", "hour", "minute", "second"))
            alone = "date" if part in ("year", "month", "day") else "time"
            moment = of(draw(any_of(alone, "moment")))
            return evaluator.called(part, lambda value: getattr(value, part), moment)
        case 4:
            return evaluator.cast(of("text"), "Edm.Int32", evaluator.whole_of_text)
        case 5:
            return evaluator.counted(draw(any_of(*variables)))
    return draw(_computed("whole", "whole", "whole", depth, variables, without=("divby",)))


@cache
@st.composite
def _decimals(draw: DrawFn, depth: int, variables: Variables) -> Operand:
    def of(type_name: str) -> Operand:
        return draw(values(type_name, depth, variables))

    match draw(st.integers(0, 7)):
        case 0:
            name = draw(any_of("round", "floor", "ceiling"))
            operand = of("decimal")
            return evaluator.called(name, lambda value: evaluator.rounded(name, value), operand)
        case 1:
            return evaluator.called("totalseconds", _seconds, of("span"))
        case 2:
            return evaluator.called(
                "fractionalseconds", lambda at: Decimal(at.microsecond) / 1_000_000, of("moment")
            )
        case 3:
            operand = draw(values("whole", depth, variables))
            return evaluator.cast(operand, "Edm.Decimal", evaluator.decimal)
    both = ("decimal", "decimal")
    first, second = draw(any_of(("whole", "decimal"), ("decimal", "whole"), both, both))
    return draw(_computed("decimal", first, second, depth, variables))


@cache
@st.composite
def _computed(
    draw: DrawFn,
    result: str,
    first: str,
    second: str,
    depth: int,
    variables: Variables,
    without: tuple[str, ...] = (),
) -> Operand:
    left = draw(values(first, depth, variables))
    if first == result and draw(st.integers(0, 5)) == 0:
        return evaluator.minus(left, lambda value: -value)
    names = [each for each in ("add", "sub", "mul", "div", "divby", "mod") if each not in without]
    operator = draw(any_of(*names))
    right = draw(values(second, depth, variables))
    # null with null has the type of integers, whatever type is drawn
    return evaluator.infix(
        operator, lambda one, other: evaluator.arithmetic(operator, one, other), left, right
    )


@cache
@st.composite
def _moments(draw: DrawFn, depth: int, variables: Variables) -> Operand:
    moment, span = draw(values("moment", depth, variables)), draw(values("span", depth, variables))
    if draw(st.booleans()):
        return evaluator.infix("add", evaluator.moved, moment, span)
    return evaluator.infix("sub", lambda one, other: evaluator.moved(one, -other), moment, span)


@cache
@st.composite
def _dates(draw: DrawFn, depth: int, variables: Variables) -> Operand:
    if draw(st.booleans()):
        operand = draw(values("moment", depth, variables))
        return evaluator.called("date", datetime.date, operand)
    day, span = draw(values("date", depth, variables)), draw(values("span", depth, variables))
    if draw(st.booleans()):
        return evaluator.infix("add", evaluator.moved_day, day, span)
    return evaluator.infix("sub", lambda one, other: evaluator.moved_day(one, -other), day, span)


@cache
@st.composite
def _spans(draw: DrawFn, depth: int, variables: Variables) -> Operand:
    match draw(st.integers(0, 2)):
        case 0:
            type_name = draw(any_of("date", "moment"))
            sides = [draw(values(type_name, depth, variables)) for _ in range(2)]
            return evaluator.infix("sub", lambda one, other: one - other, *sides)
        case 1:
            return evaluator.minus(draw(values("span", depth, variables)), lambda value: -value)
    sides = [draw(values("span", depth, variables)) for _ in range(2)]
    return evaluator.infix("add", lambda one, other: one + other, *sides)


@cache
@st.composite
def _times(draw: DrawFn, depth: int, variables: Variables) -> Operand:
    return evaluator.called("time", datetime.time, draw(values("moment", depth, variables)))


_NUMBERS = ("whole", "decimal")


@cache
@st.composite
def _conditions(draw: DrawFn, depth: int, variables: Variables) -> Operand:
    def condition() -> Operand:
        return draw(values("boolean", depth, variables))

    match draw(st.integers(0, 9)):
        case 0:
            return evaluator.negated(condition())
        case 1 | 2:
            parts = [condition() for _ in range(draw(st.integers(2, 3)))]
            return evaluator.joined(draw(any_of("and", "or")), parts)
        case 3:
            name = draw(any_of(*sorted(_TEXT_TESTS)))
            texts = [draw(values("text", depth, variables)) for _ in range(2)]
            return evaluator.called(name, _TEXT_TESTS[name], *texts)
        case 4:
            return draw(_quantified(depth, variables))
        case 5:
            return draw(_listed(depth, variables))
        case 6:
            pattern = draw(any_of(*_PATTERNS))
            text = draw(values("text", depth, variables))
            quoted = evaluator.constant(pattern, f"'{pattern}'")
            return evaluator.called("matchesPattern", _matches, text, quoted)
    type_name = draw(any_of(*TYPES))
    other = draw(any_of(*_NUMBERS)) if type_name in _NUMBERS else type_name
    sides = draw(values(type_name, depth, variables)), draw(values(other, depth, variables))
    return evaluator.compared(draw(any_of(*evaluator.COMPARISONS)), *sides)


def _matches(text: str, pattern: str) -> bool:
    return re.search(pattern.replace("$", "\\Z"), text, re.ASCII) is not None


@cache
@st.composite
def _listed(draw: DrawFn, depth: int, variables: Variables) -> Operand:
    type_name = draw(any_of(*TYPES))
    left = draw(values(type_name, depth, variables))
    literals = draw(st.lists(_LITERALS[type_name], min_size=1, max_size=4))
    others = draw(st.lists(values(type_name, 0, variables), max_size=2))
    items = draw(st.permutations(literals + others))
    return evaluator.listed(left, items, draw(any_of(*"([")))


@cache
@st.composite
def _quantified(draw: DrawFn, depth: int, variables: Variables) -> Operand:
    over = draw(any_of(*variables))
    if len(variables) > 2:
        return evaluator.quantified("any", over, "")
    inner = f"v{len(variables)}"
    quantifier = draw(any_of("any", "all"))
    condition = draw(values("boolean", depth, (*variables, inner)))
    return evaluator.quantified(quantifier, over, inner, condition)


_MADE: Mapping[str, Callable[[int, Variables], SearchStrategy[Operand]]] = {
    "text": _texts,
    "whole": _wholes,
    "decimal": _decimals,
    "boolean": _conditions,
    "guid": partial(_chosen, "guid"),
    "date": _dates,
    "moment": _moments,
    "time": _times,
    "span": _spans,
}

CONDITIONS: SearchStrategy[Operand] = st.integers(1, 4).flatmap(
    lambda depth: _conditions(depth, ("",))
)
"""Conditions over specimens, with every operator and function of filters."""


@st.composite
def orders(draw: DrawFn) -> list[tuple[Operand, bool]]:
    """Sort keys in order, each with whether it is descending."""
    types = draw(st.lists(any_of(*TYPES), min_size=1, max_size=3))
    return [
        (draw(values(type_name, draw(st.integers(0, 2)))), draw(st.booleans()))
        for type_name in types
    ]
