"""Expressions and orders: whatever arrives is read or refused, and no name is reserved."""

from hypothesis import given, settings
from hypothesis import strategies as st

from comptoir.request.expression.parser import parse_expression, parse_orderby
from comptoir.request.expression.tree import Binary, Literal, Logical, Path, Unary, walk
from support.effort import examples
from support.syntax import content, is_read_or_refused
from support.together import together

PIECES = ["a", "not", "and", "eq", "in", "any", "case", "1", "-", "1.5", "'", "''", "(", ")", "["]
PIECES += ["]", ",", ":", "/", "$it", "$count", "@", ".", '"', "{", " ", " ", " ", "\t", "null"]
PIECES += ["2024-01-01", "T00:00:00", "Z", "duration'", "Ns.A'", "12:30", "é", "=", "+", "INF"]


@settings(max_examples=examples(600))
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=14).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    is_read_or_refused(parse_expression, text, "$filter")
    is_read_or_refused(parse_orderby, text, "$orderby")


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
