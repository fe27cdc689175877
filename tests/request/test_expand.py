"""`$expand`: items, and what is nested in them."""

import pytest

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import INVALID_URL
from comptoir.request.expression.parser import parse_expression
from comptoir.request.fields import ExpandLimits, parse_expand, within
from comptoir.request.options import OptionParser, query_string
from support.syntax import content


def test_an_error_in_a_nested_option_has_its_column_in_the_whole_text() -> None:
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
    assert content(parse_expand(options.expand, aliases=options.aliases)) == content(outer.items)


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
