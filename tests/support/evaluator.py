"""Filters as plain Python: what each means, beside the text that is sent for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

Plain = str | int | bool | Decimal | UUID | date | datetime
Specimen = Mapping[str, Plain]


@dataclass(frozen=True)
class Operand:
    """A value: its text in a filter, and what it is for a record."""

    text: str
    of: Callable[[Specimen], Plain]


@dataclass(frozen=True)
class Condition:
    """A condition: its text in a filter, and whether it holds for a record."""

    text: str
    holds: Callable[[Specimen], bool]


COMPARISONS: Mapping[str, Callable[[Plain, Plain], bool]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "lt": lambda left, right: _ordered(left, right) < 0,
    "le": lambda left, right: _ordered(left, right) <= 0,
    "gt": lambda left, right: _ordered(left, right) > 0,
    "ge": lambda left, right: _ordered(left, right) >= 0,
}

TEXT_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "contains": lambda text, part: part in text,
    "startswith": lambda text, part: text.startswith(part),
    "endswith": lambda text, part: text.endswith(part),
}

TEXT_CHANGES: Mapping[str, Callable[[str], str]] = {"tolower": str.lower, "toupper": str.upper}


def _ordered(left: Plain, right: Plain) -> int:
    """Below, at or above 0 as left is less than, equal to or greater than right."""
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    if isinstance(left, UUID) and isinstance(right, UUID):
        return (left > right) - (left < right)
    if isinstance(left, datetime) and isinstance(right, datetime):
        return (left > right) - (left < right)
    if isinstance(left, date) and isinstance(right, date):
        return (left > right) - (left < right)
    if isinstance(left, int | Decimal) and isinstance(right, int | Decimal):
        return (left > right) - (left < right)
    raise TypeError(f"{left!r} and {right!r} are not ordered")


def field(name: str) -> Operand:
    return Operand(name, lambda record: record[name])


def constant(value: Plain, text: str) -> Operand:
    return Operand(text, lambda _: value)


def compared(operator: str, left: Operand, right: Operand) -> Condition:
    compare = COMPARISONS[operator]
    return Condition(
        f"{left.text} {operator} {right.text}",
        lambda record: compare(left.of(record), right.of(record)),
    )


def listed(left: Operand, items: list[Operand]) -> Condition:
    return Condition(
        f"{left.text} in ({','.join(item.text for item in items)})",
        lambda record: left.of(record) in [item.of(record) for item in items],
    )


def tested(name: str, text: Operand, part: Operand) -> Condition:
    test = TEXT_TESTS[name]
    return Condition(
        f"{name}({text.text},{part.text})",
        lambda record: test(str(text.of(record)), str(part.of(record))),
    )


def changed(name: str, text: Operand) -> Operand:
    change = TEXT_CHANGES[name]
    return Operand(f"{name}({text.text})", lambda record: change(str(text.of(record))))


def length(text: Operand) -> Operand:
    return Operand(f"length({text.text})", lambda record: len(str(text.of(record))))


def negated(operand: Condition) -> Condition:
    return Condition(f"not ({operand.text})", lambda record: not operand.holds(record))


def joined(operator: str, operands: list[Condition]) -> Condition:
    every = all if operator == "and" else any
    return Condition(
        f" {operator} ".join(f"({each.text})" for each in operands),
        lambda record: every(each.holds(record) for each in operands),
    )
