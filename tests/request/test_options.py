"""The options of a query string, by their names, as texts and numbers."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import INVALID_URL, NOT_IMPLEMENTED
from comptoir.request.aliases import parse_aliases
from comptoir.request.expression.parser import parse_compute, parse_expression, parse_orderby
from comptoir.request.expression.tree import Literal, walk
from comptoir.request.fields import parse_expand
from comptoir.request.options import OptionParser, continued, query_options, query_string
from support.effort import examples
from support.syntax import content, refusal_of
from support.together import together

parse_options = OptionParser().parse

TEXTS = ["filter", "orderby", "skiptoken", "deltatoken", "select", "expand", "search", "compute"]
TEXTS += ["apply", "format", "id"]
ALL = 2**53


def refused(query: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        parse_options(query)
    return caught.value


@together(("form", "name"), product(["${}", "{}", "%24{}", "${} ", "+{}"], TEXTS))
def test_an_option_is_kept_as_its_text(form: str, name: str) -> None:
    for written in (name, name.upper(), name.title()):
        options = parse_options(f"{form.format(written)}=a%20b+%2B%26=c%C3%A9")
        assert getattr(options, name) == "a b +&=cé"
        assert options.given == (f"${name}",)


def test_unencoded_utf_8_is_read() -> None:
    assert parse_options("$search=é".encode().decode("latin-1")).search == "é"


def test_a_number_beyond_all_records_means_all() -> None:
    numbers = {"0": 0, "007": 7, "20": 20, "%2020+": 20, "0" * 20 + "5": 5}
    numbers |= dict.fromkeys([str(ALL), str(ALL + 1), "9" * 20, "9" * 5000], ALL)
    for text, number in numbers.items():
        assert parse_options(f"$top={text}").top == number
        assert parse_options(f"$skip={text}").skip == number


def test_count_is_true_or_false_in_any_case() -> None:
    assert parse_options("$count=TRUE").count is True
    assert parse_options("count=False").count is False


def test_aliases_are_kept_in_their_order() -> None:
    options = parse_options(
        "%40b='x%26y'&$filter=a eq @b&@a=[1,2]&@größe=1".encode().decode("latin-1")
    )
    assert options.aliases == (("b", "'x&y'"), ("a", "[1,2]"), ("größe", "1"))
    assert options.given == ("$filter",)
    assert hash(options) == hash(
        parse_options(
            "%40b='x%26y'&$filter=a eq @b&@a=[1,2]&@gr%C3%B6ße=1".encode().decode("latin-1")
        )
    )


@together("query", ["$filter=%FF", "%FF=1", "$search=%ED%A0%80", "$filter=\xff", "@a=\u20ac"])
def test_other_encodings_than_utf_8_are_refused(query: str) -> None:
    assert "not UTF-8" in refused(query).message


INSTANT = Literal("datetimeoffset", "2026-01-01T00:00:00+02:00")


def test_a_plus_in_a_date_time_is_a_sign_in_all_options() -> None:
    time = "2026-01-01T00:00:00+02:00"
    options = parse_options(
        f"$filter=a+gt+{time}&$orderby=a+eq+{time}+desc&$compute=a+gt+{time}+as+b&@p={time}"
        f"&$expand=c($filter=a+gt+{time};$top=1)"
    )
    nested = parse_expand(options.expand or "")[0].options
    trees = [
        parse_expression(options.filter or ""),
        parse_orderby(options.orderby or "")[0].expression,
        parse_compute(options.compute or "")[0].expression,
        parse_aliases(options.aliases)["p"],
        parse_expression(nested.filter or ""),
    ]
    for tree in trees:
        assert content(INSTANT) in [content(node) for node, _ in walk(tree)]


values = st.text(min_size=1)
many = st.fixed_dictionaries(
    {},
    optional={
        **{f"${name}": values for name in TEXTS},
        "$top": st.integers(0, ALL),
        "$skip": st.integers(0, ALL),
        "$count": st.booleans(),
    },
)
aliases = st.dictionaries(
    st.sampled_from(["p", "größe", "_1"]), values.filter(lambda text: bool(text.strip()))
).map(lambda held: tuple(held.items()))


@settings(max_examples=examples(60))
@given(many, aliases)
def test_printed_options_read_as_the_same_options(
    held: dict[str, object], aliases: tuple[tuple[str, str], ...]
) -> None:
    options = query_options(held, aliases)
    assert parse_options(query_string(options).encode().decode("latin-1")) == options


@settings(max_examples=examples(100))
@given(st.text(st.characters(max_codepoint=255)))
def test_any_query_is_read_or_refused(query: str) -> None:
    for text in (query, f"$filter={query}", f"@p={query}", f"$top={query}"):
        refusal = refusal_of(parse_options, text)
        assert refusal is None or refusal.error in (INVALID_URL, NOT_IMPLEMENTED)


def test_the_next_page_keeps_aliases_and_custom_options() -> None:
    query = "$filter=a eq @p&@p=1&x=y&%24SkipToken=old"
    assert continued(query, ("$skiptoken", "new")) == "$filter=a eq @p&@p=1&x=y&$skiptoken=new"


def test_nested_options_are_those_of_a_separate_request() -> None:
    text = "a(filter=b eq 'x&y';TOP=3;$count=true;$select=b;expand=c($levels=2;$orderby=d))"
    (outer,) = parse_expand(text, aliases=(("p", "1"),))
    options = outer.options
    assert options.filter == "b eq 'x&y'"
    assert options.expand == "c($levels=2;$orderby=d)"
    assert (options.top, options.count, options.aliases) == (3, True, (("p", "1"),))
    assert OptionParser().parse(query_string(options)) == options
    assert content(parse_expand(options.expand, aliases=options.aliases)) == content(outer.items)


def test_an_item_without_options_keeps_the_aliases_of_the_request() -> None:
    aliases = (("p", "1"),)
    assert [each.options.aliases for each in parse_expand("a,b", aliases=aliases)] == [aliases] * 2
