"""Expressions and orders: whatever arrives is read or refused, and no name is reserved."""

from comptoir.request.expression.parser import parse_compute, parse_expression
from comptoir.request.expression.tree import (
    Binary,
    ComputeItem,
    Literal,
    Logical,
    Path,
    Unary,
    walk,
)
from support.syntax import content
from support.together import together

NAMES = "eq and or in has not any all case date contains type number duration asc desc Null inf"


@together("name", [*NAMES.split(), "add", "mod", "guid", "E1"])
def test_no_name_is_reserved(name: str) -> None:
    """A property may be called like an operator, a function or a prefix of a literal."""
    forms = ("{} eq 1", "1 eq {}", "f({},{})", "not ({}) and {} eq {}", "x/{} in ({})", "-{}", "{}")
    for form in forms:
        tree = parse_expression(form.replace("{}", name))
        names = [node.segments[-1] for node, _ in walk(tree) if isinstance(node, Path)]
        assert names == [name] * form.count("{}")


def test_a_property_named_not_is_a_property_before_an_operator() -> None:
    named, a = Path(("not",)), Path(("a",))
    assert content(parse_expression("not eq 1")) == content(
        Binary("eq", named, Literal("integer", "1"))
    )
    assert content(parse_expression("not and not a")) == content(
        Logical("and", (named, Unary("not", a)))
    )


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
