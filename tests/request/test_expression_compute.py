"""`$compute`: expressions with names."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.errors import Refusal
from comptoir.request.expression.parser import ExpressionLimits, parse_compute, parse_expression
from comptoir.request.expression.tree import ComputeItem
from support.effort import examples
from support.printing import print_compute
from support.syntax import malformed, reads_back, unsupported


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("a as b", [("a", "b")]),
        ("a mul b AS c , d\tas\te", [("a mul b", "c"), ("d", "e")]),
        ("as as as", [("as", "as")]),
        ("concat(a,' as ') as b", [("concat(a,' as ')", "b")]),
        ("(a) as größe", [("a", "größe")]),
        ("a eq @p as b", [("a eq @p", "b")]),
        ("d gt 2026-01-01T00:00:00 02:00 as b", [("d gt 2026-01-01T00:00:00+02:00", "b")]),
    ],
)
def test_items_are_read(text: str, items: list[tuple[str, str]]) -> None:
    read = parse_compute(text)
    assert read == tuple(ComputeItem(parse_expression(each), alias) for each, alias in items)
    assert parse_compute(print_compute(read)) == read


def test_items_have_their_positions() -> None:
    items = parse_compute(" a as b, c as d")
    assert [item.position for item in items] == [6, 14]
    assert items[1].expression.position == 9


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("a", 2),
        ("a as", 3),
        ("a as 1", 6),
        ("a as b.c", 7),
        ("a as b c", 8),
        ("a as b,", 8),
        ("a as b,c as b", 13),
        ("(a)as b", 4),
        ("a as b)", 7),
        ("a eq as b", 9),
        ("a as " + "b" * 129, 6),
    ],
)
def test_a_malformed_item_is_refused_with_its_column(text: str, column: int) -> None:
    malformed(parse_compute, text, "$compute", column)


def test_an_unsupported_function_is_refused_by_name() -> None:
    unsupported(parse_compute, "a as b,Ns.f(a) as c", "$compute", "The function 'Ns.f'")


def test_limits_apply_to_all_items_together() -> None:
    assert len(parse_compute("a as b,c as d", ExpressionLimits(nodes=2))) == 2
    with pytest.raises(Refusal, match="exceeds the limit of 1 parts"):
        parse_compute("a as b,c as d", ExpressionLimits(nodes=1))


PIECES = ["a", " as ", ",", "1", " add ", "(", ")", "'x'", "as", " ", "b", "f("]


@settings(max_examples=examples(300))
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=12).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    reads_back(parse_compute, lambda each: print_compute(parse_compute(each)), text, "$compute")
