"""`$search`: words and phrases, and how they are joined."""

import pytest

from comptoir.errors.refusal import Refusal
from comptoir.request.expression.parser import ExpressionLimits
from comptoir.request.search import SearchJunction, parse_search
from support.together import together


def test_a_chain_is_one_node_however_long() -> None:
    text = " OR ".join(["a"] * 300)
    tree = parse_search(text, ExpressionLimits(nodes=301, depth=0))
    assert isinstance(tree, SearchJunction)
    assert len(tree.operands) == 300
    with pytest.raises(Refusal, match="exceeds the limit of 300 parts"):
        parse_search(text, ExpressionLimits(nodes=300))


@together("opening", ["(", "NOT ", "a (", "a OR NOT ("])
def test_a_search_nests_as_deep_as_the_limit(opening: str) -> None:
    levels = opening.count("(") + opening.count("NOT")
    limits = ExpressionLimits(depth=20)
    for depth, is_read in ((20 // levels, True), (20 // levels + 1, False), (8000, False)):
        text = opening * depth + "b" + ")" * depth * opening.count("(")
        if is_read:
            assert parse_search(text, limits) == parse_search(text)
        else:
            with pytest.raises(Refusal, match="exceeds the limit of 20 levels"):
                parse_search(text, limits)
