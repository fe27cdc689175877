"""Whatever arrives as a query option is read, or refused by a message that names the option."""

from collections.abc import Callable, Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.request.apply import parse_apply
from comptoir.request.expression.parser import parse_compute, parse_expression, parse_orderby
from comptoir.request.fields import ExpandItem, parse_expand, parse_select
from comptoir.request.search import parse_search
from support.effort import examples
from support.syntax import content, refusal_of

Parser = Callable[[str], object]

EXPRESSION = ["a", "not", "and", "eq", "in", "any", "case", "1", "-", "1.5", "'", "''", "(", ")"]
EXPRESSION += ["[", "]", ",", ":", "/", "$it", "$count", "@", ".", '"', "{", " ", " ", " ", "\t"]
EXPRESSION += ["2024-01-01", "T00:00:00", "Z", "duration'", "Ns.A'", "12:30", "é", "=", "+", "INF"]
EXPRESSION += ["null"]
COMPUTE = ["a", " as ", ",", "1", " add ", "(", ")", "'x'", "as", " ", "b", "f("]
APPLY = ["filter(", "groupby((", "aggregate(", ")", "(", ",", "/", "a", " with ", "sum", " as "]
APPLY += ["$count", "identity", "top(1)", "search(", " ", "b", "'x'", " from ", "orderby(", " eq "]
EXPAND = ["a", "b", "(", ")", ";", ",", "$expand=", "$filter=", "$top=", "1", "'", '"', "/$ref"]
EXPAND += ["/$count", "*", "levels=", "max", " ", "$search=", "\\", "@p=", "c eq 'x'"]
SEARCH = ["a", "AND", "OR", "NOT", "(", ")", '"', "\\", " ", " ", ";", "'", "é", '"b c"', "\t"]
SELECT = [*"a b,/*.$@('é;)"]


def nested_texts_agree(text: str) -> object:
    """Read `$expand`; its nested texts must mean what was read of them."""
    items = parse_expand(text)
    assert_nested_texts_agree(items)
    return items


def assert_nested_texts_agree(items: Iterable[ExpandItem]) -> None:
    for each in items:
        if each.options.expand is None:
            assert not each.items
        else:
            assert content(parse_expand(each.options.expand)) == content(each.items)
        assert_nested_texts_agree(each.items)


@pytest.mark.parametrize(
    ("option", "parse", "pieces"),
    [
        ("$filter", parse_expression, EXPRESSION),
        ("$orderby", parse_orderby, EXPRESSION),
        ("$compute", parse_compute, COMPUTE),
        ("$apply", parse_apply, APPLY),
        ("$expand", nested_texts_agree, EXPAND),
        ("$search", parse_search, SEARCH),
        ("$select", parse_select, SELECT),
    ],
)
def test_any_text_is_read_or_refused(option: str, parse: Parser, pieces: Sequence[str]) -> None:
    @settings(max_examples=examples(150))
    @given(st.one_of(st.text(), st.lists(st.sampled_from(pieces), max_size=16).map("".join)))
    def check(text: str) -> None:
        refusal = refusal_of(parse, text)
        if refusal is None:
            assert parse(text) == parse(text)
        else:
            assert refusal.target == option
            assert f" of {option}. " in refusal.message or refusal.message.startswith(f"{option} ")
            assert len(refusal.message) < 400

    check()
