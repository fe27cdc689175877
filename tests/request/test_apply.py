"""`$apply`: transformations."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.errors.refusal import Refusal
from comptoir.request.apply import (
    Aggregate,
    AggregateInto,
    ComputeAlso,
    FilterBy,
    GroupBy,
    Identity,
    OrderBy,
    SearchFor,
    Skip,
    Top,
    Transformation,
    parse_apply,
)
from comptoir.request.expression.parser import (
    ExpressionLimits,
    parse_compute,
    parse_expression,
    parse_orderby,
)
from comptoir.request.expression.tree import Path
from comptoir.request.search import parse_search
from support.effort import examples
from support.printing import print_apply
from support.syntax import content, reads_back


def test_limits_apply_to_all_transformations_together() -> None:
    text = "filter(a eq 1)/compute(b as c)"
    assert parse_apply(text, ExpressionLimits(nodes=4))
    with pytest.raises(Refusal, match="exceeds the limit of 3 parts"):
        parse_apply(text, ExpressionLimits(nodes=3))
    with pytest.raises(Refusal, match="exceeds the limit of 3 parts"):
        parse_apply("/".join(["identity"] * 4), ExpressionLimits(nodes=3))


def test_groups_nest_as_deep_as_the_limit() -> None:
    limits = ExpressionLimits(depth=5)
    assert parse_apply("groupby((a)," * 5 + "identity" + ")" * 5, limits)
    for depth in (6, 1300):
        with pytest.raises(Refusal, match="exceeds the limit of 5 levels"):
            parse_apply("groupby((a)," * depth + "identity" + ")" * depth, limits)
    deepest = "groupby((a)," * 100 + "identity" + ")" * 100
    assert print_apply(parse_apply(deepest)) == deepest


names = st.sampled_from(["a", "b", "with", "as", "from", "größe"])
conditions = st.sampled_from(["a eq ')'", "f(a) and b", "@p", "c/any(d:d)"]).map(parse_expression)
aggregates = st.one_of(
    st.builds(
        Aggregate,
        conditions,
        st.sampled_from(["sum", "min", "max", "average", "countdistinct"]),
        names,
    ),
    st.builds(Aggregate, st.none(), st.just("count"), names),
)
simple: st.SearchStrategy[Transformation] = st.one_of(
    st.builds(FilterBy, conditions),
    st.builds(SearchFor, st.sampled_from(["a", 'a OR ")/"', "NOT a"]).map(parse_search)),
    st.builds(
        AggregateInto,
        st.lists(aggregates, min_size=1, max_size=3, unique_by=lambda each: each.alias).map(tuple),
    ),
    st.builds(ComputeAlso, st.sampled_from(["a as b", "a as b,c add 1 as d"]).map(parse_compute)),
    st.builds(OrderBy, st.sampled_from(["a", "a desc,b"]).map(parse_orderby)),
    st.builds(Top, st.integers(0, 2**53)),
    st.builds(Skip, st.integers(0, 2**53)),
    st.builds(Identity),
)
paths = st.lists(names, min_size=1, max_size=2).map(lambda each: Path(tuple(each)))
transformations = st.recursive(
    simple,
    lambda inner: st.builds(
        GroupBy,
        st.lists(paths, min_size=1, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=6,
)


@settings(max_examples=examples(200))
@given(st.lists(transformations, min_size=1, max_size=3).map(tuple))
def test_printed_transformations_read_as_the_same(tree: tuple[Transformation, ...]) -> None:
    assert content(parse_apply(print_apply(tree))) == content(tree)


PIECES = ["filter(", "groupby((", "aggregate(", ")", "(", ",", "/", "a", " with ", "sum", " as "]
PIECES += ["$count", "identity", "top(1)", "search(", " ", "b", "'x'", " from ", "orderby(", " eq "]


@settings(max_examples=examples(500))
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=16).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    reads_back(parse_apply, lambda each: print_apply(parse_apply(each)), text, "$apply")
