"""The operators: their words, how tightly they bind, and how they take in their operands."""

from typing import TypeAlias

from comptoir.request.expression.tree import (
    Binary,
    BinaryOperator,
    Logical,
    LogicalOperator,
    Node,
    Unary,
    UnaryOperator,
)

UNARY_PRECEDENCE = 7
PRIMARY_PRECEDENCE = 8
PRECEDENCE: dict[str, int] = {
    "or": 1,
    "and": 2,
    "eq": 3,
    "ne": 3,
    "lt": 4,
    "le": 4,
    "gt": 4,
    "ge": 4,
    "add": 5,
    "sub": 5,
    "mul": 6,
    "div": 6,
    "divby": 6,
    "mod": 6,
    "has": PRIMARY_PRECEDENCE,
    "in": PRIMARY_PRECEDENCE,
}
"""How tightly each infix operator binds (OData 4.01, part 2, 5.1.1.15)."""

PREFIX_OPERATORS: dict[str | None, UnaryOperator] = {"not": "not", "minus": "-"}
"""The groups of `lexer.OPERAND` that stand before an operand."""

LOGICAL_OPERATORS: dict[str, LogicalOperator] = {"or": "or", "and": "and"}

_UNARY_OPERATORS: dict[str, UnaryOperator] = {"not": "not", "-": "-"}
_BINARY_OPERATORS: dict[str, BinaryOperator] = {
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "has": "has",
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "div": "div",
    "divby": "divby",
    "mod": "mod",
}

Pending: TypeAlias = tuple[int, str, int]
"""An operator that waits for its last operand: precedence, word, position."""


def apply_last(operands: list[Node], pending: list[Pending]) -> None:
    """Apply the last pending operator to the last operands, in place.

    A logical operator takes the whole chain of its like that is pending with it.
    """
    _, word, position = pending.pop()
    binary = _BINARY_OPERATORS.get(word)
    if binary is not None:
        right = operands.pop()
        operands[-1] = Binary(binary, operands[-1], right, position)
    elif word in LOGICAL_OPERATORS:
        count = 2
        while pending and pending[-1][1] == word:
            position = pending.pop()[2]
            count += 1
        operands[-count:] = [Logical(LOGICAL_OPERATORS[word], tuple(operands[-count:]), position)]
    else:
        operands[-1] = Unary(_UNARY_OPERATORS[word], operands[-1], position)
