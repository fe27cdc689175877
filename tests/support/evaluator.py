"""Expressions in plain Python, each with its text.

All operands are evaluated, even if one of them decides the result. `Unfit` therefore means that a
value has no result for some record, so the service may return 400.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, localcontext
from fractions import Fraction
from uuid import UUID

from support.companies import Cell

Plain = str | int | bool | Decimal | UUID | date | datetime | time | timedelta
Specimen = Mapping[str, Plain]

_EXACT = Context(prec=200)
_MOST_DECIMAL = Decimal(10**13)
FIFTH = Decimal("0.00001")


class Unfit(Exception):  # noqa: N818 - a value, not an error of the test
    """A value whose result is out of range."""


@dataclass(frozen=True)
class Scope:
    """The record of an expression, all records, and the records of variables."""

    it: Specimen
    records: Sequence[Specimen]
    variables: Mapping[str, Specimen]


Of = Callable[[Scope], Plain | None]


@dataclass(frozen=True)
class Operand:
    """A value: its text in an expression, and its result for a record; None is null."""

    text: str
    of: Of


def cell(value: Plain) -> Cell:
    """A value in the form of a load."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, UUID | date):
        return str(value)
    assert isinstance(value, Cell)
    return value


def constant(value: Plain | None, text: str) -> Operand:
    return Operand(text, lambda _: value)


def quoted(value: str) -> Operand:
    """A constant text, as a literal."""
    return constant(value, "'" + value.replace("'", "''") + "'")


def field(name: str, variable: str = "") -> Operand:
    if not variable:
        return Operand(name, lambda scope: scope.it[name])
    return Operand(f"{variable}/{name}", lambda scope: scope.variables[variable][name])


def original(name: str, variable: str = "") -> Operand:
    """A property of the one specimen whose code is the series of the record."""
    start = f"{variable}/" if variable else ""

    def of(scope: Scope) -> Plain | None:
        record = scope.variables[variable] if variable else scope.it
        found = [each for each in scope.records if each["code"] == record["series"] != ""]
        return found[0][name] if found else None

    return Operand(f"{start}original/{name}", of)


def _copies(scope: Scope, variable: str) -> list[Specimen]:
    record = scope.variables[variable] if variable else scope.it
    return [each for each in scope.records if each["series"] == record["code"] != ""]


def counted(variable: str) -> Operand:
    start = f"{variable}/" if variable else ""
    return Operand(f"{start}copies/$count", lambda scope: len(_copies(scope, variable)))


def quantified(
    quantifier: str, variable: str, inner: str, condition: Operand | None = None
) -> Operand:
    """`any` or `all` over the copies of a record, or of the record of a variable."""
    start = f"{variable}/" if variable else ""
    if condition is None:
        return Operand(f"{start}copies/any()", lambda scope: bool(_copies(scope, variable)))
    inner_condition = condition

    def of(scope: Scope) -> bool:
        copies = _copies(scope, variable)
        # a value without a result may be computed even if there are no copies
        met = [
            inner_condition.of(replace(scope, variables={**scope.variables, inner: each})) is True
            for each in (*copies, scope.it)
        ][: len(copies)]
        return any(met) if quantifier == "any" else all(met)

    return Operand(f"{start}copies/{quantifier}({inner}:{inner_condition.text})", of)


def _ordered(left: Plain, right: Plain) -> int:
    """Negative, 0 or positive; Python refuses values of types that have no common order."""
    return (left > right) - (left < right)  # type: ignore[operator]


_ORDERS: Mapping[str, Callable[[int], bool]] = {
    "lt": lambda order: order < 0,
    "le": lambda order: order <= 0,
    "gt": lambda order: order > 0,
    "ge": lambda order: order >= 0,
}
COMPARISONS = ("eq", "ne", *_ORDERS)


def precedes(left: Plain | None, right: Plain | None) -> int:
    """Negative, 0 or positive if left sorts before, with or after right; null sorts first."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    return _ordered(left, right)


def compared(operator: str, left: Operand, right: Operand) -> Operand:
    def of(scope: Scope) -> bool:
        first, second = left.of(scope), right.of(scope)
        if operator in ("eq", "ne"):
            return (first == second) == (operator == "eq")
        if first is None or second is None:
            return first is second and operator in ("le", "ge")
        return _ORDERS[operator](_ordered(first, second))

    return Operand(f"({left.text} {operator} {right.text})", of)


def listed(left: Operand, items: list[Operand], opening: str = "(") -> Operand:
    closing = {"(": ")", "[": "]"}[opening]
    text = f"({left.text} in {opening}{','.join(item.text for item in items)}{closing})"

    return Operand(text, lambda scope: left.of(scope) in [item.of(scope) for item in items])


def negated(operand: Operand) -> Operand:
    def of(scope: Scope) -> bool | None:
        value = operand.of(scope)
        return None if value is None else not value

    return Operand(f"(not ({operand.text}))", of)


def joined(operator: str, operands: list[Operand]) -> Operand:
    decisive = operator == "or"

    def of(scope: Scope) -> bool | None:
        values = [each.of(scope) for each in operands]
        if decisive in values:
            return decisive
        return None if None in values else not decisive

    return Operand("(" + f" {operator} ".join(each.text for each in operands) + ")", of)


def chosen(branches: list[tuple[Operand, Operand]]) -> Operand:
    text = ",".join(f"{condition.text}:{value.text}" for condition, value in branches)

    def of(scope: Scope) -> Plain | None:
        computed = [(condition.of(scope), value.of(scope)) for condition, value in branches]
        return next((value for condition, value in computed if condition is True), None)

    return Operand(f"case({text})", of)


def called(name: str, compute: Callable[..., Plain | None], *arguments: Operand) -> Operand:
    """A function that returns null for null."""

    def of(scope: Scope) -> Plain | None:
        values = [each.of(scope) for each in arguments]
        return None if None in values else compute(*values)

    return Operand(f"{name}({','.join(each.text for each in arguments)})", of)


def substring(text: Operand, start: Operand, length: Operand | None = None) -> Operand:
    """A part of a text; a negative length is an error for any text."""

    def part(whole: str, first: int, size: int | None = None) -> str:
        first = max(len(whole) + first, 0) if first < 0 else first
        return whole[first:] if size is None else whole[first : first + size]

    call = called("substring", part, *(each for each in (text, start, length) if each is not None))

    def of(scope: Scope) -> Plain | None:
        size = None if length is None else length.of(scope)
        if isinstance(size, int) and size < 0:
            raise Unfit
        return call.of(scope)

    return Operand(call.text, of)


def cast(operand: Operand, name: str, compute: Callable[..., Plain | None]) -> Operand:
    return replace(called("cast", compute, operand), text=f"cast({operand.text},{name})")


def infix(
    operator: str, compute: Callable[..., Plain | None], left: Operand, right: Operand
) -> Operand:
    text = f"({left.text} {operator} {right.text})"
    return replace(called(operator, compute, left, right), text=text)


def minus(operand: Operand, compute: Callable[..., Plain | None]) -> Operand:
    return replace(called("-", compute, operand), text=f"(-({operand.text}))")


def _fit(value: int | Decimal) -> int | Decimal:
    if isinstance(value, int):
        if abs(value) >= 2**63:
            raise Unfit
        return value
    with localcontext(_EXACT):
        if abs(value) >= _MOST_DECIMAL or value % Decimal("1e-30"):
            raise Unfit
        return value


def decimal(value: int | Decimal) -> Decimal:
    """A number as a Decimal."""
    if isinstance(value, int) and abs(value) >= _MOST_DECIMAL:
        raise Unfit
    return Decimal(value)


def arithmetic(operator: str, left: int | Decimal, right: int | Decimal) -> int | Decimal:
    """The exact result of an operation, or `Unfit`."""
    if operator == "divby" or not (isinstance(left, int) and isinstance(right, int)):
        left, right = decimal(left), decimal(right)
        operator = "div" if operator == "divby" else operator
    if operator in ("div", "mod") and not right:
        raise Unfit
    exact_left, exact_right = Fraction(left), Fraction(right)
    if operator in ("div", "mod"):
        times = exact_left / exact_right
        whole = int(times)
        if operator == "div" and not isinstance(left, int):
            with localcontext(_EXACT):
                quotient = Decimal(times.numerator) / Decimal(times.denominator)
                return _fit(quotient.quantize(FIFTH, ROUND_HALF_EVEN))
        result = Fraction(whole) if operator == "div" else exact_left - whole * exact_right
    elif operator == "mul":
        result = exact_left * exact_right
    else:
        result = exact_left + exact_right * (1 if operator == "add" else -1)
    if isinstance(left, int):
        return _fit(int(result))
    with localcontext(_EXACT):
        return _fit(Decimal(result.numerator) / Decimal(result.denominator))


def rounded(name: str, value: int | Decimal) -> Decimal:
    """`round`, `floor` or `ceiling`."""
    if name == "ceiling":
        return decimal(-int(Decimal(-value).to_integral_value(ROUND_FLOOR)))
    rounding = ROUND_HALF_UP if name == "round" else ROUND_FLOOR
    return Decimal(_fit(Decimal(value).to_integral_value(rounding)))


def moved(moment: datetime, span: timedelta) -> datetime:
    """An instant after a duration, truncated to milliseconds."""
    try:
        later = moment + span
    except OverflowError:
        raise Unfit from None
    return later.replace(microsecond=later.microsecond // 1000 * 1000)


def moved_day(day: date, span: timedelta) -> date:
    try:
        return (datetime(day.year, day.month, day.day, tzinfo=UTC) + span).date()
    except OverflowError:
        raise Unfit from None


def whole_of_text(text: str) -> int | None:
    is_whole = re.fullmatch(r"-?[0-9]+", text) and abs(int(text)) < 2**31
    return int(text) if is_whole else None


def text_of_decimal(value: Decimal) -> str:
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text
