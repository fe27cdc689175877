"""The nodes of an expression, before they are bound to a model.

Nodes are immutable. `position` is the offset in the text of an operation's operator,
or of the first character of another node.
"""

from collections.abc import Iterable, Iterator
from typing import Literal as OneOf
from typing import TypeAlias, cast

import msgspec

LiteralType: TypeAlias = OneOf[
    "null", "boolean", "integer", "decimal", "double", "string", "guid", "date", "datetimeoffset",
    "timeofday", "duration", "binary", "enum",
]  # fmt: skip
BinaryOperator: TypeAlias = OneOf[
    "eq", "ne", "lt", "le", "gt", "ge", "has", "add", "sub", "mul", "div", "divby", "mod"
]
LogicalOperator: TypeAlias = OneOf["and", "or"]
UnaryOperator: TypeAlias = OneOf["not", "-"]
LambdaOperator: TypeAlias = OneOf["any", "all"]


class Syntax(msgspec.Struct, frozen=True, gc=False):
    """Base of all nodes, whose last field is their position."""


class Literal(Syntax, frozen=True):
    """A value in the text, with the type that its form shows.

    `text` of a string is unquoted (`O''Neil` is O'Neil), that of a duration or a binary has neither
    prefix nor quotes (`P1D`), that of an enumeration member is the whole literal
    (`Ns.Color'Red'`). A positive number has no sign, and letters that may be written in either case
    (`true`, the `T` and `Z` of a date-time) are as the standard prints them.
    """

    type: LiteralType
    text: str
    position: int = 0


class Path(Syntax, frozen=True):
    """A path to a value: property, type (with dots) and `$count` segments, in their order.

    The first segment may be `$it`, `$this`, `$root`, or the variable of a lambda around it.
    """

    segments: tuple[str, ...]
    position: int = 0


class Parameter(Syntax, frozen=True):
    """A parameter alias, by its name without the `@`."""

    name: str
    position: int = 0


class Call(Syntax, frozen=True):
    """A call of a function, by its name in lower case."""

    name: str
    arguments: tuple["Node", ...]
    position: int = 0


class Unary(Syntax, frozen=True):
    """A logical or arithmetic negation. A negative number is a `Literal` instead."""

    operator: UnaryOperator
    operand: "Node"
    position: int = 0


class Binary(Syntax, frozen=True):
    """A comparison or an arithmetic operation; chains are left-associative."""

    operator: BinaryOperator
    left: "Node"
    right: "Node"
    position: int = 0


class Logical(Syntax, frozen=True):
    """A chain of two or more conditions joined by the same operator."""

    operator: LogicalOperator
    operands: tuple["Node", ...]
    position: int = 0


class In(Syntax, frozen=True):
    """A test against a list of any number of members: `code in ('A','B')`."""

    left: "Node"
    items: tuple["Node", ...]
    position: int = 0


class InCollection(Syntax, frozen=True):
    """A test against a collection: a path, a parameter, a call or a literal."""

    left: "Node"
    collection: "Node"
    position: int = 0


class Lambda(Syntax, frozen=True):
    """`items/any(d:d/x eq 1)`; only `any()` has neither `variable` nor `predicate`."""

    path: Path
    operator: LambdaOperator
    variable: str | None = None
    predicate: "Node | None" = None
    position: int = 0


class Case(Syntax, frozen=True):
    """`case(condition:value,...)`: the value of the first condition that holds."""

    branches: tuple[tuple["Node", "Node"], ...]
    position: int = 0


class Collection(Syntax, frozen=True):
    """A collection literal: `["A","B"]`, with any expression as an item."""

    items: tuple["Node", ...]
    position: int = 0


class OrderItem(Syntax, frozen=True):
    """One item of `$orderby`."""

    expression: "Node"
    descending: bool = False
    position: int = 0


class ComputeItem(Syntax, frozen=True):
    """One item of `$compute`: an expression, and the name of its value, whose offset it has."""

    expression: "Node"
    alias: str
    position: int = 0


Node: TypeAlias = (
    Literal
    | Path
    | Parameter
    | Call
    | Unary
    | Binary
    | Logical
    | In
    | InCollection
    | Lambda
    | Case
    | Collection
)


def children(node: Node) -> tuple[Node, ...]:
    """The child nodes, in the order of the text."""
    return tuple(_nodes_in(msgspec.structs.astuple(node)))


def _nodes_in(values: Iterable[object]) -> Iterator[Node]:
    for value in values:
        if isinstance(value, Syntax):
            yield cast("Node", value)
        elif isinstance(value, tuple):
            yield from _nodes_in(value)


def walk(node: Node) -> Iterator[tuple[Node, int]]:
    """Every node of the tree with its level (the root's is 1), without recursion."""
    pending = [(node, 1)]
    while pending:
        current, level = pending.pop()
        yield current, level
        pending.extend((child, level + 1) for child in children(current))
