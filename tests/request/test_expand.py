"""`$expand`: items, and what is nested in them."""

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import INVALID_URL
from comptoir.request.expression.parser import parse_expression
from comptoir.request.fields import ExpandItem, ExpandLimits, Levels, parse_expand, within
from comptoir.request.options import OptionParser, QueryOptions, query_options, query_string
from support.effort import examples
from support.syntax import reads_back, refusal_of

ORDER = [
    "filter",
    "search",
    "orderby",
    "select",
    "compute",
    "apply",
    "top",
    "skip",
    "count",
    "expand",
]
"""The order in which the options of an item appear in the links to its next pages."""


def in_order(given: Mapping[str, object]) -> QueryOptions:
    return query_options({f"${name}": given[name] for name in ORDER if name in given})


def test_a_fault_in_a_nested_option_has_its_column_in_the_whole_text() -> None:
    (outer,) = parse_expand("a($filter=b eq)")
    with pytest.raises(Refusal) as caught:
        parse_expression(outer.options.filter or "")
    refusal = within(caught.value, outer.positions.options["$filter"])
    assert (refusal.error, refusal.target) == (INVALID_URL, "$expand")
    assert refusal.message.startswith(
        "Expected a value after 'eq', found the end of the text at column 15 of $expand. "
    )


def test_nested_options_are_those_of_a_separate_request() -> None:
    text = "a(filter=b eq 'x&y';TOP=3;$count=true;$select=b;expand=c($levels=2;$orderby=d))"
    (outer,) = parse_expand(text, aliases=(("p", "1"),))
    options = outer.options
    assert options.filter == "b eq 'x&y'"
    assert options.expand == "c($levels=2;$orderby=d)"
    assert (options.top, options.count, options.aliases) == (3, True, (("p", "1"),))
    assert OptionParser().parse(query_string(options)) == options
    assert parse_expand(options.expand, aliases=options.aliases) == outer.items


def test_an_item_without_options_keeps_the_aliases_of_the_request() -> None:
    aliases = (("p", "1"),)
    assert [each.options.aliases for each in parse_expand("a,b", aliases=aliases)] == [aliases] * 2


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


def assert_nested_texts_agree(items: Iterable[ExpandItem]) -> None:
    for each in items:
        if each.options.expand is None:
            assert not each.items
        else:
            assert parse_expand(each.options.expand) == each.items
        assert_nested_texts_agree(each.items)


def printed(items: Iterable[ExpandItem]) -> str:
    """The text of some items, options in one order; a nested `$expand` is the text that it has."""
    return ",".join([_printed(each) for each in items])


def _printed(each: ExpandItem) -> str:
    end = {"entities": "", "ref": "/$ref", "count": "/$count"}[each.result]
    options = each.options
    held: dict[str, object] = {name: getattr(options, name[1:]) for name in options.given}
    held["$levels"] = each.levels
    parts = [f"{name}={value}" for name, value in held.items() if value is not None]
    return "/".join(each.path) + end + (f"({';'.join(parts)})" if parts else "")


texts = st.sampled_from(["b eq 'x;)'", "f(b) in (1,2)", "b", "c in ['a;','(']"])
whole = st.integers(0, 2**53)
options = st.fixed_dictionaries(
    {},
    optional={
        "filter": texts,
        "search": st.sampled_from(['"a;)"', "O'Neil"]),
        "orderby": texts,
        "select": texts,
        "compute": texts,
        "apply": texts,
        "top": whole,
        "skip": whole,
        "count": st.booleans(),
    },
)
levels = st.none() | st.just("max") | st.integers(1, 9)
names = st.sampled_from(["a", "b", "größe", "ref", "count", "max", "Ns.t/c"]).map(
    lambda text: tuple(text.split("/"))
)


def with_options(
    path: tuple[str, ...],
    held: dict[str, object],
    repeated: Levels | None,
    items: tuple[ExpandItem, ...],
) -> ExpandItem:
    nested: dict[str, object] = {"expand": printed(items)} if items else {}
    return ExpandItem(path, "entities", in_order({**held, **nested}), items, repeated)


def items_of(
    inner: st.SearchStrategy[tuple[ExpandItem, ...]],
) -> st.SearchStrategy[tuple[ExpandItem, ...]]:
    one = st.builds(with_options, names, options, levels, inner)
    return st.lists(one, min_size=1, max_size=3, unique_by=lambda each: each.path).map(tuple)


none: tuple[ExpandItem, ...] = ()
nested_items = items_of(
    st.recursive(st.just(none), lambda inner: st.just(none) | items_of(inner), max_leaves=4)
)


@settings(max_examples=examples(200))
@given(nested_items)
def test_printed_items_read_as_the_same_items(items: tuple[ExpandItem, ...]) -> None:
    limits = ExpandLimits(items=1000, depth=50)
    assert parse_expand(printed(items), limits) == items


PIECES = ["a", "b", "(", ")", ";", ",", "$expand=", "$filter=", "$top=", "1", "'", '"', "/$ref"]
PIECES += ["/$count", "*", "levels=", "max", " ", "$search=", "\\", "@p=", "c eq 'x'"]


@settings(max_examples=examples(500))
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=16).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    reads_back(parse_expand, lambda each: printed(parse_expand(each)), text, "$expand")
    if refusal_of(parse_expand, text) is None:
        assert_nested_texts_agree(parse_expand(text))
