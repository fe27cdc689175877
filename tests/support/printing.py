"""Prints syntax trees as canonical texts, which parse to the same trees."""

import re
from collections.abc import Iterable

from comptoir.request.apply import (
    Aggregate,
    AggregateInto,
    ComputeAlso,
    FilterBy,
    GroupBy,
    Identity,
    OrderBy,
    SearchFor,
    Skip,
    Top,
    Transformation,
)
from comptoir.request.expression.lexer import OPERATOR_WORD
from comptoir.request.expression.parser import (
    PRECEDENCE,
    PRIMARY_PRECEDENCE,
    UNARY_PRECEDENCE,
)
from comptoir.request.expression.tree import (
    Binary,
    Call,
    Case,
    Collection,
    ComputeItem,
    In,
    InCollection,
    Lambda,
    Literal,
    Logical,
    Node,
    OrderItem,
    Parameter,
    Path,
    Unary,
)
from comptoir.request.search import SearchJunction, SearchNode, SearchNot, SearchTerm

_ENDS_IN_NOT = re.compile(r"(?:^|[ (-])not\Z", re.IGNORECASE | re.ASCII)
_SEARCH_WORD = re.compile(r"(?!(?:AND|OR|NOT)\Z)[^\s()\"'\0;][^\s()\"\0;]*")


def print_orderby(items: Iterable[OrderItem]) -> str:
    return ",".join([_print_order_item(item) for item in items])


def _print_order_item(item: OrderItem) -> str:
    text = print_expression(item.expression)
    if not item.descending:
        return text
    # of a property named `not`, `not desc` would be the negation of a property named `desc`
    return f"({text}) desc" if _ENDS_IN_NOT.search(text) else f"{text} desc"


def print_compute(items: Iterable[ComputeItem]) -> str:
    return ",".join([f"{print_expression(item.expression)} as {item.alias}" for item in items])


def print_search(node: SearchNode) -> str:
    """The text of a search, with AND written, and phrases quoted only if necessary."""
    match node:
        case SearchTerm():
            if _SEARCH_WORD.fullmatch(node.text):
                return node.text
            escaped = node.text.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case SearchNot():
            inner = print_search(node.operand)
            return f"NOT ({inner})" if isinstance(node.operand, SearchJunction) else f"NOT {inner}"
        case SearchJunction():
            parts = [
                f"({print_search(each)})"
                if isinstance(each, SearchJunction)
                and (node.operator, each.operator) != ("or", "and")
                else print_search(each)
                for each in node.operands
            ]
            return f" {node.operator.upper()} ".join(parts)


def print_apply(transformations: Iterable[Transformation]) -> str:
    return "/".join([_print_transformation(each) for each in transformations])


def _print_transformation(node: Transformation) -> str:
    match node:
        case FilterBy():
            text = f"filter({print_expression(node.condition)})"
        case SearchFor():
            text = f"search({print_search(node.search)})"
        case AggregateInto():
            text = f"aggregate({','.join([_print_aggregate(each) for each in node.items])})"
        case GroupBy():
            paths = ",".join([print_expression(path) for path in node.paths])
            inner = print_apply(node.transformations)
            text = f"groupby(({paths}),{inner})" if inner else f"groupby(({paths}))"
        case ComputeAlso():
            text = f"compute({print_compute(node.items)})"
        case OrderBy():
            text = f"orderby({print_orderby(node.items)})"
        case Top():
            text = f"top({node.count})"
        case Skip():
            text = f"skip({node.count})"
        case Identity():
            text = "identity"
    return text


def _print_aggregate(item: Aggregate) -> str:
    if item.expression is None:
        return f"$count as {item.alias}"
    return f"{print_expression(item.expression)} with {item.method} as {item.alias}"


_OPERAND_PRECEDENCE = PRIMARY_PRECEDENCE + 1

# a sign before these would become part of a number
_UNSIGNED = re.compile(r"[0-9]|INF(?!\w)")


def print_expression(node: Node) -> str:
    """The canonical text of `node`, not percent-encoded, with as few parentheses as possible.

    A tree that no text means (an empty list, a path named `null`) has a text of another meaning.
    """
    return _print(node, 0)


def _print(node: Node, least: int) -> str:
    """The text of `node`, in parentheses if it binds less tightly than `least`."""
    match node:
        case Literal():
            return _print_literal(node)
        case Path():
            return "/".join(node.segments)
        case Parameter():
            return f"@{node.name}"
        case Call():
            return f"{node.name}({_print_all(node.arguments)})"
        case Collection():
            return f"[{_print_all(node.items)}]"
        case Lambda():
            return _print_lambda(node)
        case Case():
            # without the blank, `12:30` would be a time of day
            branches = [
                f"{_print(condition, 0)}: {_print(value, 0)}" for condition, value in node.branches
            ]
            return f"case({','.join(branches)})"
        case Unary():
            precedence = UNARY_PRECEDENCE
            text = _print_unary(node)
        case Binary():
            precedence = PRECEDENCE[node.operator]
            left, right = _print(node.left, precedence), _print(node.right, precedence + 1)
            text = f"{left} {node.operator} {right}"
        case Logical():
            precedence = PRECEDENCE[node.operator]
            operands = [_print(operand, precedence + 1) for operand in node.operands]
            text = f" {node.operator} ".join(operands)
        case In():
            precedence = PRIMARY_PRECEDENCE
            text = f"{_print(node.left, precedence)} in ({_print_all(node.items)})"
        case InCollection():
            precedence = PRIMARY_PRECEDENCE
            collection = _print(node.collection, _OPERAND_PRECEDENCE)
            text = f"{_print(node.left, precedence)} in {collection}"
    return text if precedence >= least else f"({text})"


def _print_all(nodes: tuple[Node, ...]) -> str:
    return ",".join([_print(node, 0) for node in nodes])


def _print_literal(node: Literal) -> str:
    if node.type == "string":
        return "'" + node.text.replace("'", "''") + "'"
    if node.type in ("duration", "binary"):
        return f"{node.type}'{node.text}'"
    return node.text


def _print_lambda(node: Lambda) -> str:
    path = _print(node.path, 0)
    if node.predicate is None:
        return f"{path}/{node.operator}()"
    return f"{path}/{node.operator}({node.variable}:{_print(node.predicate, 0)})"


def _print_unary(node: Unary) -> str:
    operand = _print(node.operand, UNARY_PRECEDENCE)
    if node.operator == "-":
        return f"-({operand})" if _UNSIGNED.match(operand) else f"-{operand}"
    word = OPERATOR_WORD.match(operand)
    # `not eq` would compare a property named `not`
    if word is not None and operand[word.end() : word.end() + 1] in ("", " "):
        return f"not ({operand})"
    return f"not {operand}"
