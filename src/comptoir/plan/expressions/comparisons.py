"""Comparisons and `in` (OData URL Conventions 4.01, section 5.1.1.1): types and null checked."""

from collections.abc import Sequence

from comptoir.edm.types import Stored
from comptoir.plan.bound import (
    Comparison,
    Constant,
    IsNull,
    Junction,
    Not,
    OneOf,
    Value,
)
from comptoir.plan.expressions import types
from comptoir.plan.expressions.arithmetic import as_decimal, as_wide, within_decimals
from comptoir.plan.expressions.terms import Operand, Terms, name_of
from comptoir.plan.expressions.typed import Typed
from comptoir.request.expression.tree import Binary, BinaryOperator, Literal, Node

COMPARING: frozenset[BinaryOperator] = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})

_FLIPPED: dict[str, str] = {
    "eq": "eq",
    "ne": "ne",
    "lt": "gt",
    "gt": "lt",
    "le": "ge",
    "ge": "le",
}
_EQUAL = ("eq", "le", "ge")


def bind_comparison(terms: Terms, node: Binary, left: Operand, right: Operand) -> Typed:
    """What a comparison means; raises `Refusal` (400) for types that do not compare."""
    operator: str = node.operator
    if left.typed is None and (right.typed is not None or _waits(left.node, right.node)):
        left, right, operator = right, left, _FLIPPED[operator]
    if _is_null(right.node):
        return _with_null(terms, operator, left)
    if isinstance(right.node, Literal) and right.typed is None:
        if left.typed is None:
            left = Operand(left.node, terms.settled(left))
        held = terms.settled(left)
        if held.type is not types.NULL:
            return _with_literal(terms, operator, held, right.node)
    first, second = terms.settled(left), terms.settled(right)
    first, second = alike(terms, node, (left.node, first), (right.node, second), computes=False)
    if first.type is types.RECORD and operator not in ("eq", "ne"):
        raise terms.misused(
            node, f"{node.operator} does not apply to records, which have no order."
        )
    return compared(operator, first, second)


def compared(operator: str, first: Typed, second: Typed) -> Typed:
    """The comparison of two values of one type; it is never null itself."""
    nullable = first.nullable or second.nullable
    comparison = Comparison(operator, first.value, second.value, nullable)
    if operator in ("le", "ge") and first.nullable and second.nullable:
        both = Junction("and", (IsNull(first.value), IsNull(second.value)))
        return Typed(Junction("or", (comparison, both)), types.BOOLEAN)
    return Typed(comparison, types.BOOLEAN)


def bind_list(terms: Terms, node: Node, left: Operand, items: Sequence[Operand]) -> Typed:
    """Whether a value is one of a list's; raises `Refusal` (400) for types that do not compare."""
    computed = [each for each in items if each.typed is not None]
    if left.typed is None:
        left = Operand(left.node, _first(terms, left, computed))
    held = terms.settled(left)
    for each in computed:
        item = (each.node, terms.settled(each))
        held, _ = alike(terms, node, (left.node, held), item, computes=False)
    literals: dict[Stored, None] = {}
    has_null = False
    for each in items:
        if isinstance(each.node, Literal) and each.typed is None:
            if _is_null(each.node):
                has_null = True
            elif held.type is types.NULL:
                terms.settled(each)
            else:
                bound = terms.literal(each.node, held.type)
                if bound.stored is not None and bound.exact:
                    literals[bound.stored] = None
    values: list[Value] = list(terms.slots.add_list(list(literals))) if literals else []
    nullable = held.nullable
    for each in computed:
        item = (each.node, terms.settled(each))
        _, listed_value = alike(terms, node, (left.node, held), item, computes=False)
        nullable = nullable or listed_value.nullable
        values.append(listed_value.value)
    listed: list[Value] = [OneOf(held.value, tuple(values), nullable)] if values else []
    if has_null and held.nullable:
        listed.append(IsNull(held.value))
    if not listed:
        return Typed(Constant(value=False), types.BOOLEAN)
    return Typed(listed[0] if len(listed) == 1 else Junction("or", tuple(listed)), types.BOOLEAN)


def _first(terms: Terms, left: Operand, computed: Sequence[Operand]) -> Typed:
    """The literal before `in`: one that is compared with dates is a date."""
    found = [terms.settled(each).type for each in computed]
    if (
        types.DATE in found
        and isinstance(left.node, Literal)
        and left.node.type == "datetimeoffset"
    ):
        bound = terms.literal(left.node, types.DATE)
        if bound.stored is not None:
            return Typed(terms.slots.add(bound.stored), types.DATE)
    return terms.settled(left)


def alike(
    terms: Terms,
    node: Node,
    left: tuple[Node, Typed],
    right: tuple[Node, Typed],
    *,
    computes: bool = True,
) -> tuple[Typed, Typed]:
    """Two values in the type that holds both; raises `Refusal` (400) when none does.

    Unless one `computes` with them, a whole number beyond all Decimals stays beyond them.
    """
    first, second = left[1], right[1]
    if first.type is types.RECORD and second.type is types.RECORD:
        _check_same_keys(terms, node, left, right)
    if first.type is second.type or types.NULL in (first.type, second.type):
        return first, second
    if first.type in types.NUMBERS and second.type in types.NUMBERS:
        wanted = (
            types.WIDE_DECIMAL if types.WIDE_DECIMAL in (first.type, second.type) else types.DECIMAL
        )
        if not computes:
            first, second = within_decimals(first), within_decimals(second)
        return as_type(first, wanted), as_type(second, wanted)
    raise terms.misused(
        node,
        f"{name_of(left[0])} is {first.type.expected} and {name_of(right[0])} is "
        f"{second.type.expected}; the two do not go together.",
    )


def _check_same_keys(
    terms: Terms, node: Node, left: tuple[Node, Typed], right: tuple[Node, Typed]
) -> None:
    if left[1].edm_type.edm_name != right[1].edm_type.edm_name:
        raise terms.misused(
            node,
            f"{name_of(left[0])} and {name_of(right[0])} are records with keys of different types; "
            "the two do not go together.",
        )


def as_type(typed: Typed, wanted: types.ExpressionType) -> Typed:
    """A number in a type that holds it; any other value as it is."""
    if typed.type is wanted or wanted not in types.NUMBERS:
        return typed
    return as_wide(typed) if wanted is types.WIDE_DECIMAL else as_decimal(typed)


def _waits(left: Node, right: Node) -> bool:
    """Whether of two literals the right one says what the left one is."""
    return _is_null(left) or (isinstance(right, Literal) and right.type == "duration")


def _is_null(node: Node) -> bool:
    return isinstance(node, Literal) and node.type == "null"


def _with_null(terms: Terms, operator: str, operand: Operand) -> Typed:
    typed = terms.settled(operand)
    if typed.type is types.NULL or not typed.nullable or operator in ("lt", "gt"):
        holds = operator in _EQUAL if typed.type is types.NULL else operator == "ne"
        return Typed(Constant(holds), types.BOOLEAN)
    absent = IsNull(typed.value)
    return Typed(Not(absent) if operator == "ne" else absent, types.BOOLEAN)


def _with_literal(terms: Terms, operator: str, held: Typed, literal: Literal) -> Typed:
    if held.type is types.BOOLEAN and literal.type == "boolean" and operator in ("eq", "ne"):
        expected = (literal.text == "true") == (operator == "eq")
        if not held.nullable:
            return held if expected else Typed(negated(held.value), types.BOOLEAN)
        return compared(operator, held, Typed(Constant(literal.text == "true"), types.BOOLEAN))
    if held.type is types.BOOLEAN:
        terms.literal(literal, held.type)
        return compared(operator, held, Typed(Constant(literal.text == "true"), types.BOOLEAN))
    bound = terms.literal(literal, held.type)
    if bound.stored is None:
        return Typed(Constant(operator == "ne"), types.BOOLEAN)
    if not bound.exact:
        if operator in ("eq", "ne"):
            return Typed(Constant(operator == "ne"), types.BOOLEAN)
        operator = "le" if operator in ("lt", "le") else "gt"
    return compared(operator, held, Typed(terms.slots.add(bound.stored), held.type))


def negated(condition: Value) -> Value:
    """The condition that holds when this one does not."""
    return condition.operand if isinstance(condition, Not) else Not(condition)
