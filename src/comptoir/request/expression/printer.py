"""Tree to text: the inverse of the parser, `parse_expression(print_expression(tree)) == tree`."""

import re

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
    In,
    InCollection,
    Lambda,
    Literal,
    Logical,
    Node,
    Parameter,
    Path,
    Unary,
)

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
