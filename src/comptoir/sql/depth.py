"""How deep an expression may be: what is deeper is cut into stages.

Databases and SQLAlchemy's compiler recurse over expressions: SQLite's parser gives up when some
hundred of its words are open at a time. So what is too deep is computed below, as a column of a
common table expression, and that in turn over another where need be.
"""

from collections.abc import Sequence

from comptoir.plan.expressions.nodes import (
    Choice,
    Comparison,
    CountOf,
    Exists,
    Function,
    IsNull,
    Junction,
    Not,
    OneOf,
    Related,
    Value,
    parts,
)

DEPTH = 50
"""How many words of SQL may be open at a time in an expression over the records asked about."""

_WORDS: dict[type, int] = {
    Junction: 3,
    Comparison: 4,
    Not: 2,
    IsNull: 3,
    Function: 6,
    Choice: 8,
    OneOf: 6,
    Exists: 13,
    CountOf: 10,
    Related: 10,
}
"""How many words a node leaves open around what is in it."""

_LEAST = 12


def within(depth: int) -> int:
    """The depth for expressions over related records, within one of the given depth."""
    return max(depth - _WORDS[Exists], _LEAST)


class Cuts:
    """Where expressions are cut: `stages` holds the nodes that each stage computes, in order."""

    def __init__(self, nodes: Sequence[Value], depth: int) -> None:
        self.stages: list[list[Value]] = []
        self._depth = depth
        self._known: dict[int, tuple[int, int]] = {}
        self.open = max((self._measure(node)[0] for node in nodes), default=0)
        """How many words the nodes leave open, once cut."""

    def _measure(self, node: Value) -> tuple[int, int]:
        """How many words a node leaves open, and how many stages it stands over."""
        known = self._known.get(id(node))
        if known is not None:
            return known
        words = _WORDS.get(type(node), 1)
        below = [(child, *self._measure(child)) for child in parts(node)]
        stage = max((each for _, _, each in below), default=0)
        deepest = 0
        for child, depth, over in below:
            if words + depth > self._depth and depth > 1:
                self._cut(child, over)
                stage = max(stage, over + 1)
            else:
                deepest = max(deepest, depth)
        measured = words + max(deepest, _inner(node, self._depth)), stage
        self._known[id(node)] = measured
        return measured

    def _cut(self, node: Value, stage: int) -> None:
        while len(self.stages) <= stage:
            self.stages.append([])
        if not any(each is node for each in self.stages[stage]):
            self.stages[stage].append(node)


def _inner(node: Value, depth: int) -> int:
    """How many words are open at most within a node that asks about related records."""
    held = node.condition if isinstance(node, Exists) else None
    if isinstance(node, Related):
        held = node.value
    if held is None:
        return 1
    return Cuts([held], within(depth)).open
