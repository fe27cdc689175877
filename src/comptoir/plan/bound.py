"""Bound expressions: what a filter means, its values lifted out into numbered slots.

Two filters that differ in their values alone have equal trees, so a statement is built once per
tree. Nodes are immutable and hashable; types have been checked when one exists.
"""

import msgspec


class Constant(msgspec.Struct, frozen=True):
    """A condition that is always or never true."""

    value: bool


class Field(msgspec.Struct, frozen=True):
    """The stored value of a property."""

    name: str


class Slot(msgspec.Struct, frozen=True):
    """A value of the request: the parameter with this number."""

    number: int


class Function(msgspec.Struct, frozen=True):
    """A function of the dialect's table, named as OData names it."""

    name: str
    arguments: tuple["Value", ...]


class Scaled(msgspec.Struct, frozen=True):
    """A whole number in hundred-thousandths, so that it compares with a Decimal."""

    operand: "Value"


class Comparison(msgspec.Struct, frozen=True):
    """`operator` is eq, ne, lt, le, gt or ge; both sides have one type."""

    operator: str
    left: "Value"
    right: "Value"


class OneOf(msgspec.Struct, frozen=True):
    """The operand equals one of the values in the slots."""

    operand: "Value"
    slots: tuple[Slot, ...]


class Carries(msgspec.Struct, frozen=True):
    """The record carries an attribute of this name, with this value unless it is None."""

    name: Slot
    value: Slot | None


class Found(msgspec.Struct, frozen=True):
    """Some property that searches look in contains a folded term; none does when `negated`.

    `indexed`: the term is long enough for an index over it.
    """

    term: Slot
    indexed: bool
    negated: bool = False


class Combined(msgspec.Struct, frozen=True):
    """All (`and`) or any (`or`) of some parts of a search hold."""

    operator: str
    operands: tuple["Sought", ...]


class Matches(msgspec.Struct, frozen=True):
    """The record is one of those that a search finds."""

    sought: "Sought"


class Not(msgspec.Struct, frozen=True):
    """The operand does not hold."""

    operand: "Condition"


class Junction(msgspec.Struct, frozen=True):
    """All (`and`) or any (`or`) of the operands hold."""

    operator: str
    operands: tuple["Condition", ...]


Value = Field | Slot | Function | Scaled
Condition = Constant | Field | Function | Comparison | OneOf | Carries | Matches | Not | Junction
Sought = Found | Combined


def looks_elsewhere(condition: Condition) -> bool:
    """Whether a condition depends on other records than the one for which it holds."""
    match condition:
        case Carries():
            return True
        case Junction():
            return any(looks_elsewhere(each) for each in condition.operands)
        case Not():
            return looks_elsewhere(condition.operand)
    return False
