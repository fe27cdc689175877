"""The nodes of bound expressions, and the slots of their values.

Values are in numbered slots, so expressions that differ only in their values have equal trees and
share a statement. Nodes are immutable and hashable, and their types have been checked. A condition
is a Boolean value; null means "unknown", as in SQL.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from comptoir.edm.model import EntitySet, NavigationProperty
from comptoir.edm.types import Stored
from comptoir.plan.expressions.types import FunctionName


class Constant(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A condition that is always true, or never."""

    value: bool


class Null(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The value null."""


class Field(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The stored value of a property of the record itself, or a computed value by its name."""

    name: str


class Member(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The stored value of a property of a related record, the one that a step leads to."""

    step: int
    name: str


class Slot(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A value of the request, by its index; `whole`: it is an integer."""

    number: int
    whole: bool = False


class Function(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A call of a function of the dialect; null if an argument is null."""

    name: FunctionName
    arguments: tuple["Value", ...]


class Comparison(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A comparison by eq, ne, lt, le, gt or ge of two values of the same type.

    `nullable`: a side may be null. Null equals null, and is neither less nor greater than anything.
    """

    operator: str
    left: "Value"
    right: "Value"
    nullable: bool = False


class IsNull(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The operand is null."""

    operand: "Value"


class OneOf(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The operand equals one of the items; `nullable` as in a comparison."""

    operand: "Value"
    items: tuple["Value", ...]
    nullable: bool = False


class ContainsTerm(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A searched property of the record contains a folded term; `negated`: none does.

    `indexed`: the term is long enough for the text index.
    """

    term: Slot
    indexed: bool
    negated: bool = False


class CombinedSearch(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """All (`and`) or any (`or`) of the operands of a search are true."""

    operator: str
    operands: tuple["BoundSearch", ...]


class MatchesSearch(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A search finds the record."""

    search: "BoundSearch"


class Not(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The operand is false."""

    operand: "Value"


class Junction(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """All (`and`) or any (`or`) of the operands are true."""

    operator: str
    operands: tuple["Value", ...]


class Choice(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The value of the first condition that is true; null if none is."""

    conditions: tuple["Value", ...]
    values: tuple["Value", ...]


class Step(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A step of a path along a navigation property, to the records of `target`.

    `number` identifies the step in its expression, from 1. `base` is the number of the step that
    leads to the record from which this one starts, 0 for the record itself.
    """

    base: int
    number: int
    navigation: NavigationProperty
    target: EntitySet


class Related(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A value of the single record at the end of steps; null if there is none."""

    steps: tuple[Step, ...]
    value: "Value"


class Exists(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A record at the end of steps meets the condition; with None, there is any record."""

    steps: tuple[Step, ...]
    condition: "Value | None"


class CountOf(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The number of records at the end of steps."""

    steps: tuple[Step, ...]


Test = Constant | Comparison | IsNull | OneOf | MatchesSearch | Not | Junction | Exists
"""The nodes whose value is Boolean."""

Value = Test | Null | Field | Member | Slot | Function | Choice | Related | CountOf
Condition = Value
BoundSearch = ContainsTerm | CombinedSearch


def parts(node: Value) -> tuple[Value, ...]:
    """Return the direct parts of a node that are about the same records."""
    match node:
        case Junction():
            return node.operands
        case Comparison():
            return (node.left, node.right)
        case Function():
            return node.arguments
        case Not() | IsNull():
            return (node.operand,)
        case OneOf():
            return (node.operand, *node.items)
        case Choice():
            return (*node.conditions, *node.values)
    return ()


def may_be_constant(node: Value) -> bool:
    """Whether a condition on related records may have the same result for all of them.

    A planner that notices this may leave the records out of its plan. Of a comparison with a single
    value, only the other side counts.
    """
    if isinstance(node, Constant | Null | Slot | Field | IsNull | Choice):
        return True
    below = parts(node)
    if below and not any(map(_is_of_related, below)):
        return True
    if isinstance(node, Junction | Not):
        return any(map(may_be_constant, below))
    return any(may_be_constant(each) for each in below if not isinstance(each, Slot | Field))


def walk(node: Value) -> Iterator[Value]:
    """Yield a node and all below it, also those about related records."""
    pending = [node]
    while pending:
        each = pending.pop()
        yield each
        pending += parts(each)
        if isinstance(each, Related):
            pending.append(each.value)
        elif isinstance(each, Exists) and each.condition is not None:
            pending.append(each.condition)


def _is_of_related(node: Value) -> bool:
    return any(isinstance(each, Member | Related | Exists | CountOf) for each in walk(node))


def reads_other_records(node: Value) -> bool:
    """Whether a value depends on other records than its own."""
    others = MatchesSearch | Related | Exists | CountOf
    return any(isinstance(each, others) for each in walk(node))


T = TypeVar("T")

NOW = "\0now"
"""A placeholder among values for the time of the request. No text equals it, since it has a NUL."""


class Slots:
    """The values of one binding in order; the number of a slot is the index of its value."""

    def __init__(self, values: Sequence[Stored] = ()) -> None:
        self.values: list[Stored] = list(values)

    def add(self, value: Stored) -> Slot:
        """Append a value and return its slot."""
        self.values.append(value)
        return Slot(len(self.values) - 1, isinstance(value, int))


def padded(values: Sequence[T]) -> list[T]:
    """Repeat the last of one or more values until their number is a power of two.

    Lists of many lengths then share a few statements.
    """
    length = 1 << (len(values) - 1).bit_length()
    return [*values, *[values[-1]] * (length - len(values))]
