"""`$search`: words and phrases, and how they are joined."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.errors import Refusal
from comptoir.request.expression.parser import ExpressionLimits
from comptoir.request.search import (
    SearchJunction,
    SearchNode,
    SearchNot,
    SearchTerm,
    parse_search,
)
from support.effort import examples
from support.printing import print_search
from support.syntax import malformed, reads_back

A, B, C, D = (SearchTerm(word) for word in "abcd")
AND, OR, NOT = (SearchTerm(word) for word in ("AND", "OR", "NOT"))


def all_of(*operands: SearchNode) -> SearchNode:
    return SearchJunction("and", operands)


def any_of(*operands: SearchNode) -> SearchNode:
    return SearchJunction("or", operands)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("  a\t", A),
        ("a b", all_of(A, B)),
        ("a AND b", all_of(A, B)),
        ("a b AND c d", all_of(A, B, C, D)),
        ("a OR b OR c", any_of(A, B, C)),
        ("a b OR c AND d", any_of(all_of(A, B), all_of(C, D))),
        ("a (b OR c)", all_of(A, any_of(B, C))),
        ("( ( a ) )", A),
        ("NOT a", SearchNot(A)),
        ("a NOT b", all_of(A, SearchNot(B))),
        ("NOT a OR b", any_of(SearchNot(A), B)),
        ("NOT (a OR b)", SearchNot(any_of(A, B))),
        ("NOT NOT a", SearchNot(SearchNot(A))),
        ('"a b"', SearchTerm("a b")),
        (r'"a \"b\" \\ c\d"', SearchTerm(r'a "b" \ c\d')),
        ('"AND"', SearchTerm("AND")),
        # an operator is one between, or before, what it applies to, and a word elsewhere
        ("AND", AND),
        ("OR", OR),
        ("NOT", NOT),
        (" NOT ", NOT),
        ("(AND)", AND),
        ("NOT NOT", SearchNot(NOT)),
        ("NOT AND", SearchNot(AND)),
        ("NOT OR a", all_of(SearchNot(OR), A)),
        ("AND OR", all_of(AND, OR)),
        ("OR AND", all_of(OR, AND)),
        ("AND OR NOT", any_of(AND, NOT)),
        ("AND a", all_of(AND, A)),
        ("OR a", all_of(OR, A)),
        ("a OR", all_of(A, OR)),
        ("a AND ", all_of(A, AND)),
        ("a NOT", all_of(A, NOT)),
        ("(a OR) b", all_of(all_of(A, OR), B)),
        ("a AND OR b", all_of(A, OR, B)),
        ("a OR OR b", any_of(A, all_of(OR, B))),
        ("a OR AND AND b", any_of(A, all_of(AND, B))),
        ("a;b", SearchTerm("a;b")),
        (";", SearchTerm(";")),
        ('" a;(b) "', SearchTerm(" a;(b) ")),
        ("and or not", all_of(SearchTerm("and"), SearchTerm("or"), SearchTerm("not"))),
        ("ANDY ORB", all_of(SearchTerm("ANDY"), SearchTerm("ORB"))),
        ("O'Neil a-b,c.d@e/f", all_of(SearchTerm("O'Neil"), SearchTerm("a-b,c.d@e/f"))),
        ("椅子\u3000机", all_of(SearchTerm("椅子"), SearchTerm("机"))),
    ],
)
def test_a_search_is_read(text: str, tree: SearchNode) -> None:
    assert parse_search(text) == tree


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("  ", 1),
        ("a AND(b)", 6),
        ("NOT(a)", 4),
        ("a AND )", 7),
        ('a AND "b', 7),
        ("(a", 3),
        ("a)", 2),
        ("()", 2),
        ("(a)(b)", 4),
        ('a"b"', 2),
        ('"a', 1),
        ('""', 1),
        ('" "', 1),
        ("'a'", 1),
        ("a\0b", 2),
        ('"a\0"', 3),
    ],
)
def test_a_malformed_search_is_refused_with_its_column(text: str, column: int) -> None:
    malformed(parse_search, text, "$search", column)


def test_positions_are_those_of_the_tokens() -> None:
    tree = parse_search('a  NOT "b" d OR c OR e')
    assert isinstance(tree, SearchJunction)
    inner, last, _ = tree.operands
    assert isinstance(inner, SearchJunction)
    assert (tree.position, inner.position, last.position) == (13, 3, 16)
    assert [each.position for each in inner.operands] == [0, 3, 11]


def test_a_chain_is_one_node_however_long() -> None:
    text = " OR ".join(["a"] * 300)
    tree = parse_search(text, ExpressionLimits(nodes=301, depth=0))
    assert isinstance(tree, SearchJunction)
    assert len(tree.operands) == 300
    with pytest.raises(Refusal, match="exceeds the limit of 300 parts"):
        parse_search(text, ExpressionLimits(nodes=300))


@pytest.mark.parametrize("opening", ["(", "NOT ", "a (", "a OR NOT ("])
def test_a_search_nests_as_deep_as_the_limit(opening: str) -> None:
    levels = opening.count("(") + opening.count("NOT")
    limits = ExpressionLimits(depth=20)
    for depth, is_read in ((20 // levels, True), (20 // levels + 1, False), (8000, False)):
        text = opening * depth + "b" + ")" * depth * opening.count("(")
        if is_read:
            assert parse_search(print_search(parse_search(text, limits))) == parse_search(text)
        else:
            with pytest.raises(Refusal, match="exceeds the limit of 20 levels"):
                parse_search(text, limits)


terms = st.builds(
    SearchTerm,
    st.one_of(
        st.sampled_from(["AND", "OR", "NOT", "a", "\\", '"', "a b", "(", ";"]),
        st.text(min_size=1).filter(lambda text: bool(text.strip()) and "\0" not in text),
    ),
)
trees: st.SearchStrategy[SearchNode] = st.recursive(
    terms,
    lambda inner: st.one_of(
        st.builds(SearchNot, inner),
        st.builds(
            SearchJunction,
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=4).map(tuple),
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=examples(300))
@given(trees)
def test_a_printed_search_reads_as_the_same_search(tree: SearchNode) -> None:
    text = print_search(tree)
    assert parse_search(text) == tree
    assert print_search(parse_search(text)) == text


PIECES = ["a", "AND", "OR", "NOT", "(", ")", '"', "\\", " ", " ", ";", "'", "é", '"b c"', "\t"]


@settings(max_examples=examples(400))
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=14).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    reads_back(parse_search, lambda each: print_search(parse_search(each)), text, "$search")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('a "b', "Close the phrase with a double quote"),
        ('""', "Write a word in it, or remove it."),
        ('a"b', "Close the phrase with a double quote"),
        ("a\0b", "The search contains a NUL character at column 2 of $search. Remove it."),
        ("()", "Put it in double quotes"),
    ],
)
def test_a_remedy_fits_the_fault(text: str, said: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_search(text)
    assert said in caught.value.message
