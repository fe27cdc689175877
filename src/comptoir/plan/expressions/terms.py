"""What all parts of a binding share: the slots, the option that is bound, and what it refuses."""

from comptoir.edm.numbers import MOST_DECIMAL, MOST_WHOLE, WHOLE_DIGITS
from comptoir.edm.types import ValueFault
from comptoir.errors import Refusal
from comptoir.plan.bound import Constant, Null
from comptoir.plan.expressions import types
from comptoir.plan.expressions.literals import Bound, as_duration, bind_literal
from comptoir.plan.expressions.slots import Slots
from comptoir.plan.expressions.typed import Typed
from comptoir.plan.expressions.wide_decimal import LARGEST, WIDE_SCALE, wide_text
from comptoir.plan.faults import misused, unsupported
from comptoir.request.expression.tree import (
    Binary,
    Call,
    Case,
    Collection,
    In,
    InCollection,
    Lambda,
    Literal,
    Logical,
    Node,
    Parameter,
    Path,
    Unary,
)

_MOST = {types.WHOLE: MOST_WHOLE, types.DECIMAL: MOST_DECIMAL}
_WIDEST = (wide_text(LARGEST), wide_text(-LARGEST))


class Operand:
    """A bound node beside its syntax, which tells where it stands and what to call it."""

    __slots__ = ("node", "typed")

    def __init__(self, node: Node, typed: Typed | None) -> None:
        self.node = node
        self.typed = typed
        """None for a literal that waits for what it goes with."""


def spanned(operand: Operand) -> Operand:
    """An operand where a text could only be a duration."""
    node = operand.node
    if isinstance(node, Literal) and node.type == "string":
        return Operand(as_duration(node), operand.typed)
    return operand


class Terms:
    """The slots that a binding fills, and the refusals of the option that it is for."""

    def __init__(self, option: str, slots: Slots) -> None:
        self.option = option
        self.slots = slots

    def misused(self, node: Node, message: str) -> Refusal:
        """400: an expression that does not fit, at the place of a node."""
        return misused(self.option, node.position, message)

    def unsupported(self, node: Node, construct: str | None = None) -> Refusal:
        """501: valid OData that is not supported, by its name, at the place of a node."""
        return unsupported(self.option, node.position, construct or name_of(node))

    def literal(self, node: Literal, wanted: types.ExpressionType) -> Bound:
        """A literal as a value of a type; raises `Refusal` (400) when it does not go with it."""
        try:
            bound = bind_literal(node, wanted)
        except ValueFault as fault:
            raise self.misused(node, f"the value {fault}") from None
        if bound is None:
            held = types.TYPE_OF_LITERAL.get(node.type)
            if held is None:
                raise self.unsupported(node, f"the {node.type} literal {node.text[:40]!r}")
            raise self.misused(
                node, f"{held.form} does not compare with {wanted.expected}. Write {wanted.form}."
            )
        return bound

    def settled(self, operand: Operand) -> Typed:
        """The value of an operand: a literal that stands for itself takes the type it is of."""
        if operand.typed is not None:
            return operand.typed
        node = operand.node
        if not isinstance(node, Literal):
            raise LookupError(f"{type(node).__name__} is bound to nothing")
        wanted = types.TYPE_OF_LITERAL.get(node.type)
        if wanted is None:
            raise self.unsupported(node, f"the {node.type} literal {node.text[:40]!r}")
        if wanted is types.NULL:
            return Typed(Null(), types.NULL, nullable=True)
        if wanted is types.BOOLEAN:
            return Typed(Constant(node.text == "true"), types.BOOLEAN)
        if wanted is types.DECIMAL and not self.literal(node, types.DECIMAL).exact:
            wanted = types.WIDE_DECIMAL
        bound = self.literal(node, wanted)
        if bound.stored is None or node.text in ("INF", "-INF"):
            raise self.unsupported(node, f"computing with {node.text}")
        if wanted in types.NUMBERS:
            return self._number(node, wanted, bound)
        if not bound.exact:
            raise self.misused(
                node, f"{node.text} is finer than what is computed with. Write fewer digits."
            )
        return Typed(self.slots.add(bound.stored), wanted)

    def _number(self, node: Literal, wanted: types.ExpressionType, bound: Bound) -> Typed:
        stored = bound.stored
        if wanted is types.WIDE_DECIMAL and stored is not None:
            if bound.exact and stored not in _WIDEST:
                return Typed(self.slots.add(stored), types.WIDE_DECIMAL)
        elif bound.exact and abs(int(stored or 0)) <= _MOST[wanted]:
            number = int(stored or 0)
            return Typed(self.slots.add(number), wanted, most=abs(number), literal=number)
        raise self.misused(
            node,
            "the number is beyond what is computed with: whole numbers of 64 bits, others of up "
            f"to {WHOLE_DIGITS} digits before the point and {WIDE_SCALE} behind it.",
        )


def name_of(node: Node) -> str:
    """What a message calls a node."""
    match node:
        case Path():
            return "/".join(node.segments)[:100]
        case Call():
            return f"{node.name}(…)"
        case Literal():
            return f"the literal {node.text[:40]!r}"
        case Binary() | Unary() | Logical() | Lambda():
            return f"the operator {node.operator}"
        case In() | InCollection():
            return "the operator in"
        case Parameter():
            return f"the parameter alias @{node.name[:60]}"
        case Case():
            return "case(…)"
        case Collection():
            return "the list […]"
