"""Arithmetic, comparisons and `in` (OData URL Conventions 4.01, sections 5.1.1.1 and 5.1.1.2).

Arithmetic is exact, or refused. Whole numbers have 64 bits and Decimals a fixed precision. A larger
result is an error of the request. If the size of the operands shows that the result fits, the
database computes it itself.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from comptoir.edm.numbers import MOST_DECIMAL, MOST_WHOLE, UNIT
from comptoir.edm.types import CodeText, EnumText, Stored
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions import nodes, types
from comptoir.plan.expressions.operands import (
    BoundOption,
    Operand,
    TypedValue,
    boolean,
    called,
    constant,
    described,
    duration_operand,
    name_of,
)
from comptoir.plan.expressions.types import NAMED, FunctionName
from comptoir.request.expression import tree

ARITHMETIC: frozenset[tree.BinaryOperator] = frozenset({"add", "sub", "mul", "div", "divby", "mod"})

_LARGEST_SCALED = MOST_DECIMAL // UNIT


_SIZES: Mapping[str, Callable[[int, int], int]] = {
    "add": int.__add__,
    "sub": int.__add__,
    "mul": int.__mul__,
    "div": lambda left, _: left,
    "mod": min,
}

_TEMPORAL: Mapping[
    tuple[str, types.ExpressionType, types.ExpressionType],
    tuple[FunctionName, types.ExpressionType],
] = {
    ("add", types.DURATION, types.DURATION): ("add_decimal", types.DURATION),
    ("sub", types.DURATION, types.DURATION): ("sub_decimal", types.DURATION),
    ("add", types.DATE_TIME, types.DURATION): ("add_datetime", types.DATE_TIME),
    ("sub", types.DATE_TIME, types.DURATION): ("sub_datetime", types.DATE_TIME),
    ("sub", types.DATE_TIME, types.DATE_TIME): ("between_datetimes", types.DURATION),
    ("add", types.DATE, types.DURATION): ("add_date", types.DATE),
    ("sub", types.DATE, types.DURATION): ("sub_date", types.DATE),
    ("sub", types.DATE, types.DATE): ("between_dates", types.DURATION),
}
"""Operator and types of the operands, to function and type of the result."""


def bind_arithmetic(
    option: BoundOption, node: tree.Binary, left: Operand, right: Operand
) -> TypedValue:
    """Bind an arithmetic operation; raises `Refusal` (400) for operands of other types."""
    first, second = option.value(duration_operand(left)), option.value(duration_operand(right))
    if first.type is types.NULL or second.type is types.NULL:
        return _of_null(option, node, first, second)
    if first.type in types.NUMBERS and second.type in types.NUMBERS:
        if second.literal == 0 and node.operator in ("div", "divby", "mod"):
            raise _by_zero(option, node, right)
        return compute(node.operator, first, second)
    if types.DURATION in (first.type, second.type):
        scaled = _scaled_duration(node.operator, first, second)
        if scaled is not None:
            if second.literal == 0 and node.operator != "mul":
                raise _by_zero(option, node, right)
            return scaled
    found = _TEMPORAL.get((node.operator, first.type, second.type))
    if found is None:
        raise option.refuse(
            rows.ARITHMETIC_OF_TWO,
            node,
            operator=node.operator,
            one=first.type.expected,
            left=name_of(left.node),
            other=second.type.expected,
            right=name_of(right.node),
        )
    name, result = found
    return called(name, result, first, second)


def bind_negation(option: BoundOption, node: tree.Unary, operand: Operand) -> TypedValue:
    """Bind a unary minus; raises `Refusal` (400)."""
    typed = option.value(duration_operand(operand))
    if typed.type is types.NULL:
        return typed
    if typed.type not in types.NUMBERS and typed.type is not types.DURATION:
        shown = described(operand.node)
        raise option.refuse(rows.NO_NEGATIVE, node, node=shown, type=typed.type.expected)
    name: FunctionName = "negate_wide" if typed.type is types.WIDE_DECIMAL else "negate"
    return called(name, typed.type, typed, most=typed.most)


def compute(operator: str, left: TypedValue, right: TypedValue) -> TypedValue:
    """Return the result of an operation on two numbers."""
    if operator == "divby":
        left, right, operator = as_decimal(left), as_decimal(right), "div"
    both = {left.type, right.type}
    if both == {types.WHOLE}:
        return _sized(operator, "whole", left, right)
    if operator == "mul" and types.WIDE_DECIMAL not in both:
        if left.type is types.WHOLE:
            left, right = right, left
        if right.type is types.WHOLE:
            return _sized("mul", "decimal", left, right)
    left, right = as_decimal(left), as_decimal(right)
    if operator == "div":
        return called("div_decimal", types.DECIMAL, left, right)
    if operator == "mul" or types.WIDE_DECIMAL in both:
        return called(NAMED[f"{operator}_wide"], types.WIDE_DECIMAL, left, right)
    return _sized(operator, "decimal", left, right)


def as_decimal(typed: TypedValue) -> TypedValue:
    """Convert a whole number to a Decimal; a Decimal or wide decimal stays as it is."""
    if typed.type is not types.WHOLE:
        return typed
    fits = typed.most <= _LARGEST_SCALED
    name: FunctionName = "scale" if fits else "scale_checked"
    most = min(typed.most * UNIT, MOST_DECIMAL)
    literal = None if typed.literal is None or not fits else typed.literal * UNIT
    return called(name, types.DECIMAL, typed, most=most, literal=literal)


def within_decimals(typed: TypedValue) -> TypedValue:
    """Bound a whole number to the range of Decimals; it compares with each Decimal as before."""
    if typed.type is not types.WHOLE or typed.most <= _LARGEST_SCALED:
        return typed
    return called("bounded", types.WHOLE, typed, most=_LARGEST_SCALED)


def as_wide(typed: TypedValue) -> TypedValue:
    """Convert a number to a wide decimal."""
    if typed.type is types.WIDE_DECIMAL:
        return typed
    return called("widen", types.WIDE_DECIMAL, as_decimal(typed))


def as_narrow(typed: TypedValue) -> TypedValue:
    """Convert a wide decimal to a Decimal; the statement fails if it has too many digits."""
    if typed.type is not types.WIDE_DECIMAL:
        return typed
    return called("narrow", types.DECIMAL, typed)


def _sized(
    operator: str, form: Literal["whole", "decimal"], left: TypedValue, right: TypedValue
) -> TypedValue:
    """An operation that the database computes itself if the result certainly fits."""
    is_whole = form == "whole"
    limit, result = (MOST_WHOLE, types.WHOLE) if is_whole else (MOST_DECIMAL, types.DECIMAL)
    most = _SIZES[operator](left.most, right.most)
    fits = bool(right.literal) if operator in ("div", "mod") else most <= limit
    name = NAMED[f"{operator}_{'native' if fits else form}"]
    return called(name, result, left, right, most=min(most, limit))


def _scaled_duration(operator: str, left: TypedValue, right: TypedValue) -> TypedValue | None:
    """A duration multiplied or divided by a number; None for other operands."""
    if operator == "mul" and right.type is types.DURATION:
        left, right = right, left
    if left.type is not types.DURATION or right.type not in types.NUMBERS:
        return None
    right = as_decimal(right)
    if operator == "mul":
        product = called("mul_wide", types.WIDE_DECIMAL, left, right)
        return called("narrow", types.DURATION, product)
    if operator in ("div", "divby"):
        return called("div_decimal", types.DURATION, left, right)
    return None


def _of_null(
    option: BoundOption, node: tree.Binary, first: TypedValue, second: TypedValue
) -> TypedValue:
    """An operation with null is null, if the operator applies to the type of the other operand."""
    for typed in (first, second):
        if typed.type not in types.NUMBERS and typed.type not in (
            types.NULL,
            types.DURATION,
            types.DATE,
            types.DATE_TIME,
        ):
            operator, actual = node.operator, typed.type.expected
            raise option.refuse(rows.ARITHMETIC_OF_TYPE, node, operator=operator, type=actual)
    return TypedValue(nodes.Null(), types.NULL, nullable=True)


def _by_zero(option: BoundOption, node: tree.Binary, divisor: Operand) -> Refusal:
    return option.refuse(rows.BY_ZERO, divisor.node, operator=node.operator)


COMPARISONS: frozenset[tree.BinaryOperator] = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})

_FLIPPED: dict[str, str] = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_EQUAL = ("eq", "le", "ge")


def bind_comparison(
    option: BoundOption, node: tree.Binary, left: Operand, right: Operand
) -> TypedValue:
    """Bind a comparison; raises `Refusal` (400) for values of different types."""
    operator: str = node.operator
    if left.typed is None and (right.typed is not None or _depends_on(left.node, right.node)):
        left, right, operator = right, left, _FLIPPED[operator]
    if _is_null(right.node):
        return _with_null(option, operator, left)
    left = Operand(left.node, option.value(left))
    if isinstance(right.node, tree.Literal) and right.typed is None:
        value = option.value(left)
        if value.type is not types.NULL:
            return _with_literal(option, operator, value, right.node)
    right = Operand(right.node, option.value(right))
    first, second = common_type(option, node, left, right, computes=False)
    if first.type is types.RECORD and operator not in ("eq", "ne"):
        raise option.refuse(rows.RECORDS_COMPARED, node, operator=node.operator)
    return _compared(option, operator, first, second)


def _compared(
    option: BoundOption, operator: str, first: TypedValue, second: TypedValue
) -> TypedValue:
    """The comparison of two values of one type; it is never null."""
    if operator in ("eq", "ne"):
        first, second = _folded(option, first), _folded(option, second)
    nullable = first.nullable or second.nullable
    comparison = nodes.Comparison(operator, first.value, second.value, nullable)
    if operator in ("le", "ge") and first.nullable and second.nullable:
        both = nodes.Junction("and", (nodes.IsNull(first.value), nodes.IsNull(second.value)))
        return boolean(nodes.Junction("or", (comparison, both)))
    return boolean(comparison)


def _folded(option: BoundOption, typed: TypedValue) -> TypedValue:
    """A value as it is compared with others for equality.

    The database folds literals too: the binding of a filter must not depend on their content.
    """
    if not option.dialect.ignores_case or typed.type is not types.TEXT:
        return typed
    return msgspec.structs.replace(typed, value=nodes.Function("tolower", (typed.value,)))


def _as_code(
    option: BoundOption, operator: str, typed: TypedValue, literal: nodes.Value
) -> nodes.Value:
    """A literal as a code, if it is compared with one: without blanks around it, in upper case.

    The database does this too, unless it folds both operands for their equality.
    """
    if not isinstance(typed.own_type, CodeText):
        return literal
    trimmed = nodes.Function("trim", (literal,))
    is_folded = operator in ("eq", "ne") and option.dialect.ignores_case
    return trimmed if is_folded else nodes.Function("toupper", (trimmed,))


def bind_list(
    option: BoundOption, node: tree.Node, left: Operand, items: Sequence[Operand]
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
        if isinstance(each.node, tree.Literal) and each.typed is None:
            if _is_null(each.node):
                has_null = True
            elif value.type is types.NULL:
                option.value(each)
            else:
                literal = option.literal(each.node, value.type, value.own_type)
                if literal.stored is not None and literal.exact:
                    literals |= dict.fromkeys(_spellings(value, literal.stored))
    listed = nodes.padded(list(literals)) if literals else ()
    values = [_as_code(option, "eq", value, option.slots.add(each)) for each in listed]
    nullable = value.nullable
    for each in computed:
        _, item = common_type(option, node, left, each, computes=False)
        nullable = nullable or item.nullable
        values.append(item.value)
    folded = _folded(option, value)
    if folded is not value:
        values = [nodes.Function("tolower", (each,)) for each in values]
    conditions: list[nodes.Value] = (
        [nodes.OneOf(folded.value, tuple(values), nullable)] if values else []
    )
    if has_null:
        is_null = _with_null(option, "eq", left).value
        if is_null != nodes.Constant(value=False):
            conditions.append(is_null)
    if not conditions:
        return constant(value=False)
    return boolean(
        conditions[0] if len(conditions) == 1 else nodes.Junction("or", tuple(conditions))
    )


def _list_operand(option: BoundOption, left: Operand, computed: Sequence[Operand]) -> TypedValue:
    """The value before `in`; a date-time literal is a date if the list has dates."""
    node, listed = left.node, [option.value(each).type for each in computed]
    if isinstance(node, tree.Literal) and node.type == "datetimeoffset" and types.DATE in listed:
        literal = option.literal(node, types.DATE)
        if literal.stored is not None:
            return TypedValue(option.slots.add(literal.stored), types.DATE)
    return option.value(left)


def common_type(
    option: BoundOption, node: tree.Node, left: Operand, right: Operand, *, computes: bool = True
) -> tuple[TypedValue, TypedValue]:
    """Convert two bound operands to a common type; raises `Refusal` (400) if there is none.

    With `computes=False`, for a comparison, a whole number may be larger than all Decimals.
    """
    first, second = option.value(left), option.value(right)
    both = (first.type, second.type)
    if both == (types.RECORD, types.RECORD):
        if first.edm_type.edm_name != second.edm_type.edm_name:
            left_text, right_text = described(left.node), name_of(right.node)
            raise option.refuse(rows.RECORDS_OF_TYPES, node, left=left_text, right=right_text)
        return first, second
    if first.type is second.type or types.NULL in both:
        return first, second
    if types.NUMBERS.issuperset(both):
        wanted = types.WIDE_DECIMAL if types.WIDE_DECIMAL in both else types.DECIMAL
        if not computes:
            first, second = within_decimals(first), within_decimals(second)
        return as_type(first, wanted), as_type(second, wanted)
    raise option.refuse(
        rows.TYPES_COMPARED,
        node,
        left=described(left.node),
        one=first.type.expected,
        right=name_of(right.node),
        other=second.type.expected,
    )


def as_type(typed: TypedValue, wanted: types.ExpressionType) -> TypedValue:
    """Convert a number to a type that contains it; any other value stays as it is."""
    if typed.type is wanted or wanted not in types.NUMBERS:
        return typed
    return as_wide(typed) if wanted is types.WIDE_DECIMAL else as_decimal(typed)


def _depends_on(left: tree.Node, right: tree.Node) -> bool:
    """Whether the type of the left literal depends on the right one."""
    return _is_null(left) or (isinstance(right, tree.Literal) and right.type == "duration")


def _is_null(node: tree.Node) -> bool:
    return isinstance(node, tree.Literal) and node.type == "null"


def _with_null(option: BoundOption, operator: str, operand: Operand) -> TypedValue:
    typed = option.value(operand)
    if option.dialect.null_is_blank and operator in ("eq", "ne") and _has_blank(operand):
        return _with_blank(option, operator, typed)
    if typed.type is types.NULL or not typed.nullable or operator in ("lt", "gt"):
        is_true = operator in _EQUAL if typed.type is types.NULL else operator == "ne"
        return constant(value=is_true)
    is_null = nodes.IsNull(typed.value)
    return boolean(nodes.Not(is_null) if operator == "ne" else is_null)


def _has_blank(operand: Operand) -> bool:
    """Whether an operand is a property, which has a blank value."""
    typed = operand.typed
    if typed is None or typed.own_type is None or typed.type is types.RECORD:
        return False
    return isinstance(operand.node, tree.Path)


def _with_blank(option: BoundOption, operator: str, typed: TypedValue) -> TypedValue:
    is_blank = _equality(option, typed, typed.edm_type.default)
    if typed.nullable:
        is_blank = nodes.Junction("or", (nodes.IsNull(typed.value), is_blank))
    return boolean(negated(is_blank) if operator == "ne" else is_blank)


def _equality(option: BoundOption, typed: TypedValue, stored: Stored) -> nodes.Value:
    """The condition that a value equals a stored one, in any of its spellings."""
    if typed.type is types.BOOLEAN:
        return typed.value if stored else negated(typed.value)
    slots = [option.slots.add(each) for each in _spellings(typed, stored)]
    if len(slots) == 1:
        return _compared(option, "eq", typed, TypedValue(slots[0], typed.type)).value
    folded = [_folded(option, TypedValue(slot, typed.type)).value for slot in slots]
    return nodes.OneOf(_folded(option, typed).value, tuple(folded), typed.nullable)


def _spellings(typed: TypedValue, stored: Stored) -> tuple[Stored, ...]:
    """The values that mean the same: the empty option of a field may be stored as empty."""
    own_type = typed.own_type
    is_empty = isinstance(own_type, EnumText) and not own_type.name and stored == own_type.default
    return (stored, "") if is_empty and stored else (stored,)


def _with_literal(
    option: BoundOption, operator: str, value: TypedValue, node: tree.Literal
) -> TypedValue:
    literal = option.literal(node, value.type, value.own_type)
    if value.type is types.BOOLEAN:
        is_true = node.text == "true"
        if value.nullable or operator not in ("eq", "ne"):
            return _compared(option, operator, value, constant(value=is_true))
        return value if is_true == (operator == "eq") else boolean(negated(value.value))
    if literal.stored is None or (not literal.exact and operator in ("eq", "ne")):
        return constant(value=operator == "ne")
    if not literal.exact:
        operator = "le" if operator in ("lt", "le") else "gt"
    if operator in ("eq", "ne") and len(_spellings(value, literal.stored)) > 1:
        is_equal = _equality(option, value, literal.stored)
        return boolean(is_equal if operator == "eq" else negated(is_equal))
    sent = _as_code(option, operator, value, option.slots.add(literal.stored))
    return _compared(option, operator, value, TypedValue(sent, value.type))


def negated(condition: nodes.Value) -> nodes.Value:
    """Return the negation of a condition."""
    return condition.operand if isinstance(condition, nodes.Not) else nodes.Not(condition)
