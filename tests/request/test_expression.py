"""Expressions and orders: whatever arrives is read or refused, and no name is reserved."""

from comptoir.request.expression.parser import parse_expression
from comptoir.request.expression.tree import Binary, Literal, Logical, Path, Unary, walk
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
