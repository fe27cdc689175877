"""Expressions of OData 4.01 (`$filter`, `$orderby` and what is like them): text to tree and back.

Here is syntax only. Which names exist, and which types go together, is for whoever binds the tree
to a model.
"""

from comptoir.request.expression.limits import ExpressionLimits
from comptoir.request.expression.ordering import order_items, parse_orderby
from comptoir.request.expression.parser import DEFAULT_LIMITS, ExpressionParser, parse_expression
from comptoir.request.expression.printer import print_expression, print_orderby
from comptoir.request.expression.tree import (
    Binary,
    BinaryOperator,
    Call,
    Case,
    Collection,
    In,
    InCollection,
    Lambda,
    LambdaOperator,
    Literal,
    LiteralKind,
    Logical,
    LogicalOperator,
    Node,
    OrderItem,
    Parameter,
    Path,
    Syntax,
    Unary,
    UnaryOperator,
    children,
    walk,
)

__all__ = [
    "DEFAULT_LIMITS",
    "Binary",
    "BinaryOperator",
    "Call",
    "Case",
    "Collection",
    "ExpressionLimits",
    "ExpressionParser",
    "In",
    "InCollection",
    "Lambda",
    "LambdaOperator",
    "Literal",
    "LiteralKind",
    "Logical",
    "LogicalOperator",
    "Node",
    "OrderItem",
    "Parameter",
    "Path",
    "Syntax",
    "Unary",
    "UnaryOperator",
    "children",
    "order_items",
    "parse_expression",
    "parse_orderby",
    "print_expression",
    "print_orderby",
    "walk",
]
