"""Every tree prints as a text that reads as the same tree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.errors.refusal import Refusal
from comptoir.request.expression.parser import parse_expression, parse_orderby
from comptoir.request.expression.tree import (
    Binary,
    Call,
    Case,
    Collection,
    In,
    InCollection,
    Lambda,
    Literal,
    Logical,
    Node,
    OrderItem,
    Parameter,
    Path,
    Unary,
    walk,
)
from support.effort import examples
from support.printing import print_expression, print_orderby
from support.syntax import content

WORDS = ["eq", "and", "or", "in", "has", "not", "add", "sub", "div", "divby", "asc", "desc", "any"]
WORDS += ["all", "case", "null_", "INFO", "INF_", "NaN1", "E1", "e5", "duration", "guid", "a", "b"]
LITERAL_WORDS = {"null", "INF", "NaN"}
TRUTH_WORDS = {"true", "false"}

names = st.one_of(
    st.sampled_from(WORDS),
    st.from_regex(r"\A[^\W\d]\w{0,6}\Z").filter(
        lambda name: name not in LITERAL_WORDS and name.lower() not in TRUTH_WORDS
    ),
)
qualified = st.builds("{}.{}".format, names, names)
collections = st.builds(
    lambda head, middle, last: Path((*head, *middle, last)),
    st.sampled_from([(), ("$it",), ("$this",), ("$root",)]),
    st.lists(st.one_of(names, qualified), max_size=2),
    names,
)
paths = st.one_of(
    collections, st.builds(lambda path: Path((*path.segments, "$count")), collections)
)
DATE = r"(0001|1999|2024)-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
TIME = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,12})?)?"
HEX = r"[0-9a-fA-F]"
literals = st.one_of(
    st.builds(Literal, st.just("null"), st.just("null")),
    st.builds(Literal, st.just("boolean"), st.sampled_from(["true", "false"])),
    st.builds(Literal, st.just("integer"), st.from_regex(r"\A-?[0-9]{1,20}\Z")),
    st.builds(Literal, st.just("decimal"), st.from_regex(r"\A-?[0-9]{1,9}\.[0-9]{1,9}\Z")),
    st.builds(
        Literal,
        st.just("double"),
        st.one_of(
            st.sampled_from(["INF", "-INF", "NaN"]),
            st.from_regex(r"\A-?[0-9]{1,3}(\.[0-9]{1,3})?[eE][+-]?[0-9]{1,3}\Z"),
        ),
    ),
    st.builds(Literal, st.just("string"), st.one_of(st.text(), st.text("' ,()", max_size=5))),
    st.builds(
        Literal, st.just("guid"), st.from_regex(rf"\A{HEX}{{8}}-({HEX}{{4}}-){{3}}{HEX}{{12}}\Z")
    ),
    st.builds(Literal, st.just("date"), st.from_regex(rf"\A-?{DATE}\Z")),
    st.builds(Literal, st.just("timeofday"), st.from_regex(rf"\A{TIME}\Z")),
    st.builds(
        Literal,
        st.just("datetimeoffset"),
        st.from_regex(rf"\A{DATE}T{TIME}(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])\Z"),
    ),
    st.builds(Literal, st.just("duration"), st.sampled_from(["P1D", "-PT1.5S", "P2DT3H4M"])),
    st.builds(Literal, st.just("binary"), st.sampled_from(["", "T0RhdGE", "T0RhdGE=", "-_8"])),
    st.builds(Literal, st.just("enum"), st.sampled_from(["Ns.A'Red'", "N.M.eq'Red,-1,and'"])),
)
parameters = st.builds(Parameter, names)
functions = st.from_regex(r"\A[a-z_][a-z0-9_]{0,6}\Z").filter(
    lambda name: name not in ("any", "all", "case", "not")
)
BINARY = ["eq", "ne", "lt", "le", "gt", "ge", "has", "add", "sub", "mul", "div", "divby", "mod"]


def compose(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    """Every kind of node over nodes of `inner`."""
    some = st.lists(inner, min_size=1, max_size=3).map(tuple)
    calls = st.builds(Call, functions, st.lists(inner, max_size=3).map(tuple))
    return st.one_of(
        calls,
        st.builds(Unary, st.sampled_from(["not", "-"]), inner),
        st.builds(Binary, st.sampled_from(BINARY), inner, inner),
        st.builds(
            Logical,
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=4).map(tuple),
        ),
        st.builds(In, inner, some),
        st.builds(InCollection, inner, st.one_of(paths, parameters, calls)),
        st.builds(Lambda, collections, st.sampled_from(["any", "all"]), names, inner),
        st.builds(Lambda, collections, st.just("any")),
        st.builds(Case, st.lists(st.tuples(inner, inner), min_size=1, max_size=3).map(tuple)),
        st.builds(Collection, st.lists(inner, max_size=3).map(tuple)),
    )


leaves: st.SearchStrategy[Node] = st.one_of(paths, literals, parameters)
trees = st.recursive(leaves, compose, max_leaves=12)


@settings(max_examples=examples(400))
@given(trees)
def test_a_printed_tree_reads_as_the_same_tree(tree: Node) -> None:
    text = print_expression(tree)
    assert content(parse_expression(text)) == content(tree)
    assert print_expression(parse_expression(text)) == text


@settings(max_examples=examples(100))
@given(st.lists(st.builds(OrderItem, trees, st.booleans()), min_size=1, max_size=3).map(tuple))
def test_a_printed_order_reads_as_the_same_order(items: tuple[OrderItem, ...]) -> None:
    assert content(parse_orderby(print_orderby(items))) == content(items)


PIECES = ["a", "not", "and", "eq", "in", "any", "case", "1", "-", "1.5", "'", "''", "(", ")", "["]
PIECES += ["]", ",", ":", "/", "$it", "$count", "@", ".", '"', "{", " ", " ", " ", "\t", "null"]
PIECES += ["2024-01-01", "T00:00:00", "Z", "duration'", "Ns.A'", "12:30", "é", "=", "+", "INF"]


@settings(max_examples=examples(600))
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=14).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever arrives, the answer is a tree that prints, or a `Refusal` that names the option."""
    for read in (reads_back, order_reads_back):
        refusal = read(text)
        if refusal is not None:
            assert refusal.target == "$option"
            assert " of $option. " in refusal.message or refusal.message.startswith("$option is")
            assert len(refusal.message) < 300


def reads_back(text: str) -> Refusal | None:
    """The refusal of `text`; None when it is read, and then printed and read alike."""
    try:
        tree = parse_expression(text, option="$option")
    except Refusal as refusal:
        return refusal
    assert content(parse_expression(print_expression(tree))) == content(tree)
    return None


def order_reads_back(text: str) -> Refusal | None:
    try:
        items = parse_orderby(text, option="$option")
    except Refusal as refusal:
        return refusal
    assert content(parse_orderby(print_orderby(items))) == content(items)
    return None


NAMES = "eq and or in has not any all case date contains type number duration asc desc Null inf"


@pytest.mark.parametrize("name", [*NAMES.split(), "add", "mod", "guid", "E1"])
def test_no_name_is_reserved(name: str) -> None:
    """A property may be called like an operator, a function or a prefix of a literal."""
    forms = ("{} eq 1", "1 eq {}", "f({},{})", "not ({}) and {} eq {}", "x/{} in ({})", "-{}", "{}")
    for form in forms:
        tree = parse_expression(form.replace("{}", name))
        names = [node.segments[-1] for node, _ in walk(tree) if isinstance(node, Path)]
        assert names == [name] * form.count("{}")


def test_a_property_named_not_is_a_property_before_an_operator() -> None:
    named, a = Path(("not",)), Path(("a",))
    assert content(parse_expression("not eq 1")) == content(
        Binary("eq", named, Literal("integer", "1"))
    )
    assert content(parse_expression("not and not a")) == content(
        Logical("and", (named, Unary("not", a)))
    )
