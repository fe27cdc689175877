"""Bound expressions: what an expression means, its values lifted out into numbered slots.

Two expressions that differ in their values alone have equal trees, so a statement is built once
per tree. Nodes are immutable and hashable; types have been checked when one exists. A condition
is a value of the Boolean type; null is "unknown" in it, as in SQL.
"""

import msgspec

from comptoir.edm.model import EntitySet, NavigationProperty
from comptoir.plan.functions import FunctionName


class Constant(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A condition that is always or never true."""

    value: bool


class Null(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """No value."""


class Field(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The stored value of a property of the record that is asked about, or a computed one."""

    name: str


class Member(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The stored value of a property of a related record: of the step with this number."""

    step: int
    name: str


class Slot(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A value of the request: the parameter with this number; `whole` when it is an integer."""

    number: int
    whole: bool = False


class Function(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A function of the dialects' tables; null where an argument is null."""

    name: FunctionName
    arguments: tuple["Value", ...]


class Comparison(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """`operator` is eq, ne, lt, le, gt or ge; both sides have one type.

    `nullable` says that a side may be null: null equals null, and has no order with anything.
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


class Carries(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The record carries an attribute of this name, with this value unless it is None."""

    name: Slot
    value: Slot | None


class Found(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """Some property that searches look in contains a folded term; none does when `negated`.

    `indexed`: the term is long enough for an index over it.
    """

    term: Slot
    indexed: bool
    negated: bool = False


class Combined(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """All (`and`) or any (`or`) of some parts of a search hold."""

    operator: str
    operands: tuple["Sought", ...]


class Matches(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The record is one of those that a search finds."""

    sought: "Sought"


class Not(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The operand does not hold."""

    operand: "Value"


class Junction(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """All (`and`) or any (`or`) of the operands hold."""

    operator: str
    operands: tuple["Value", ...]


class Choice(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The value beside the first condition that holds; null when none does."""

    conditions: tuple["Value", ...]
    values: tuple["Value", ...]


class Step(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """To the records that a navigation property relates to a record.

    `base` is the number of the step that leads to that record, 0 for the one that is asked about;
    `number` stands for the records that this step leads to.
    """

    base: int
    number: int
    navigation: NavigationProperty
    target: EntitySet


class Related(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A value of the one record at the end of steps; null when there is none."""

    steps: tuple[Step, ...]
    value: "Value"


class Exists(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """There is a record at the end of steps for which the condition holds; None always holds."""

    steps: tuple[Step, ...]
    condition: "Value | None"


class CountOf(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """How many records there are at the end of steps."""

    steps: tuple[Step, ...]


Value = (
    Constant
    | Null
    | Field
    | Member
    | Slot
    | Function
    | Comparison
    | IsNull
    | OneOf
    | Carries
    | Matches
    | Not
    | Junction
    | Choice
    | Related
    | Exists
    | CountOf
)
Condition = Value
Sought = Found | Combined


def parts(node: Value) -> tuple[Value, ...]:
    """The nodes right within one that are about the same records."""
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


def may_be_settled(node: Value) -> bool:
    """Whether a condition on related records may be the same for all of them.

    A planner that finds this out may drop the records from its plan. A value that stands in a
    comparison by itself settles nothing: what it is compared with does.
    """
    if isinstance(node, Constant | Null | Slot | Field | IsNull | Choice):
        return True
    below = parts(node)
    if below and not any(map(_is_of_related, below)):
        return True
    if isinstance(node, Junction | Not):
        return any(map(may_be_settled, below))
    return any(may_be_settled(each) for each in below if not isinstance(each, Slot | Field))


def _is_of_related(node: Value) -> bool:
    if isinstance(node, Member | Related | Exists | CountOf):
        return True
    return any(map(_is_of_related, parts(node)))


def looks_elsewhere(node: Value) -> bool:
    """Whether a value depends on other records than the one whose value it is."""
    if isinstance(node, Carries | Matches | Related | Exists | CountOf):
        return True
    return any(looks_elsewhere(each) for each in parts(node))
