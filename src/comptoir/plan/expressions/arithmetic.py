"""Arithmetic (OData URL Conventions 4.01, section 5.1.1.2): exact, or refused.

Whole numbers have 64 bits and Decimals a fixed precision. A larger result is an error of the
request. If the size of the operands shows that the result fits, the database computes it itself.
"""

from collections.abc import Callable, Mapping

from comptoir.edm.numbers import MOST_DECIMAL, MOST_WHOLE, UNIT
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions import types
from comptoir.plan.expressions.nodes import Function, Null, Value
from comptoir.plan.expressions.operands import (
    BoundOption,
    Operand,
    TypedValue,
    described,
    duration_operand,
    name_of,
)
from comptoir.plan.functions import FunctionName
from comptoir.request.expression.tree import Binary, BinaryOperator, Unary

ARITHMETIC: frozenset[BinaryOperator] = frozenset({"add", "sub", "mul", "div", "divby", "mod"})

_LARGEST_SCALED = MOST_DECIMAL // UNIT


_NATIVE: Mapping[str, FunctionName] = {
    "add": "add_native",
    "sub": "sub_native",
    "mul": "mul_native",
    "div": "div_native",
    "mod": "mod_native",
}
_WHOLE: Mapping[str, FunctionName] = {
    "add": "add_whole",
    "sub": "sub_whole",
    "mul": "mul_whole",
    "div": "div_whole",
    "mod": "mod_whole",
}
_DECIMAL: Mapping[str, FunctionName] = {
    "add": "add_decimal",
    "sub": "sub_decimal",
    "mul": "mul_decimal",
    "mod": "mod_decimal",
}
_WIDE: Mapping[str, FunctionName] = {
    "add": "add_wide",
    "sub": "sub_wide",
    "mul": "mul_wide",
    "mod": "mod_wide",
}

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


def bind_arithmetic(option: BoundOption, node: Binary, left: Operand, right: Operand) -> TypedValue:
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
    return TypedValue(
        Function(name, (first.value, second.value)), result, first.nullable or second.nullable
    )


def bind_negation(option: BoundOption, node: Unary, operand: Operand) -> TypedValue:
    """Bind a unary minus; raises `Refusal` (400)."""
    typed = option.value(duration_operand(operand))
    if typed.type is types.NULL:
        return typed
    if typed.type not in types.NUMBERS and typed.type is not types.DURATION:
        shown = described(operand.node)
        raise option.refuse(rows.NO_NEGATIVE, node, node=shown, type=typed.type.expected)
    name: FunctionName = "negate_wide" if typed.type is types.WIDE_DECIMAL else "negate"
    return TypedValue(Function(name, (typed.value,)), typed.type, typed.nullable, typed.most)


def compute(operator: str, left: TypedValue, right: TypedValue) -> TypedValue:
    """Return the result of an operation on two numbers."""
    nullable = left.nullable or right.nullable
    if operator == "divby":
        left, right, operator = as_decimal(left), as_decimal(right), "div"
    if left.type is types.WHOLE and right.type is types.WHOLE:
        return _whole(operator, left, right, nullable=nullable)
    if operator == "mul" and types.WIDE_DECIMAL not in (left.type, right.type):
        if left.type is types.WHOLE:
            left, right = right, left
        if right.type is types.WHOLE:
            return _decimal("mul", left, right, nullable=nullable)
    if operator == "div":
        left, right = as_decimal(left), as_decimal(right)
        return TypedValue(
            Function("div_decimal", (left.value, right.value)), types.DECIMAL, nullable
        )
    if operator == "mul" or types.WIDE_DECIMAL in (left.type, right.type):
        values = (as_decimal(left).value, as_decimal(right).value)
        return TypedValue(Function(_WIDE[operator], values), types.WIDE_DECIMAL, nullable)
    return _decimal(operator, as_decimal(left), as_decimal(right), nullable=nullable)


def as_decimal(typed: TypedValue) -> TypedValue:
    """Convert a whole number to a Decimal; a Decimal or wide decimal stays as it is."""
    if typed.type is not types.WHOLE:
        return typed
    fits = typed.most <= _LARGEST_SCALED
    name: FunctionName = "scale" if fits else "scale_checked"
    most = min(typed.most * UNIT, MOST_DECIMAL)
    literal = None if typed.literal is None or not fits else typed.literal * UNIT
    return TypedValue(Function(name, (typed.value,)), types.DECIMAL, typed.nullable, most, literal)


def within_decimals(typed: TypedValue) -> TypedValue:
    """Bound a whole number to the range of Decimals; it compares with each Decimal as before."""
    if typed.type is not types.WHOLE or typed.most <= _LARGEST_SCALED:
        return typed
    return TypedValue(
        Function("bounded", (typed.value,)), types.WHOLE, typed.nullable, _LARGEST_SCALED
    )


def as_wide(typed: TypedValue) -> TypedValue:
    """Convert a number to a wide decimal."""
    if typed.type is types.WIDE_DECIMAL:
        return typed
    return TypedValue(
        Function("widen", (as_decimal(typed).value,)), types.WIDE_DECIMAL, typed.nullable
    )


def as_narrow(typed: TypedValue) -> TypedValue:
    """Convert a wide decimal to a Decimal; the statement fails if it has too many digits."""
    if typed.type is not types.WIDE_DECIMAL:
        return typed
    return TypedValue(Function("narrow", (typed.value,)), types.DECIMAL, typed.nullable)


def _whole(operator: str, left: TypedValue, right: TypedValue, *, nullable: bool) -> TypedValue:
    most = _SIZES[operator](left.most, right.most)
    fits = most <= MOST_WHOLE
    if operator in ("div", "mod"):
        fits = bool(right.literal)
    name = _NATIVE[operator] if fits else _WHOLE[operator]
    values = (left.value, right.value)
    return TypedValue(Function(name, values), types.WHOLE, nullable, min(most, MOST_WHOLE))


def _decimal(operator: str, left: TypedValue, right: TypedValue, *, nullable: bool) -> TypedValue:
    most = _SIZES[operator](left.most, right.most)
    fits = most <= MOST_DECIMAL
    if operator == "mod":
        fits = bool(right.literal)
    name = _NATIVE[operator] if fits else _DECIMAL[operator]
    values = (left.value, right.value)
    return TypedValue(Function(name, values), types.DECIMAL, nullable, min(most, MOST_DECIMAL))


def _scaled_duration(operator: str, left: TypedValue, right: TypedValue) -> TypedValue | None:
    """A duration multiplied or divided by a number; None for other operands."""
    nullable = left.nullable or right.nullable
    if operator == "mul" and right.type is types.DURATION:
        left, right = right, left
    if left.type is not types.DURATION or right.type not in types.NUMBERS:
        return None
    values: tuple[Value, ...] = (left.value, as_decimal(right).value)
    if operator == "mul":
        return TypedValue(
            Function("narrow", (Function("mul_wide", values),)), types.DURATION, nullable
        )
    if operator in ("div", "divby"):
        return TypedValue(Function("div_decimal", values), types.DURATION, nullable)
    return None


def _of_null(
    option: BoundOption, node: Binary, first: TypedValue, second: TypedValue
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
    return TypedValue(Null(), types.NULL, nullable=True)


def _by_zero(option: BoundOption, node: Binary, divisor: Operand) -> Refusal:
    return option.refuse(rows.BY_ZERO, divisor.node, operator=node.operator)
