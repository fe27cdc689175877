"""Comparisons and `in` (OData URL Conventions 4.01, section 5.1.1.1)."""

from collections.abc import Sequence

from comptoir.edm.types import Stored
from comptoir.plan.expressions import types
from comptoir.plan.expressions.arithmetic import as_decimal, as_wide, within_decimals
from comptoir.plan.expressions.nodes import (
    Comparison,
    Constant,
    IsNull,
    Junction,
    Not,
    OneOf,
    Value,
)
from comptoir.plan.expressions.operands import BoundOption, Operand, TypedValue, described, name_of
from comptoir.request.expression.tree import Binary, BinaryOperator, Literal, Node

COMPARISONS: frozenset[BinaryOperator] = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})

_FLIPPED: dict[str, str] = {
    "eq": "eq",
    "ne": "ne",
    "lt": "gt",
    "gt": "lt",
    "le": "ge",
    "ge": "le",
}
_EQUAL = ("eq", "le", "ge")


def bind_comparison(option: BoundOption, node: Binary, left: Operand, right: Operand) -> TypedValue:
    """Bind a comparison; raises `Refusal` (400) for values of different types."""
    operator: str = node.operator
    if left.typed is None and (right.typed is not None or _depends_on(left.node, right.node)):
        left, right, operator = right, left, _FLIPPED[operator]
    if _is_null(right.node):
        return _with_null(option, operator, left)
    if isinstance(right.node, Literal) and right.typed is None:
        if left.typed is None:
            left = Operand(left.node, option.value(left))
        held = option.value(left)
        if held.type is not types.NULL:
            return _with_literal(option, operator, held, right.node)
    first, second = option.value(left), option.value(right)
    first, second = common_type(
        option, node, (left.node, first), (right.node, second), computes=False
    )
    if first.type is types.RECORD and operator not in ("eq", "ne"):
        raise option.misused(
            node,
            f"The operator {node.operator} does not apply to records",
            "Compare a property of the record.",
        )
    return compared(operator, first, second)


def compared(operator: str, first: TypedValue, second: TypedValue) -> TypedValue:
    """Return the comparison of two values of one type; it is never null."""
    nullable = first.nullable or second.nullable
    comparison = Comparison(operator, first.value, second.value, nullable)
    if operator in ("le", "ge") and first.nullable and second.nullable:
        both = Junction("and", (IsNull(first.value), IsNull(second.value)))
        return TypedValue(Junction("or", (comparison, both)), types.BOOLEAN)
    return TypedValue(comparison, types.BOOLEAN)


def bind_list(
    option: BoundOption, node: Node, left: Operand, items: Sequence[Operand]
) -> TypedValue:
    """Bind `in` with a list; raises `Refusal` (400) for values of different types."""
    computed = [each for each in items if each.typed is not None]
    if left.typed is None:
        left = Operand(left.node, _first(option, left, computed))
    held = option.value(left)
    for each in computed:
        item = (each.node, option.value(each))
        held, _ = common_type(option, node, (left.node, held), item, computes=False)
    literals: dict[Stored, None] = {}
    has_null = False
    for each in items:
        if isinstance(each.node, Literal) and each.typed is None:
            if _is_null(each.node):
                has_null = True
            elif held.type is types.NULL:
                option.value(each)
            else:
                bound = option.literal(each.node, held.type)
                if bound.stored is not None and bound.exact:
                    literals[bound.stored] = None
    values: list[Value] = list(option.slots.add_list(list(literals))) if literals else []
    nullable = held.nullable
    for each in computed:
        item = (each.node, option.value(each))
        _, listed_value = common_type(option, node, (left.node, held), item, computes=False)
        nullable = nullable or listed_value.nullable
        values.append(listed_value.value)
    listed: list[Value] = [OneOf(held.value, tuple(values), nullable)] if values else []
    if has_null and held.nullable:
        listed.append(IsNull(held.value))
    if not listed:
        return TypedValue(Constant(value=False), types.BOOLEAN)
    return TypedValue(
        listed[0] if len(listed) == 1 else Junction("or", tuple(listed)), types.BOOLEAN
    )


def _first(option: BoundOption, left: Operand, computed: Sequence[Operand]) -> TypedValue:
    """The value of a literal before `in`: with dates in the list, a date-time is a date."""
    found = [option.value(each).type for each in computed]
    if (
        types.DATE in found
        and isinstance(left.node, Literal)
        and left.node.kind == "datetimeoffset"
    ):
        bound = option.literal(left.node, types.DATE)
        if bound.stored is not None:
            return TypedValue(option.slots.add(bound.stored), types.DATE)
    return option.value(left)


def common_type(
    option: BoundOption,
    node: Node,
    left: tuple[Node, TypedValue],
    right: tuple[Node, TypedValue],
    *,
    computes: bool = True,
) -> tuple[TypedValue, TypedValue]:
    """Convert two values to a common type; raises `Refusal` (400) if there is none.

    With `computes=False`, for a comparison, a whole number may be larger than all Decimals.
    """
    first, second = left[1], right[1]
    if first.type is types.RECORD and second.type is types.RECORD:
        _check_same_keys(option, node, left, right)
    if first.type is second.type or types.NULL in (first.type, second.type):
        return first, second
    if first.type in types.NUMBERS and second.type in types.NUMBERS:
        wanted = (
            types.WIDE_DECIMAL if types.WIDE_DECIMAL in (first.type, second.type) else types.DECIMAL
        )
        if not computes:
            first, second = within_decimals(first), within_decimals(second)
        return as_type(first, wanted), as_type(second, wanted)
    raise option.misused(
        node,
        f"{described(left[0])} is {first.type.expected}, but {name_of(right[0])} is "
        f"{second.type.expected}",
        "Use values of one type.",
    )


def _check_same_keys(
    option: BoundOption, node: Node, left: tuple[Node, TypedValue], right: tuple[Node, TypedValue]
) -> None:
    if left[1].edm_type.edm_name != right[1].edm_type.edm_name:
        raise option.misused(
            node,
            f"{described(left[0])} and {name_of(right[0])} are records whose keys differ in type",
            "Compare properties of one type.",
        )


def as_type(typed: TypedValue, wanted: types.ExpressionType) -> TypedValue:
    """Convert a number to a type that contains it; any other value stays as it is."""
    if typed.type is wanted or wanted not in types.NUMBERS:
        return typed
    return as_wide(typed) if wanted is types.WIDE_DECIMAL else as_decimal(typed)


def _depends_on(left: Node, right: Node) -> bool:
    """Whether the type of the left literal depends on the right one."""
    return _is_null(left) or (isinstance(right, Literal) and right.kind == "duration")


def _is_null(node: Node) -> bool:
    return isinstance(node, Literal) and node.kind == "null"


def _with_null(option: BoundOption, operator: str, operand: Operand) -> TypedValue:
    typed = option.value(operand)
    if typed.type is types.NULL or not typed.nullable or operator in ("lt", "gt"):
        holds = operator in _EQUAL if typed.type is types.NULL else operator == "ne"
        return TypedValue(Constant(holds), types.BOOLEAN)
    absent = IsNull(typed.value)
    return TypedValue(Not(absent) if operator == "ne" else absent, types.BOOLEAN)


def _with_literal(
    option: BoundOption, operator: str, held: TypedValue, literal: Literal
) -> TypedValue:
    if held.type is types.BOOLEAN and literal.kind == "boolean" and operator in ("eq", "ne"):
        expected = (literal.text == "true") == (operator == "eq")
        if not held.nullable:
            return held if expected else TypedValue(negated(held.value), types.BOOLEAN)
        return compared(operator, held, TypedValue(Constant(literal.text == "true"), types.BOOLEAN))
    if held.type is types.BOOLEAN:
        option.literal(literal, held.type)
        return compared(operator, held, TypedValue(Constant(literal.text == "true"), types.BOOLEAN))
    bound = option.literal(literal, held.type)
    if bound.stored is None:
        return TypedValue(Constant(operator == "ne"), types.BOOLEAN)
    if not bound.exact:
        if operator in ("eq", "ne"):
            return TypedValue(Constant(operator == "ne"), types.BOOLEAN)
        operator = "le" if operator in ("lt", "le") else "gt"
    return compared(operator, held, TypedValue(option.slots.add(bound.stored), held.type))


def negated(condition: Value) -> Value:
    """Return the negation of a condition."""
    return condition.operand if isinstance(condition, Not) else Not(condition)
