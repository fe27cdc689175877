"""`$compute` (OData URL Conventions 4.01, section 5.1.4): expressions, each with a name."""

import re
from collections.abc import Iterable

from comptoir.request.expression import (
    DEFAULT_LIMITS,
    ExpressionLimits,
    ExpressionParser,
    Node,
    Syntax,
    faults,
    print_expression,
)
from comptoir.request.expression.lexer import DELIMITER, after_blanks

COMPUTE = "$compute"

_AS = re.compile(r"[ \t]+(?ai:as)[ \t]+")
_NAME = re.compile(r"[^\W\d]\w*")
_LONGEST_NAME = 128

_EXAMPLE = "Write for example `unitPrice mul quantity as amount`."


class ComputeItem(Syntax, frozen=True):
    """One computed property: its value and its name."""

    expression: Node
    alias: str
    position: int = 0


def parse_compute(
    text: str, limits: ExpressionLimits = DEFAULT_LIMITS, option: str = COMPUTE
) -> tuple[ComputeItem, ...]:
    """The items of `text`, which is percent-decoded already; at least one, no alias twice.

    `limits` hold for all items together. Raises `Refusal` as `parse_expression` does.
    """
    if not text.strip(" \t"):
        raise faults.misused(0, f"there is no expression. {_EXAMPLE}", option)
    parser = ExpressionParser(text, limits, option)
    items = compute_items(parser, option)
    if after_blanks(text, parser.position) != len(text):
        raise faults.misplaced(text, parser.position, "`,` and another item", _EXAMPLE, option)
    return items


def compute_items(parser: ExpressionParser, option: str) -> tuple[ComputeItem, ...]:
    """The items at the parser's position, read as far as they go."""
    items: dict[str, ComputeItem] = {}
    while True:
        start = parser.position
        expression = parser.expression()
        alias = read_alias(parser, items, option, _EXAMPLE)
        items[alias] = ComputeItem(expression, alias, start)
        comma = DELIMITER.match(parser.text, parser.position)
        if comma is None or comma[1][0] != ",":
            return tuple(items.values())
        parser.position = comma.end()


def read_alias(parser: ExpressionParser, taken: Iterable[str], option: str, example: str) -> str:
    """Step over ` as alias` at the parser's position; `Refusal` for none, or one that is taken."""
    text = parser.text
    behind = _AS.match(text, parser.position)
    if behind is None:
        expected = "an operator or ` as ` and a name"
        raise faults.misplaced(text, parser.position, expected, example, option)
    start = behind.end()
    found = _NAME.match(text, start)
    if found is None:
        raise faults.misplaced(text, start, "a name", example, option)
    alias = found[0]
    if alias in taken:
        message = f"the name {alias[:60]} is given twice. Give each item a name of its own."
        raise faults.misused(start, message, option)
    if len(alias) > _LONGEST_NAME:
        message = f"the name {alias[:20]}… has more than {_LONGEST_NAME} characters. Shorten it."
        raise faults.misused(start, message, option)
    parser.position = found.end()
    return alias


def print_compute(items: Iterable[ComputeItem]) -> str:
    """The canonical text of `items`, as `parse_compute` reads it."""
    return ",".join([f"{print_expression(item.expression)} as {item.alias}" for item in items])
