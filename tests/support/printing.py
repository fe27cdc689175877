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
from comptoir.request.expression.printer import print_expression
from comptoir.request.expression.tree import ComputeItem, OrderItem
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
