"""Filters bound to a kind: names to properties, literals to slots, types checked.

What OData's grammar has and this binding does not is refused by name (501), what does not fit the
kind is refused with its place (400); nothing is left out in silence.
"""

from comptoir.edm.entity import EntityType
from comptoir.edm.model import EntitySet
from comptoir.edm.number import DECIMAL, DecimalNumber, Int32
from comptoir.edm.primitive import PrimitiveType, Stored, ValueFault
from comptoir.edm.scalar import BOOLEAN, GUID
from comptoir.edm.temporal import DATE, INSTANT
from comptoir.edm.text import TEXT
from comptoir.plan.bound import (
    Comparison,
    Condition,
    Constant,
    Field,
    Function,
    Junction,
    Not,
    OneOf,
    Scaled,
    Value,
)
from comptoir.plan.faults import FILTER, misused, unknown_name, unsupported
from comptoir.plan.functions import CANONICAL, SUPPORTED
from comptoir.plan.literals import FORMS, bind_literal, literal_kind
from comptoir.plan.pairs import PairBinder
from comptoir.plan.read import Where
from comptoir.plan.slots import Slots
from comptoir.request.expression import ExpressionLimits, parse_expression
from comptoir.request.expression.tree import (
    Binary,
    BinaryOperator,
    Call,
    In,
    InCollection,
    Lambda,
    Literal,
    LiteralKind,
    Logical,
    Node,
    Parameter,
    Path,
    Unary,
)

_FLIPPED: dict[BinaryOperator, BinaryOperator] = {
    "eq": "eq",
    "ne": "ne",
    "lt": "gt",
    "gt": "lt",
    "le": "ge",
    "ge": "le",
}

_NATURAL: dict[LiteralKind, PrimitiveType] = {
    "string": TEXT,
    "integer": DECIMAL,
    "decimal": DECIMAL,
    "double": DECIMAL,
    "boolean": BOOLEAN,
    "guid": GUID,
    "date": DATE,
    "datetimeoffset": INSTANT,
}

Typed = tuple[Value, PrimitiveType]


def bind_filter(entity_set: EntitySet, text: str, limits: ExpressionLimits) -> Where:
    """The condition that a `$filter` means for a set's records.

    Raises `Refusal`: 400 with the place of the fault, 501 for what is not supported.
    """
    node = parse_expression(text, limits, FILTER)
    slots = Slots()
    binder = _Binder(entity_set.type, slots)
    if entity_set.pair_filter is None:
        return Where(binder.condition(node), tuple(slots.values))
    pairs = PairBinder(entity_set.pair_filter)
    conditions = [binder.condition(other) for other in pairs.split(node)]
    conditions += pairs.bind(slots)
    condition = conditions[0] if len(conditions) == 1 else Junction("and", tuple(conditions))
    return Where(condition, tuple(slots.values))


def bind_property(kind: EntityType, path: Path, option: str) -> Field:
    """The property that a path names; raises `Refusal` when it names none that may be queried."""
    name = path.segments[0]
    held = kind.by_name.get(name)
    if held is None:
        if name.startswith("$"):
            raise unsupported(option, path.position, name)
        raise unknown_name(option, path.position, name, f"property of {kind.name}", kind.by_name)
    if len(path.segments) > 1:
        raise unsupported(option, path.position, f"the path {'/'.join(path.segments)[:100]}")
    if held.secret:
        raise misused(option, path.position, f"{name} is secret and cannot be queried.")
    return Field(name)


class _Binder:
    def __init__(self, kind: EntityType, slots: Slots) -> None:
        self._kind = kind
        self._slots = slots

    def condition(self, node: Node) -> Condition:
        """A node that must be true or false."""
        match node:
            case Logical():
                return Junction(
                    node.operator, tuple([self.condition(each) for each in node.operands])
                )
            case Binary(operator="eq" | "ne" | "lt" | "le" | "gt" | "ge"):
                return self._comparison(node)
            case Unary(operator="not"):
                operand = self.condition(node.operand)
                return operand.operand if isinstance(operand, Not) else Not(operand)
            case In():
                return self._one_of(node)
            case Literal(kind="boolean"):
                return Constant(node.text == "true")
        value, kind = self.value(node)
        if kind is not BOOLEAN or not isinstance(value, Field | Function):
            raise misused(
                FILTER,
                node.position,
                f"{_name(node)} is {kind.expected}, not a condition. Compare it with a value.",
            )
        return value

    def value(self, node: Node) -> Typed:
        """A node that is a property, a function or a literal, and its type."""
        if isinstance(node, Path):
            field = bind_property(self._kind, node, FILTER)
            return field, self._kind.by_name[field.name].type
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Literal) and node.kind in _NATURAL:
            kind = _NATURAL[node.kind]
            return self._slots.add(self._stored(node, kind)), kind
        raise unsupported(FILTER, node.position, _name(node))

    def _comparison(self, node: Binary) -> Condition:
        left, right, operator = node.left, node.right, node.operator
        if isinstance(left, Literal) and (not isinstance(right, Literal) or left.kind == "null"):
            left, right, operator = right, left, _FLIPPED[operator]
        if isinstance(right, Literal):
            if right.kind == "null":
                if isinstance(left, Literal) and left.kind == "null":
                    return Constant(operator in ("eq", "le", "ge"))
                # properties are never null: they equal it never and differ from it always
                if not isinstance(left, Literal):
                    self.value(left)
                return Constant(operator == "ne")
            if right.kind == "boolean" and operator in ("eq", "ne"):
                held = self.condition(left)
                return held if (right.text == "true") == (operator == "eq") else Not(held)
            return self._against_literal(operator, *self.value(left), right)
        (first, first_kind), (second, second_kind) = self.value(left), self.value(right)
        if literal_kind(first_kind) != literal_kind(second_kind):
            raise misused(
                FILTER,
                node.position,
                f"{_name(left)} is {first_kind.expected} and {_name(right)} is "
                f"{second_kind.expected}; the two do not compare.",
            )
        if isinstance(first_kind, Int32) and isinstance(second_kind, DecimalNumber):
            first = Scaled(first)
        if isinstance(second_kind, Int32) and isinstance(first_kind, DecimalNumber):
            second = Scaled(second)
        return Comparison(operator, first, second)

    def _against_literal(
        self, operator: str, value: Value, kind: PrimitiveType, literal: Literal
    ) -> Condition:
        bound = self._bound(literal, kind)
        if bound is None:
            return Constant(operator == "ne")
        stored, exact = bound
        if not exact:
            if operator in ("eq", "ne"):
                return Constant(operator == "ne")
            operator = "le" if operator in ("lt", "le") else "gt"
        return Comparison(operator, value, self._slots.add(stored))

    def _bound(self, literal: Literal, kind: PrimitiveType) -> tuple[Stored, bool] | None:
        try:
            bound = bind_literal(literal, kind)
        except ValueFault as fault:
            raise misused(FILTER, literal.position, f"the value {fault}") from None
        if bound is None:
            raise misused(
                FILTER,
                literal.position,
                f"{FORMS[literal.kind]} does not compare with {kind.expected}. "
                f"Write {FORMS[literal_kind(kind)]}.",
            )
        return None if bound.stored is None else (bound.stored, bound.exact)

    def _stored(self, literal: Literal, kind: PrimitiveType) -> Stored:
        bound = self._bound(literal, kind)
        if bound is None or not bound[1]:
            raise unsupported(FILTER, literal.position, f"comparing the literal {literal.text}")
        return bound[0]

    def _one_of(self, node: In) -> Condition:
        value, kind = self.value(node.left)
        found: dict[Stored, None] = {}
        for item in node.items:
            if not isinstance(item, Literal):
                raise unsupported(FILTER, item.position, f"{_name(item)} in a list")
            if item.kind == "null":
                continue
            bound = self._bound(item, kind)
            if bound is not None and bound[1]:
                found[bound[0]] = None
        if not found:
            return Constant(value=False)
        return OneOf(value, self._slots.add_list(list(found)))

    def _call(self, node: Call) -> Typed:
        signature = SUPPORTED.get(node.name)
        if signature is None:
            if node.name in CANONICAL:
                raise unsupported(FILTER, node.position, f"the function {node.name}")
            raise unknown_name(FILTER, node.position, node.name, "function of OData", CANONICAL)
        if len(node.arguments) != len(signature.parameters):
            raise misused(
                FILTER,
                node.position,
                f"{node.name} takes {len(signature.parameters)} arguments, "
                f"but {len(node.arguments)} are given.",
            )
        arguments: list[Value] = []
        for argument, wanted in zip(node.arguments, signature.parameters, strict=True):
            value, kind = self.value(argument)
            if literal_kind(kind) != literal_kind(wanted):
                raise misused(
                    FILTER,
                    argument.position,
                    f"{node.name} takes {wanted.expected} here, but {_name(argument)} is "
                    f"{kind.expected}.",
                )
            arguments.append(value)
        return Function(node.name, tuple(arguments)), signature.result


def _name(node: Node) -> str:
    match node:
        case Path():
            return "/".join(node.segments)[:100]
        case Call():
            return f"{node.name}(…)"
        case Literal():
            return f"the literal {node.text[:40]!r}"
        case Binary() | Unary() | Logical() | Lambda():
            return f"the operator {node.operator}"
        case InCollection():
            return "the operator in with a collection"
        case Parameter():
            return f"the parameter alias @{node.name[:60]}"
    return f"the expression {type(node).__name__.lower()}"
