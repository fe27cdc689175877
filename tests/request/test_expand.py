"""`$expand`: items, and what is nested in them."""

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.errors import INVALID_URL, Refusal
from comptoir.request.expand import ExpandItem, ExpandLimits, Levels, parse_expand, within
from comptoir.request.expression.parser import parse_expression
from comptoir.request.options import OptionParser, QueryOptions, query_options, query_string
from support.effort import examples
from support.syntax import malformed, reads_back, refusal_of, unsupported

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


def item(
    name: str, *, items: tuple[ExpandItem, ...] = (), levels: Levels | None = None, **given: object
) -> ExpandItem:
    return ExpandItem((name,), options=in_order(given), items=items, levels=levels)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("company", [ExpandItem(("company",))]),
        (" a , b ", [ExpandItem(("a",)), ExpandItem(("b",))]),
        ("people/$ref", [ExpandItem(("people",), "ref")]),
        ("people/$count", [ExpandItem(("people",), "count")]),
        ("a,a/$count", [ExpandItem(("a",)), ExpandItem(("a",), "count")]),
        ("*", [ExpandItem(("*",))]),
        ("*/$ref", [ExpandItem(("*",), "ref")]),
        ("Comptoir.contact/a", [ExpandItem(("Comptoir.contact", "a"))]),
        ("a/Comptoir.item/$ref", [ExpandItem(("a", "Comptoir.item"), "ref")]),
        ("*($levels=2)", [item("*", levels=2)]),
        ("a($levels=MAX)", [item("a", levels="max")]),
        ("a($top=5;$skip=0;$count=True)", [item("a", top=5, skip=0, count=True)]),
        ("a(top=5;SKIP=1;$Count=FALSE)", [item("a", top=5, skip=1, count=False)]),
        ("a( $top = 5 ; filter = b eq 1 )", [item("a", top=5, filter="b eq 1")]),
        ("a($top=99999999999999999999)", [item("a", top=2**53)]),
        ("a($filter=b eq 'x;)')", [item("a", filter="b eq 'x;)'")]),
        ("a($filter=b eq 'O''Neil;(')", [item("a", filter="b eq 'O''Neil;('")]),
        ("a($filter=b in (1,(2)))", [item("a", filter="b in (1,(2))")]),
        ("""a($filter=b in ["x;)'","\\"("])""", [item("a", filter="""b in ["x;)'","\\"("]""")]),
        ('a($search=O\'Neil "x;)\\"")', [item("a", search='O\'Neil "x;)\\""')]),
        ("a($select=b,c;$orderby=b desc,c)", [item("a", select="b,c", orderby="b desc,c")]),
        (
            "a($compute=b as c;$apply=groupby((b)))",
            [item("a", compute="b as c", apply="groupby((b))")],
        ),
        (
            "a($expand=b($expand=c;$top=1),d;$top=2),e",
            [
                item(
                    "a",
                    top=2,
                    expand="b($expand=c;$top=1),d",
                    items=(item("b", top=1, expand="c", items=(item("c"),)), item("d")),
                ),
                item("e"),
            ],
        ),
    ],
)
def test_items_are_read(text: str, items: list[ExpandItem]) -> None:
    read = parse_expand(text)
    assert read == tuple(items)
    assert parse_expand(printed(read)) == read
    assert_nested_texts_agree(read)


def test_positions_are_offsets_in_the_whole_text() -> None:
    text = "x, a($filter= b eq 1 ;$expand=c($orderby=d))"
    _, outer = parse_expand(text)
    (inner,) = outer.items
    assert text[outer.position] == "a"
    assert text[outer.positions.options["$filter"] :].startswith("b eq 1")
    assert text[outer.positions.options["$expand"] :].startswith("c(")
    assert text[inner.position] == "c"
    assert text[inner.positions.options["$orderby"]] == "d"


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


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        (",", 1),
        ("a,", 3),
        ("a;b", 2),
        ("a b", 3),
        ("a,b,a", 5),
        ("a/$ref,a/$ref", 8),
        ("1", 1),
        ("$it", 1),
        ("a/$it", 1),
        ("a/$count/b", 1),
        ("*/$count", 1),
        ("*($top=1)", 3),
        ("*/$ref($top=1)", 8),
        ("a/$count($top=1)", 10),
        ("a/$ref($expand=b)", 8),
        ("a(", 3),
        ("a()", 3),
        ("a)", 2),
        ("a($top=1))", 10),
        ("a($top=1", 9),
        ("a($top=1;)", 10),
        ("a($top=1;;$skip=1)", 10),
        ("a($top 1)", 3),
        ("a($filter=)", 11),
        ("a($filter= ;$top=1)", 12),
        ("a($filter=(b)", 14),
        ("a($filter='b)", 11),
        ('a($filter=["b])', 12),
        ('a($search="b)', 11),
        ("a($top=1;top=2)", 10),
        ("a($top=-1)", 8),
        ("a($skip=x)", 9),
        ("a($count=1)", 10),
        ("a($levels=0)", 11),
        ("a($levels=04)", 11),
        ("a($levels= 01 )", 12),
        ("a($levels=min)", 11),
        ("a($format=json)", 3),
        ("a($skiptoken=x)", 3),
        ("a(custom=x)", 3),
        ("a(b)", 3),
        ("a($expand=)", 11),
        ("a($expand=b,b)", 13),
        ("a($expand=b($top=x))", 18),
    ],
)
def test_a_malformed_expand_is_refused_with_its_column(text: str, column: int) -> None:
    malformed(parse_expand, text, "$expand", column)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("$value", "The stream '$value' is not supported at column 1"),
        ("a,photo/$value", "The stream 'photo/$value' is not supported at column 3"),
        ("@Core.Messages", "The annotation '@Core.Messages'"),
        (
            "a(@p=1;$filter=b eq @p)",
            "The parameter alias '@p' in parentheses is not supported at column 3",
        ),
    ],
)
def test_unsupported_odata_is_refused_by_name(text: str, named: str) -> None:
    unsupported(parse_expand, text, "$expand", named)


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('a($search="b)', "Close it, with `\\` before a quote inside."),
        ("a($filter=b eq 'c)", "double a quote inside a text: 'O''Neil'"),
        ("a($levels=x)", "Invalid value 'x' for $levels at column 11 of $expand. Send max, or"),
        ("*($top=1)", "Use $levels."),
    ],
)
def test_a_remedy_fits_the_fault(text: str, said: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_expand(text)
    assert said in caught.value.message
