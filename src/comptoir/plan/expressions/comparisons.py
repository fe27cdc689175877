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
    left = Operand(left.node, option.value(left))
    if isinstance(right.node, Literal) and right.typed is None:
        value = option.value(left)
        if value.type is not types.NULL:
            return _with_literal(option, operator, value, right.node)
    right = Operand(right.node, option.value(right))
    first, second = common_type(option, node, left, right, computes=False)
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
    left = Operand(left.node, _list_operand(option, left, computed))
    for each in computed:
        left = Operand(left.node, common_type(option, node, left, each, computes=False)[0])
    value = option.value(left)
    literals: dict[Stored, None] = {}
    has_null = False
    for each in items:
        if isinstance(each.node, Literal) and each.typed is None:
            if _is_null(each.node):
                has_null = True
            elif value.type is types.NULL:
                option.value(each)
            else:
                literal = option.literal(each.node, value.type)
                if literal.stored is not None and literal.exact:
                    literals[literal.stored] = None
    values: list[Value] = list(option.slots.add_list(list(literals))) if literals else []
    nullable = value.nullable
    for each in computed:
        _, item = common_type(option, node, left, each, computes=False)
        nullable = nullable or item.nullable
        values.append(item.value)
    conditions: list[Value] = [OneOf(value.value, tuple(values), nullable)] if values else []
    if has_null and value.nullable:
        conditions.append(IsNull(value.value))
    if not conditions:
        return TypedValue(Constant(value=False), types.BOOLEAN)
    condition = conditions[0] if len(conditions) == 1 else Junction("or", tuple(conditions))
    return TypedValue(condition, types.BOOLEAN)


def _list_operand(option: BoundOption, left: Operand, computed: Sequence[Operand]) -> TypedValue:
    """The value before `in`; a date-time literal is a date if the list has dates."""
    node, listed = left.node, [option.value(each).type for each in computed]
    if isinstance(node, Literal) and node.type == "datetimeoffset" and types.DATE in listed:
        literal = option.literal(node, types.DATE)
        if literal.stored is not None:
            return TypedValue(option.slots.add(literal.stored), types.DATE)
    return option.value(left)


def common_type(
    option: BoundOption,
    node: Node,
    left: Operand,
    right: Operand,
    *,
    computes: bool = True,
) -> tuple[TypedValue, TypedValue]:
    """Convert two bound operands to a common type; raises `Refusal` (400) if there is none.

    With `computes=False`, for a comparison, a whole number may be larger than all Decimals.
    """
    first, second = option.value(left), option.value(right)
    both = (first.type, second.type)
    if both == (types.RECORD, types.RECORD):
        if first.edm_type.edm_name != second.edm_type.edm_name:
            raise option.misused(
                node,
                f"{described(left.node)} and {name_of(right.node)} are records whose keys differ "
                "in type",
                "Compare properties of one type.",
            )
        return first, second
    if first.type is second.type or types.NULL in both:
        return first, second
    if types.NUMBERS.issuperset(both):
        wanted = types.WIDE_DECIMAL if types.WIDE_DECIMAL in both else types.DECIMAL
        if not computes:
            first, second = within_decimals(first), within_decimals(second)
        return as_type(first, wanted), as_type(second, wanted)
    raise option.misused(
        node,
        f"{described(left.node)} is {first.type.expected}, but {name_of(right.node)} is "
        f"{second.type.expected}",
        "Use values of one type.",
    )


def as_type(typed: TypedValue, wanted: types.ExpressionType) -> TypedValue:
    """Convert a number to a type that contains it; any other value stays as it is."""
    if typed.type is wanted or wanted not in types.NUMBERS:
        return typed
    return as_wide(typed) if wanted is types.WIDE_DECIMAL else as_decimal(typed)


def _depends_on(left: Node, right: Node) -> bool:
    """Whether the type of the left literal depends on the right one."""
    return _is_null(left) or (isinstance(right, Literal) and right.type == "duration")


def _is_null(node: Node) -> bool:
    return isinstance(node, Literal) and node.type == "null"


def _with_null(option: BoundOption, operator: str, operand: Operand) -> TypedValue:
    typed = option.value(operand)
    if typed.type is types.NULL or not typed.nullable or operator in ("lt", "gt"):
        is_true = operator in _EQUAL if typed.type is types.NULL else operator == "ne"
        return TypedValue(Constant(is_true), types.BOOLEAN)
    is_null = IsNull(typed.value)
    return TypedValue(Not(is_null) if operator == "ne" else is_null, types.BOOLEAN)


def _with_literal(
    option: BoundOption, operator: str, value: TypedValue, node: Literal
) -> TypedValue:
    literal = option.literal(node, value.type)
    if value.type is types.BOOLEAN:
        is_true = node.text == "true"
        if value.nullable or operator not in ("eq", "ne"):
            return compared(operator, value, TypedValue(Constant(is_true), types.BOOLEAN))
        if is_true == (operator == "eq"):
            return value
        return TypedValue(negated(value.value), types.BOOLEAN)
    if literal.stored is None:
        return TypedValue(Constant(operator == "ne"), types.BOOLEAN)
    if not literal.exact:
        if operator in ("eq", "ne"):
            return TypedValue(Constant(operator == "ne"), types.BOOLEAN)
        operator = "le" if operator in ("lt", "le") else "gt"
    return compared(operator, value, TypedValue(option.slots.add(literal.stored), value.type))


def negated(condition: Value) -> Value:
    """Return the negation of a condition."""
    return condition.operand if isinstance(condition, Not) else Not(condition)
