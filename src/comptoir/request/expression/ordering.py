"""`$orderby` (OData 4.01, part 2, 5.1.5): expressions, each up or down."""

from comptoir.request.expression import faults
from comptoir.request.expression.lexer import DELIMITER, DIRECTION, after_blanks
from comptoir.request.expression.limits import ExpressionLimits
from comptoir.request.expression.parser import DEFAULT_LIMITS, ExpressionParser
from comptoir.request.expression.tree import OrderItem


def parse_orderby(
    text: str, limits: ExpressionLimits = DEFAULT_LIMITS, option: str = "$orderby"
) -> tuple[OrderItem, ...]:
    """The items of `text`, the value of `$orderby`, at least one.

    `limits` hold for all items together. Raises as `parse_expression` does.
    """
    parser = ExpressionParser(text, limits, option)
    items = order_items(parser)
    if after_blanks(text, parser.position) != len(text):
        raise faults.no_order(text, parser.position, option)
    return items


def order_items(parser: ExpressionParser) -> tuple[OrderItem, ...]:
    """The items at the parser's position, read as far as they go."""
    items: list[OrderItem] = []
    while True:
        start = parser.position
        expression = parser.expression()
        direction = DIRECTION.match(parser.text, parser.position)
        if direction is not None:
            parser.position = direction.end()
        descending = direction is not None and direction[1].lower() == "desc"
        items.append(OrderItem(expression, descending, start))
        comma = DELIMITER.match(parser.text, parser.position)
        if comma is None or comma[1][0] != ",":
            return tuple(items)
        parser.position = comma.end()
