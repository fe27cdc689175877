"""Pipelines of `$apply` in plain Python, each with its text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Context, Decimal
from functools import partial

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from support.evaluator import Operand, Plain, Scope, Specimen, Unfit
from support.random_expressions import CONDITIONS, any_of

Row = Mapping[str, Plain | None]
Step = Callable[[Sequence[Row], Sequence[Specimen]], list[Row]]
"""Computes rows from rows; all records are passed too, for relations."""
Shown = str | int | bool | None

_EXACT = Context(prec=100)
_UNIT = Decimal("0.00001")
_LIMIT = Decimal(10) ** 13


@dataclass(frozen=True)
class Transformation:
    """The text of a transformation, and the function that computes its rows."""

    text: str
    make: Step


@dataclass(frozen=True)
class Pipeline:
    """Transformations and the properties of their result; `big` ones are 64-bit or larger."""

    steps: tuple[Transformation, ...]
    big: frozenset[str]

    @property
    def text(self) -> str:
        return "/".join(each.text for each in self.steps)

    def rows(self, records: Sequence[Specimen]) -> list[Mapping[str, Shown]]:
        """The rows as in JSON; raises `Unfit` if a value on the way is out of range."""
        rows: list[Row] = list(records)
        for step in self.steps:
            rows = step.make(rows, records)
        return [
            {name: _shown(value, big=name in self.big) for name, value in row.items()}
            for row in rows
        ]


def _shown(value: Plain | None, *, big: bool) -> Shown:
    if isinstance(value, Decimal):
        return f"{value:f}".rstrip("0").rstrip(".") if value else "0"
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int):
        return f"{value}" if big else value
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else str(value)


def _fitting(number: Decimal) -> Decimal:
    """A Decimal that is in range, unless it has more digits than can be stored."""
    if abs(number) >= _LIMIT or number != number.quantize(_UNIT, context=_EXACT):
        raise Unfit
    return number


def _sum(values: Sequence[Plain]) -> Plain | None:
    if not values:
        return None
    total = Decimal(0)
    for value in values:
        total = _EXACT.add(total, Decimal(_number(value)))
    return int(total) if isinstance(values[0], int) else _fitting(total)


def _average(values: Sequence[Plain]) -> Plain | None:
    if not values:
        return None
    # the sum as an integer, in units of the finest decimal of a product
    units = sum(int(Decimal(_number(value)).scaleb(10, _EXACT)) for value in values)
    quotient, rest = divmod(units, len(values) * 10**5)
    twice = 2 * rest - len(values) * 10**5
    if twice > 0 or (twice == 0 and quotient % 2):
        quotient += 1
    return _fitting(Decimal(quotient).scaleb(-5, _EXACT))


def _number(value: Plain) -> int | Decimal:
    assert isinstance(value, int | Decimal)
    return value


def _ordered(value: Plain | None) -> tuple[bool, str | int | Decimal]:
    """A key that sorts values of one type as the service does, null before the others."""
    if value is None:
        return False, 0
    if isinstance(value, str | int | Decimal):
        return True, value
    return True, value.isoformat() if isinstance(value, date) else str(value)


_METHODS: Mapping[str, Callable[[Sequence[Plain]], Plain | None]] = {
    "sum": _sum,
    "average": _average,
    "min": partial(min, key=_ordered, default=None),
    "max": partial(max, key=_ordered, default=None),
    "countdistinct": lambda values: len(set(values)),
}
_NUMERIC = ("sum", "average")
_PRODUCT = "amount mul rate"


def _operand(name: str, row: Row) -> Plain | None:
    if name != _PRODUCT:
        return row[name]
    product = _EXACT.multiply(
        Decimal(_number(row["amount"] or 0)), Decimal(_number(row["rate"] or 0))
    )
    if abs(product) >= _LIMIT:
        raise Unfit
    return product


@dataclass(frozen=True)
class _Item:
    """An aggregated value; without a method, the number of rows."""

    alias: str
    method: str = ""
    operand: str = ""

    @property
    def text(self) -> str:
        if not self.method:
            return f"$count as {self.alias}"
        return f"{self.operand} with {self.method} as {self.alias}"

    def of(self, rows: Sequence[Row]) -> Plain | None:
        if not self.method:
            return len(rows)
        values = [_operand(self.operand, row) for row in rows]
        made = _METHODS[self.method]([each for each in values if each is not None])
        if self.operand == _PRODUCT and isinstance(made, Decimal):
            return _fitting(made)
        return made


def _grouping(keys: Sequence[str], items: Sequence[_Item]) -> Transformation:
    aggregate = f"aggregate({','.join(each.text for each in items)})"
    text = aggregate
    if keys:
        text = f"groupby(({','.join(keys)}){f',{aggregate}' if items else ''})"

    def make(rows: Sequence[Row], _: Sequence[Specimen]) -> list[Row]:
        groups: dict[tuple[Plain | None, ...], list[Row]] = {} if keys else {(): []}
        for row in rows:
            groups.setdefault(tuple(row[key] for key in keys), []).append(row)
        ordered = sorted(groups, key=lambda group: [_ordered(each) for each in group])
        return [
            {
                **dict(zip(keys, group, strict=True)),
                **{each.alias: each.of(groups[group]) for each in items},
            }
            for group in ordered
        ]

    return Transformation(text, make)


def _above(name: str, least: int) -> Transformation:
    def make(rows: Sequence[Row], _: Sequence[Specimen]) -> list[Row]:
        values = [(row, row[name]) for row in rows]
        return [row for row, value in values if value is not None and _number(value) > least]

    return Transformation(f"filter({name} gt {least})", make)


def _cut(name: str, kept: slice) -> Transformation:
    return Transformation(name, lambda rows, _: list(rows[kept]))


_CUTS = st.sampled_from(
    [
        *[_cut(f"top({count})", slice(count)) for count in range(5)],
        *[_cut(f"skip({count})", slice(count, None)) for count in range(5)],
    ]
)


def _filtering(condition: Operand) -> Transformation:
    def make(rows: Sequence[Row], records: Sequence[Specimen]) -> list[Row]:
        # no pipeline filters by properties once they are aggregated: the rows are records
        met = {each["code"]: condition.of(Scope(each, records, {})) for each in records}
        return [row for row in rows if met[row["code"] or ""] is True]

    return Transformation(f"filter({condition.text})", make)


_FILTERS = st.lists(CONDITIONS.map(_filtering), max_size=2)

_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("series", "text", "mirrored"), "text"),
    **dict.fromkeys(("amount", "rate"), "decimal"),
    "rank": "whole",
    "active": "boolean",
    "reference": "guid",
    "day": "date",
    "moment": "instant",
}
"""The properties to group by and to aggregate, with their types."""

_NUMBERS = ("whole", "decimal", "big")


@st.composite
def _items(draw: DrawFn, types: Mapping[str, str], prefix: str) -> list[tuple[_Item, str]]:
    """Aggregated values of properties of these types, each with its own type."""
    found: list[tuple[_Item, str]] = []
    for number in range(draw(st.integers(0, 3))):
        alias = f"{prefix}{number}"
        numbers = [name for name, type_name in types.items() if type_name in _NUMBERS]
        products = [_PRODUCT] if {"amount", "rate"} <= set(types) else []
        operand = draw(any_of("", *types, *numbers * 2, *products))
        type_name = "decimal" if operand == _PRODUCT else types.get(operand, "")
        methods = [each for each in _METHODS if each not in _NUMERIC]
        if type_name in _NUMBERS:
            methods += _NUMERIC * 3
        method = draw(any_of(*methods)) if operand else ""
        if method == "sum":
            type_name = "decimal" if type_name == "decimal" else "big"
        elif method == "average":
            type_name = "decimal"
        elif method in ("countdistinct", ""):
            type_name = "big"
        found.append((_Item(alias, method, operand), type_name))
    return found


@st.composite
def _groupings(
    draw: DrawFn, types: Mapping[str, str], prefix: str
) -> tuple[Transformation, Mapping[str, str]]:
    """A grouping of rows of these properties, and the types of its result."""
    # few keys of few values, so that groups have several rows
    often = [each for each in ("active", "reference", "series") if each in types]
    names = any_of(*sorted(types), *often * 4)
    keys: list[str] = draw(st.lists(names, max_size=2, unique=True))
    items = draw(_items(types, prefix))
    if not keys and not items:
        items = [(_Item(f"{prefix}n"), "big")]
    left = {key: types[key] for key in keys} | {item.alias: type_name for item, type_name in items}
    return _grouping(keys, [item for item, _ in items]), left


@st.composite
def _pipelines(draw: DrawFn) -> Pipeline:
    steps = [*draw(_FILTERS)]
    types = _TYPES
    for prefix in draw(any_of("a", "ab", "abc")):
        grouping, types = draw(_groupings(types, prefix))
        steps.append(grouping)
        numbers = [name for name, type_name in types.items() if type_name in _NUMBERS]
        if numbers and draw(st.integers(0, 2)) == 0:
            steps.append(_above(draw(any_of(*numbers)), draw(st.integers(-2, 3))))
        if draw(st.integers(0, 2)) == 0:
            steps.append(draw(_CUTS))
    big = frozenset(name for name, type_name in types.items() if type_name == "big")
    return Pipeline(tuple(steps), big)


PIPELINES: SearchStrategy[Pipeline] = _pipelines()
"""Pipelines that end in an aggregated result, ordered by the grouped properties."""
