"""`$compute`: expressions with names."""

from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.request.expression.parser import parse_compute, parse_expression
from comptoir.request.expression.tree import ComputeItem
from support.effort import examples
from support.syntax import content, is_read_or_refused
from support.together import together


@together(
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
    assert content(read) == content(
        tuple(ComputeItem(parse_expression(each), alias) for each, alias in items)
    )


PIECES = ["a", " as ", ",", "1", " add ", "(", ")", "'x'", "as", " ", "b", "f("]


@settings(max_examples=examples(300))
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=12).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    is_read_or_refused(parse_compute, text, "$compute")
