"""Random records and filters over them, for Hypothesis; few values, so that they meet."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from support import evaluator
from support.evaluator import Condition, Operand, Plain, Specimen

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

_RECORD: Mapping[str, SearchStrategy[Plain]] = {
    "text": TEXTS,
    "mirrored": TEXTS,
    "amount": DECIMALS,
    "rate": DECIMALS,
    "active": st.booleans(),
    "reference": GUIDS,
    "day": DATES,
    "moment": MOMENTS,
}


@st.composite
def data_sets(draw: st.DrawFn) -> list[Specimen]:
    """Up to ten specimens, their codes being their numbers."""
    ranks = draw(st.lists(INTEGERS, min_size=1, max_size=10, unique=True))
    return [
        {"code": f"{number}", "rank": rank, **draw(st.fixed_dictionaries(_RECORD))}
        for number, rank in enumerate(ranks)
    ]


def _text(value: str) -> Operand:
    quoted = value.replace("'", "''")
    return evaluator.constant(value, f"'{quoted}'")


def _number(value: int | Decimal) -> Operand:
    return evaluator.constant(
        value, format(value, "f") if isinstance(value, Decimal) else f"{value}"
    )


def _boolean(value: bool) -> Operand:
    return evaluator.constant(value, "true" if value else "false")


@st.composite
def _guid(draw: st.DrawFn) -> Operand:
    value = draw(GUIDS)
    return evaluator.constant(value, draw(st.sampled_from([str(value), str(value).upper()])))


def _date(value: date) -> Operand:
    return evaluator.constant(value, value.isoformat())


@st.composite
def _moment(draw: st.DrawFn) -> Operand:
    value = draw(MOMENTS)
    text = value.isoformat(timespec="milliseconds").replace("+00:00", draw(st.sampled_from("Zz")))
    return evaluator.constant(value, text)


_TEXT_FIELDS = st.sampled_from([evaluator.field("text"), evaluator.field("mirrored")])
_TEXT_CHANGES = st.sampled_from(sorted(evaluator.TEXT_CHANGES))
_CHANGED_FIELDS = st.builds(evaluator.changed, _TEXT_CHANGES, _TEXT_FIELDS)
_TEXT_OPERANDS: SearchStrategy[Operand] = st.one_of(
    _TEXT_FIELDS,
    _CHANGED_FIELDS,
    TEXTS.map(_text),
    st.builds(evaluator.changed, _TEXT_CHANGES, st.one_of(_CHANGED_FIELDS, TEXTS.map(_text))),
)
_NUMBER_FIELDS = st.one_of(
    st.sampled_from([evaluator.field(name) for name in ("rank", "amount", "rate")]),
    _TEXT_OPERANDS.map(evaluator.length),
)
_NUMBERS = st.one_of(INTEGERS.map(_number), _FINE_DECIMALS.map(_number))

_OPERANDS: Mapping[str, tuple[SearchStrategy[Operand], SearchStrategy[Operand]]] = {
    "text": (_TEXT_OPERANDS, _TEXT_FIELDS),
    "number": (_NUMBER_FIELDS, _NUMBERS),
    "boolean": (st.just(evaluator.field("active")), st.booleans().map(_boolean)),
    "guid": (st.just(evaluator.field("reference")), _guid()),
    "date": (st.just(evaluator.field("day")), DATES.map(_date)),
    "moment": (st.just(evaluator.field("moment")), _moment()),
}
"""Type to operands, and what they are compared with beside one another."""

_LISTED = {**_OPERANDS, "text": (_TEXT_OPERANDS, TEXTS.map(_text))}
"""Type to operands, and literals."""


@st.composite
def _comparisons(draw: st.DrawFn) -> Condition:
    operands, literals = _OPERANDS[draw(st.sampled_from(sorted(_OPERANDS)))]
    operator = draw(st.sampled_from(sorted(evaluator.COMPARISONS)))
    sides = [draw(operands), draw(st.one_of(operands, literals))]
    return evaluator.compared(operator, *draw(st.permutations(sides)))


@st.composite
def _lists(draw: st.DrawFn) -> Condition:
    operands, literals = _LISTED[draw(st.sampled_from(sorted(_OPERANDS)))]
    items = draw(st.lists(literals, min_size=1, max_size=5))
    return evaluator.listed(draw(operands), items)


_TESTS = st.builds(
    evaluator.tested, st.sampled_from(sorted(evaluator.TEXT_TESTS)), _TEXT_OPERANDS, _TEXT_OPERANDS
)
_BARE = st.just(Condition("active", lambda record: bool(record["active"])))

CONDITIONS: SearchStrategy[Condition] = st.recursive(
    st.one_of(_comparisons(), _lists(), _TESTS, _BARE),
    lambda inner: st.one_of(
        st.builds(evaluator.negated, inner),
        st.builds(
            evaluator.joined,
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=4),
        ),
    ),
    max_leaves=12,
)
"""Conditions over specimens, of every operator and function that filters have."""
