"""`$search` bound to a condition that a filter can be joined with.

A term is found in a record if one of its searched properties contains it, in upper or lower case.
Python folds the case (`str.casefold`, Unicode's full case folding), here and in every database,
because databases fold differently.
"""

from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import refuse
from comptoir.plan.expressions.nodes import (
    BoundSearch,
    CombinedSearch,
    ContainsTerm,
    Junction,
    MatchesSearch,
    Slots,
)
from comptoir.plan.read import Where
from comptoir.request.expression.parser import ExpressionLimits
from comptoir.request.search import (
    SearchJunction,
    SearchNode,
    SearchNot,
    SearchTerm,
    parse_search,
)

SEARCH = "$search"

MOST_TERMS = 100

MOST_LEVELS = 10
"""The deepest nesting of AND and OR within one another."""

INDEXED_LENGTH = 3
"""The fewest code points of a folded term that an index, which has trigrams, can look up."""

_OPPOSITE = {"and": "or", "or": "and"}


def fold(*texts: str) -> str:
    """Fold texts for comparison; NUL, which neither a text nor a term contains, separates them."""
    return "\0".join(texts).casefold()


def with_search(where: Where, text: str, limits: ExpressionLimits) -> Where:
    """Narrow a condition to the records that a `$search` finds.

    Raises `Refusal` (400) for a search that is malformed or exceeds a limit.
    """
    slots = Slots(where.values)
    found = bind_search(parse_search(text, limits), slots)
    condition = found if where.condition is None else Junction("and", (where.condition, found))
    return Where(condition, tuple(slots.values), searches=True)


def bind_search(node: SearchNode, slots: Slots) -> MatchesSearch:
    """Bind a search, with its terms in the slots; raises `Refusal` (400)."""
    first = len(slots.values)
    search = _bound(node, slots)
    if len(slots.values) - first > MOST_TERMS:
        raise refuse(rows.TOO_MANY_TERMS, SEARCH, limit=MOST_TERMS)
    if _levels(search) > MOST_LEVELS:
        raise refuse(rows.NESTED_SEARCH, SEARCH, limit=MOST_LEVELS)
    return MatchesSearch(search)


def _bound(node: SearchNode, slots: Slots, *, negated: bool = False) -> BoundSearch:
    """Bind a node or its negation: NOT moves to the terms, and nested chains become one."""
    match node:
        case SearchNot():
            return _bound(node.operand, slots, negated=not negated)
        case SearchTerm():
            if "\0" in node.text:
                raise refuse(rows.NUL_IN_TERM, SEARCH)
            folded = fold(node.text)
            return ContainsTerm(slots.add(folded), len(folded) >= INDEXED_LENGTH, negated)
        case SearchJunction():
            operator = _OPPOSITE[node.operator] if negated else node.operator
            operands: list[BoundSearch] = []
            for each in node.operands:
                bound = _bound(each, slots, negated=negated)
                if isinstance(bound, CombinedSearch) and bound.operator == operator:
                    operands += bound.operands
                else:
                    operands.append(bound)
            return CombinedSearch(operator, tuple(operands))


def _levels(search: BoundSearch) -> int:
    if isinstance(search, ContainsTerm):
        return 0
    return 1 + max(map(_levels, search.operands))
