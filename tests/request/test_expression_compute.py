"""`$compute`: expressions with names."""

from comptoir.request.expression.parser import parse_compute, parse_expression
from comptoir.request.expression.tree import ComputeItem
from support.syntax import content
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
