"""`$search`: words and phrases, and how they are joined."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.errors.refusal import Refusal
from comptoir.request.expression.parser import ExpressionLimits
from comptoir.request.search import SearchJunction, parse_search
from support.effort import examples
from support.syntax import is_read_or_refused
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


PIECES = ["a", "AND", "OR", "NOT", "(", ")", '"', "\\", " ", " ", ";", "'", "é", '"b c"', "\t"]


@settings(max_examples=examples(400))
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=14).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    is_read_or_refused(parse_search, text, "$search")
