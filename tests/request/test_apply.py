"""`$apply`: transformations."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.errors import Refusal
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
from support.syntax import malformed, reads_back, unsupported

A, B = Path(("a",)), Path(("b",))
COUNT = AggregateInto((Aggregate(None, "count", "n"),))


@pytest.mark.parametrize(
    ("text", "transformations"),
    [
        ("identity", [Identity()]),
        ("filter(a eq 1)", [FilterBy(parse_expression("a eq 1"))]),
        ("filter( a eq ')/' )", [FilterBy(parse_expression("a eq ')/'"))]),
        ("filter(a)/filter(b)", [FilterBy(A), FilterBy(B)]),
        ("FILTER(a)", [FilterBy(A)]),
        ('search(a OR ")/")', [SearchFor(parse_search('a OR ")/"'))]),
        ("search( (a) b )/top(1)", [SearchFor(parse_search("a b")), Top(1)]),
        ("orderby(a desc,b)", [OrderBy(parse_orderby("a desc,b"))]),
        ("orderby( a desc )", [OrderBy(parse_orderby("a desc"))]),
        ("compute(a mul 2 as b,a as c)", [ComputeAlso(parse_compute("a mul 2 as b,a as c"))]),
        ("top(3)/skip( 2 )", [Top(3), Skip(2)]),
        ("top(99999999999999999999)", [Top(2**53)]),
        ("aggregate($count as n)", [COUNT]),
        (
            "aggregate(a mul b WITH Sum AS c , a with countdistinct as d,$count as n)",
            [
                AggregateInto(
                    (
                        Aggregate(parse_expression("a mul b"), "sum", "c"),
                        Aggregate(A, "countdistinct", "d"),
                        Aggregate(None, "count", "n"),
                    )
                )
            ],
        ),
        *(
            (f"aggregate(a with {method} as c)", [AggregateInto((Aggregate(A, method, "c"),))])
            for method in ("sum", "min", "max", "average", "countdistinct")
        ),
        ("groupby((a))", [GroupBy((A,), ())]),
        ("groupby( ( a , b/c ) )", [GroupBy((A, Path(("b", "c"))), ())]),
        ("groupby((a),aggregate($count as n))", [GroupBy((A,), (COUNT,))]),
        ("groupby((a), filter(b)/aggregate($count as n))", [GroupBy((A,), (FilterBy(B), COUNT))]),
        (
            "filter(b)/groupby((a),groupby((b)))/top(1)",
            [FilterBy(B), GroupBy((A,), (GroupBy((B,), ()),)), Top(1)],
        ),
    ],
)
def test_transformations_are_read(text: str, transformations: list[Transformation]) -> None:
    read = parse_apply(text)
    assert read == tuple(transformations)
    assert parse_apply(print_apply(read)) == read


def test_positions_are_offsets_in_the_whole_text() -> None:
    text = "filter(a)/groupby((b,c),aggregate(d with sum as e,$count as f))"
    first, group = parse_apply(text)
    assert isinstance(first, FilterBy)
    assert isinstance(group, GroupBy)
    (aggregate,) = group.transformations
    assert isinstance(aggregate, AggregateInto)
    positions = [first.condition.position, group.position]
    positions += [path.position for path in group.paths]
    positions += [aggregate.position, *(each.position for each in aggregate.items)]
    words = ["a)", "groupby", "b,", "c)", "aggregate", "e,", "f)"]
    assert [text.startswith(word, at) for word, at in zip(words, positions, strict=True)] == (
        [True] * 7
    )


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("1", 1),
        ("/filter(a)", 1),
        ("filter(a)/", 11),
        ("filter(a)//top(1)", 11),
        ("filter(a) / top(1)", 11),
        ("filter(a)top(1)", 10),
        ("filter", 7),
        ("filter(", 8),
        ("filter()", 8),
        ("filter(a", 9),
        ("filter(a,b)", 9),
        ("filter(a))", 10),
        ("filter(a eq)", 10),
        ("sum(a)", 1),
        ("identity()", 9),
        ("top()", 5),
        ("top(-1)", 5),
        ("top(1.5)", 5),
        ("skip(a)", 6),
        ("search()", 8),
        ("search(a OR(b))", 12),
        ("orderby()", 9),
        ("orderby(a desc b)", 16),
        ("compute(a)", 10),
        ("compute(a as b,a as b)", 21),
        ("aggregate()", 11),
        ("aggregate(a as b)", 13),
        ("aggregate(a mul 2)", 18),
        ("aggregate(a with sum)", 21),
        ("aggregate(a with total as b)", 18),
        ("aggregate(a with sum as b,c with sum as b)", 41),
        ("aggregate($count)", 17),
        ("groupby(a)", 9),
        ("groupby(())", 10),
        ("groupby((a)", 12),
        ("groupby((a),)", 13),
        ("groupby((a) b)", 13),
        ("groupby((a),b)", 13),
        ("groupby((tolower(a)))", 17),
        ("groupby((a),filter(b),filter(c))", 22),
    ],
)
def test_a_malformed_transformation_is_refused_with_its_column(text: str, column: int) -> None:
    malformed(parse_apply, text, "$apply", column)


OTHERS = "concat expand join outerjoin nest addnested topcount topsum toppercent bottomcount"
OTHERS += " bottomsum bottompercent ancestors descendants traverse"


@pytest.mark.parametrize("name", [*OTHERS.split(), "Ns.custom"])
def test_unsupported_transformations_are_refused_by_name(name: str) -> None:
    unsupported(
        parse_apply, f"top(1)/{name}(a,b)", "$apply", f"'{name}' is not supported at column 8 "
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("groupby((rollup(a,b)))", "'rollup' is not supported at column 10"),
        ("groupby((a,rolluprecursive(b,c,d)))", "'rolluprecursive' is not supported at column 12"),
        ("aggregate(Forecast)", "The custom aggregate 'Forecast'"),
        (
            "aggregate(a with Ns.median as b)",
            "The custom method 'Ns.median' is not supported at column 18",
        ),
        ("aggregate(a with sum from b with max as c)", "'from' is not supported at column 22"),
        ("aggregate(Forecast from b with max as c)", "'from' is not supported at column 20"),
        ("aggregate(a/$count as b)", "$count after a path is not supported at column 11"),
        ("filter(Ns.f(a))", "The function 'Ns.f' is not supported at column 8"),
    ],
)
def test_unsupported_parts_of_transformations_are_refused_by_name(text: str, named: str) -> None:
    unsupported(parse_apply, text, "$apply", named)


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
    assert parse_apply(print_apply(tree)) == tree


PIECES = ["filter(", "groupby((", "aggregate(", ")", "(", ",", "/", "a", " with ", "sum", " as "]
PIECES += ["$count", "identity", "top(1)", "search(", " ", "b", "'x'", " from ", "orderby(", " eq "]


@settings(max_examples=examples(500))
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=16).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    reads_back(parse_apply, lambda each: print_apply(parse_apply(each)), text, "$apply")
