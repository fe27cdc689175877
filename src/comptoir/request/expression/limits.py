"""How much an expression may ask for, so that no text makes the service work without end."""

import msgspec


class ExpressionLimits(msgspec.Struct, frozen=True):
    """The bounds of one expression.

    `nodes` counts the nodes of the tree, where the literals of a list are part of the list's node;
    `depth` counts the parentheses, calls and lists that are open at one place, while a chain of
    `and` or `or` stays on its level however long it is; `in_list` counts the members of one list.
    """

    nodes: int = 2500
    depth: int = 100
    in_list: int = 1000

    @property
    def height(self) -> int:
        """The tallest tree that is accepted, in nodes from the root to the deepest leaf.

        Operators stand above each other without parentheses too (`1 add 1 add 1`, `- - -1`). Two
        for each level of `depth`, with a comparison of two values below them, leave room for every
        expression that a person writes, and keep recursion over a tree safe for all who read it.
        """
        return 2 * self.depth + 2
