"""`$search` bound to a kind: terms folded, and a condition that a filter's is joined with.

A term is found in a record when one of the properties that searches look in contains it, whatever
the case of either. Case is folded by Python (`str.casefold`, Unicode's full case folding), here and
in every store, since databases fold differently.
"""

from comptoir.errors import INVALID_URL, Refusal
from comptoir.plan.expressions.nodes import (
    BoundSearch,
    CombinedSearch,
    ContainsTerm,
    Junction,
    MatchesSearch,
    Slots,
)
from comptoir.plan.read import Where
from comptoir.request.expression import ExpressionLimits
from comptoir.request.search import (
    SearchJunction,
    SearchNode,
    SearchNot,
    SearchTerm,
    parse_search,
)

SEARCH = "$search"

TERMS = 100
"""The most terms of a search."""

LEVELS = 10
"""How often AND and OR may alternate within one another."""

INDEXED_LENGTH = 3
"""From how many code points on a folded term can be looked up: indexes are made of trigrams."""

_OPPOSITE = {"and": "or", "or": "and"}


def fold(*texts: str) -> str:
    """Texts as searches compare them: folded, and parted by what no text and no term holds."""
    return "\0".join(texts).casefold()


def searched(where: Where, text: str, limits: ExpressionLimits) -> Where:
    """The records of a condition that a `$search` finds as well.

    Raises `Refusal` (400) for a search that is malformed or asks for too much.
    """
    slots = Slots(where.values)
    found = bind_search(parse_search(text, limits), slots)
    condition = found if where.condition is None else Junction("and", (where.condition, found))
    return Where(condition, tuple(slots.values), searches=True)


def bind_search(node: SearchNode, slots: Slots) -> MatchesSearch:
    """The condition that a search means, its terms among the slots; raises `Refusal` (400)."""
    sought = _Binder(slots).bound(node, negated=False)
    if _levels(sought) > LEVELS:
        raise _refused(f"alternates AND and OR more than {LEVELS} levels deep. Simplify it.")
    return MatchesSearch(sought)


class _Binder:
    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._terms = 0

    def bound(self, node: SearchNode, *, negated: bool) -> BoundSearch:
        """A node, or its negation: NOT is moved to the terms, and chains within chains are one."""
        match node:
            case SearchNot():
                return self.bound(node.operand, negated=not negated)
            case SearchTerm():
                return self._found(node, negated=negated)
            case SearchJunction():
                return self._combined(node, negated=negated)

    def _found(self, node: SearchTerm, *, negated: bool) -> ContainsTerm:
        self._terms += 1
        if self._terms > TERMS:
            raise _refused(f"holds more than {TERMS} terms. Search for fewer.")
        if "\0" in node.text:
            raise _refused("holds a NUL character, which no text does. Leave it out.")
        folded = fold(node.text)
        return ContainsTerm(self._slots.add(folded), len(folded) >= INDEXED_LENGTH, negated)

    def _combined(self, node: SearchJunction, *, negated: bool) -> CombinedSearch:
        operator = _OPPOSITE[node.operator] if negated else node.operator
        operands: list[BoundSearch] = []
        for each in node.operands:
            bound = self.bound(each, negated=negated)
            if isinstance(bound, CombinedSearch) and bound.operator == operator:
                operands += bound.operands
            else:
                operands.append(bound)
        return CombinedSearch(operator, tuple(operands))


def _levels(sought: BoundSearch) -> int:
    if isinstance(sought, ContainsTerm):
        return 0
    return 1 + max(map(_levels, sought.operands))


def _refused(message: str) -> Refusal:
    return Refusal(INVALID_URL, f"{SEARCH} {message}", target=SEARCH)
