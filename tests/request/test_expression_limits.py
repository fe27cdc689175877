"""No text exhausts the stack or the time of the parser and of readers of its trees."""

from collections.abc import Callable

import pytest

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import INVALID_URL
from comptoir.request.apply import parse_apply
from comptoir.request.expression.parser import (
    DEFAULT_LIMITS,
    ExpressionLimits,
    parse_compute,
    parse_expression,
    parse_orderby,
)
from comptoir.request.expression.tree import In, Logical, Node, walk
from comptoir.request.fields import ExpandLimits, parse_expand
from comptoir.request.search import SearchJunction, parse_search
from support.together import together

GUID = "5d115c9c-44e3-ea11-bb43-000d3a2feca1"
URL_BYTES = 16 * 1024
NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda depth: "(" * depth + "a" + ")" * depth,
    "calls": lambda depth: "f(" * depth + "a" + ")" * depth,
    "negations": lambda depth: "not (" * depth + "a" + ")" * depth,
    "right operands": lambda depth: "a or (" * depth + "b" + ")" * depth,
    "negated chains": lambda depth: "not (a and " * depth + "b" + ")" * depth,
    "lambdas": lambda depth: "a/any(b:" * depth + "b" + ")" * depth,
    "cases": lambda depth: "case(a:" * depth + "b" + ")" * depth,
    "lists": lambda depth: "a in (" * depth + "b" + ")" * depth,
    "arrays": lambda depth: "[" * depth + "a" + "]" * depth,
}


def deeper(frames: int, action: Callable[[], Node]) -> Node:
    return deeper(frames - 1, action) if frames else action()


@together("form", NESTED)
def test_a_hundred_levels_are_read_on_a_deep_stack(form: str) -> None:
    text = NESTED[form](100)
    tree, again = (deeper(150, lambda: parse_expression(text)) for _ in range(2))
    assert tree == again
    assert hash(tree) == hash(again)
    assert max(level for _, level in walk(tree)) <= DEFAULT_LIMITS.height


@together("form", NESTED)
def test_one_level_more_is_refused(form: str) -> None:
    with pytest.raises(Refusal, match="exceeds the limit of 100 levels of nesting") as caught:
        parse_expression(NESTED[form](101))
    assert caught.value.error is INVALID_URL


def test_a_level_counts_only_while_it_is_open() -> None:
    text = " or ".join(["(f([a]) in (b) and c/any(d:case(d:1)) and c/any() and g())"] * 50)
    assert isinstance(parse_expression(text, ExpressionLimits(depth=4)), Logical)


def test_a_long_chain_is_one_level() -> None:
    chain = " or ".join([f"id eq {GUID}"] * 300)
    tree = parse_expression(chain, ExpressionLimits(depth=1))
    assert isinstance(tree, Logical)
    assert len(tree.operands) == 300
    assert [level for _, level in walk(tree)].count(2) == 300


def test_a_list_is_one_node() -> None:
    numbers = ",".join(map(str, range(1000)))
    tree = parse_expression(f"a in ({numbers})", ExpressionLimits(nodes=2))
    assert isinstance(tree, In)
    assert len(tree.items) == 1000
    with pytest.raises(Refusal, match="list exceeds the limit of 1000 members at column 6"):
        parse_expression(f"a in ({numbers},1)")
    with pytest.raises(Refusal, match="list exceeds the limit of 2 members at column 1"):
        parse_expression("[1,2,3]", ExpressionLimits(in_list=2))


NODES = {
    "a": 1,
    "a eq 1": 3,
    "a and b and c": 4,
    "a or b and c": 5,
    "a eq 1 or b eq 2": 7,
    "- -a": 3,
    "not (f(a,b))": 4,
    "a in (1,'x') and b": 4,
    "a in (b,1)": 3,
    "a in b": 3,
    "a/any(b:b)": 3,
    "a/any()": 2,
    "case(a:1,b:2)": 5,
    "[1,b]": 2,
}


@together(
    ("parse", "text", "nodes"),
    [
        *((parse_expression, text, nodes) for text, nodes in NODES.items()),
        (parse_orderby, "a,b desc,c", 3),
        (parse_compute, "a as b,c as d,e as f", 3),
        (parse_apply, "filter(a eq 1)/compute(b as c)", 4),
        (parse_apply, "/".join(["identity"] * 4), 4),
        (parse_search, " OR ".join(["a"] * 300), 301),
    ],
)
def test_nodes_are_counted_exactly(
    parse: Callable[[str, ExpressionLimits], object], text: str, nodes: int
) -> None:
    assert parse(text, ExpressionLimits(nodes=nodes)) == parse(text, ExpressionLimits())
    with pytest.raises(Refusal, match=f"exceeds the limit of {nodes - 1} parts"):
        parse(text, ExpressionLimits(nodes=nodes - 1))


@together(
    "form", ["a{ add 1}", "{not }a", "{- }a", "a{ eq b}", "a{ has b}", "a{ in (b)}", "a{ in b}"]
)
def test_the_height_of_operators_without_parentheses_is_limited(form: str) -> None:
    before, piece, after = form.replace("}", "{").split("{")
    limits = ExpressionLimits(depth=10)
    tree = parse_expression(before + piece * 21 + after, limits)
    assert max(level for _, level in walk(tree)) == limits.height
    with pytest.raises(Refusal, match="exceeds the limit of 22 levels"):
        parse_expression(before + piece * 22 + after, limits)


# One piece a word; `_` stands for a blank.
PIECES = r"""
    ( ) f( not( - [ { ' '' " \" [" a' a, a_in_( case(a: a/any(b: a/ a. @ $ : 1 1. 1e 1- a- 0001- é
    _ a_ -_ not_ a_and_ a_or_( a_add_ a_eq_ 1_in_ (_ ,_ Ns.A'b duration'P binary' 2024-01-01T
"""


@together("piece", [piece.replace("_", " ") for piece in PIECES.split()])
def test_a_long_text_is_refused_quickly(piece: str) -> None:
    text = (piece * URL_BYTES)[:URL_BYTES]
    for head in ("", "a eq ", "f("):
        with pytest.raises(Refusal) as caught:
            parse_expression(head + text + " #")
        assert len(caught.value.message) < 300


def test_groups_nest_as_deep_as_the_limit() -> None:
    limits = ExpressionLimits(depth=5)
    assert parse_apply("groupby((a)," * 5 + "identity" + ")" * 5, limits)
    for depth in (6, 1300):
        with pytest.raises(Refusal, match="exceeds the limit of 5 levels"):
            parse_apply("groupby((a)," * depth + "identity" + ")" * depth, limits)
    deepest = "groupby((a)," * 100 + "identity" + ")" * 100
    assert parse_apply(deepest)


def test_a_chain_of_searches_is_one_level() -> None:
    tree = parse_search(" OR ".join(["a"] * 300), ExpressionLimits(depth=0))
    assert isinstance(tree, SearchJunction)
    assert len(tree.operands) == 300


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


def test_expansions_nest_as_deep_as_the_limit() -> None:
    limits = ExpandLimits(depth=3)
    assert parse_expand("a($expand=" * 2 + "a" + ")" * 2, limits)
    for depth in (3, 1600):
        with pytest.raises(Refusal, match="exceeds the limit of 3 levels") as caught:
            parse_expand("a($expand=" * depth + "a" + ")" * depth, limits)
        assert "column 31" in caught.value.message


def test_nested_items_count_among_all_items() -> None:
    text = "a($expand=b,c),d"
    assert parse_expand(text, ExpandLimits(items=4))
    with pytest.raises(Refusal, match="exceeds the limit of 3 items") as caught:
        parse_expand(text, ExpandLimits(items=3))
    assert "column 16" in caught.value.message
