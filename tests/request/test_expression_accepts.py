"""What the parser reads, and into which tree."""

import pytest

from comptoir.request.expression.parser import parse_expression, parse_orderby
from comptoir.request.expression.tree import (
    Binary,
    BinaryOperator,
    Call,
    Case,
    Collection,
    In,
    InCollection,
    Lambda,
    Literal,
    LiteralType,
    Logical,
    Node,
    OrderItem,
    Parameter,
    Path,
    Unary,
    children,
    walk,
)


def path(text: str) -> Path:
    return Path(tuple(text.split("/")))


def integer(text: str) -> Literal:
    return Literal("integer", text)


def string(text: str) -> Literal:
    return Literal("string", text)


A, B, C, D = path("a"), path("b"), path("c"), path("d")
ONE, TWO, THREE = integer("1"), integer("2"), integer("3")
GUID = "5d115c9c-44e3-ea11-bb43-000d3a2feca1"


def compare(operator: BinaryOperator, left: Node, right: Node) -> Binary:
    return Binary(operator, left, right)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("null", "null", "null"),
        ("true", "boolean", "true"),
        ("False", "boolean", "false"),
        ("0", "integer", "0"),
        ("-12", "integer", "-12"),
        ("+12", "integer", "12"),
        ("12.50", "decimal", "12.50"),
        ("-0.5", "decimal", "-0.5"),
        ("12.50m", "decimal", "12.50"),
        ("+12M", "decimal", "12.0"),
        ("-0.5d", "decimal", "-0.5"),
        ("7F", "decimal", "7.0"),
        ("-12L", "integer", "-12"),
        ("1e5f", "double", "1e5"),
        ("1e5", "double", "1e5"),
        ("-1.25E-7", "double", "-1.25E-7"),
        ("INF", "double", "INF"),
        ("-INF", "double", "-INF"),
        ("NaN", "double", "NaN"),
        ("''", "string", ""),
        ("''''", "string", "'"),
        ("'O''Neil, ''B'''", "string", "O'Neil, 'B'"),
        ("'a (b) and c'", "string", "a (b) and c"),
        ("'P1D'", "string", "P1D"),
        (GUID, "guid", GUID),
        (GUID.upper(), "guid", GUID.upper()),
        ("12345678-1234-1234-1234-123456789012", "guid", "12345678-1234-1234-1234-123456789012"),
        ("0001-01-01", "date", "0001-01-01"),
        ("2024-02-30", "date", "2024-02-30"),
        ("-0044-03-15", "date", "-0044-03-15"),
        ("2024-01-01T00:00:00Z", "datetimeoffset", "2024-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00.000Z", "datetimeoffset", "0001-01-01T00:00:00.000Z"),
        ("2024-01-01t10:30z", "datetimeoffset", "2024-01-01T10:30Z"),
        ("2024-01-01T00:00:00-05:30", "datetimeoffset", "2024-01-01T00:00:00-05:30"),
        ("2024-01-01T00:00:00+02:00", "datetimeoffset", "2024-01-01T00:00:00+02:00"),
        ("2024-01-01T00:00:00.123 02:00", "datetimeoffset", "2024-01-01T00:00:00.123+02:00"),
        ("07:59", "timeofday", "07:59"),
        ("07:59:59.999", "timeofday", "07:59:59.999"),
        ("duration'P1DT2H3M4.5S'", "duration", "P1DT2H3M4.5S"),
        ("DURATION'-pt0s'", "duration", "-PT0S"),
        ("binary'T0RhdGE='", "binary", "T0RhdGE="),
        ("Ns.Sub.Color'Red,Blue'", "enum", "Ns.Sub.Color'Red,Blue'"),
        ("Ns.Color'-1'", "enum", "Ns.Color'-1'"),
    ],
)
def test_literal(text: str, kind: LiteralType, value: str) -> None:
    assert parse_expression(text) == Literal(kind, value)
    assert parse_expression(f"a eq {text}") == Binary("eq", A, Literal(kind, value))
    assert parse_expression(f"a in ({text},1)") == In(A, (Literal(kind, value), ONE))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a eq 1", compare("eq", A, ONE)),
        ("a EQ 1 And b NE 2", Logical("and", (compare("eq", A, ONE), compare("ne", B, TWO)))),
        (" \ta\teq \t1 ", compare("eq", A, ONE)),
        ("A eq a", compare("eq", path("A"), A)),
        ("größe eq 1", compare("eq", path("größe"), ONE)),
        ("a/b/c", path("a/b/c")),
        ("Ns.Type/a", path("Ns.Type/a")),
        ("a/Ns.Type/b", path("a/Ns.Type/b")),
        ("$it", path("$it")),
        ("$this/a", path("$this/a")),
        ("$root/companies", path("$root/companies")),
        ("items/$count gt 2", compare("gt", path("items/$count"), TWO)),
        ("@p eq @q", compare("eq", Parameter("p"), Parameter("q"))),
        ("now()", Call("now", ())),
        ("now( )", Call("now", ())),
        ("ToLower( a )", Call("tolower", (A,))),
        ("concat(a , concat(b,'x'))", Call("concat", (A, Call("concat", (B, string("x")))))),
        ("isof(Ns.Type)", Call("isof", (path("Ns.Type"),))),
        ("cast(a,Edm.String)", Call("cast", (A, path("Edm.String")))),
        ("f(a eq 1)", Call("f", (compare("eq", A, ONE),))),
        ("( ( a ) )", A),
        ("a in ('x', 'y' ,null)", In(A, (string("x"), string("y"), Literal("null", "null")))),
        ("a in (b)", In(A, (B,))),
        ("a in (1 add 2,c)", In(A, (compare("add", ONE, TWO), C))),
        ("a in b/c", InCollection(A, path("b/c"))),
        ("a in @p", InCollection(A, Parameter("p"))),
        ('a in ["x"]', InCollection(A, Collection((string("x"),)))),
        ("[]", Collection(())),
        (
            '[a,["x\\u0041\\"y", \'z\'],1 add 2]',
            Collection((A, Collection((string('xA"y'), string("z"))), compare("add", ONE, TWO))),
        ),
        ("a/any()", Lambda(A, "any")),
        ("a/b/ANY(d:d/c eq 1)", Lambda(path("a/b"), "any", "d", compare("eq", path("d/c"), ONE))),
        ("a/all( d : d )", Lambda(A, "all", "d", D)),
        ("$it/a/any()", Lambda(path("$it/a"), "any")),
        (
            "case(a gt 0:1, b :-1,true:0)",
            Case(
                (
                    (compare("gt", A, integer("0")), ONE),
                    (B, integer("-1")),
                    (Literal("boolean", "true"), integer("0")),
                )
            ),
        ),
    ],
)
def test_form(text: str, tree: Node) -> None:
    assert parse_expression(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a or b and c", Logical("or", (A, Logical("and", (B, C))))),
        ("a and b or c", Logical("or", (Logical("and", (A, B)), C))),
        ("(a or b) and c", Logical("and", (Logical("or", (A, B)), C))),
        ("a and b and c", Logical("and", (A, B, C))),
        ("a and (b and c)", Logical("and", (A, Logical("and", (B, C))))),
        ("a and b or c and d", Logical("or", (Logical("and", (A, B)), Logical("and", (C, D))))),
        ("a or b and c or d", Logical("or", (A, Logical("and", (B, C)), D))),
        ("not a and b", Logical("and", (Unary("not", A), B))),
        ("not(a and b)", Unary("not", Logical("and", (A, B)))),
        ("not a eq b", compare("eq", Unary("not", A), B)),
        ("not a in (1)", Unary("not", In(A, (ONE,)))),
        ("not not a", Unary("not", Unary("not", A))),
        ("a eq not b and c", Logical("and", (compare("eq", A, Unary("not", B)), C))),
        ("a eq b gt c", compare("eq", A, compare("gt", B, C))),
        ("a gt b eq c", compare("eq", compare("gt", A, B), C)),
        ("a eq b eq c", compare("eq", compare("eq", A, B), C)),
        ("a add b mul c", compare("add", A, compare("mul", B, C))),
        ("a mul b add c", compare("add", compare("mul", A, B), C)),
        ("a sub b sub c", compare("sub", compare("sub", A, B), C)),
        ("a sub (b sub c)", compare("sub", A, compare("sub", B, C))),
        ("a div b divby c", compare("divby", compare("div", A, B), C)),
        ("a add 1 gt 2 mod 3", compare("gt", compare("add", A, ONE), compare("mod", TWO, THREE))),
        ("-a mul b", compare("mul", Unary("-", A), B)),
        ("-a has b", Unary("-", compare("has", A, B))),
        ("- 1", Unary("-", ONE)),
        ("-(1)", Unary("-", ONE)),
        ("--1", Unary("-", integer("-1"))),
        ("a sub -1", compare("sub", A, integer("-1"))),
        ("a eq b in (1)", compare("eq", A, In(B, (ONE,)))),
        ("a in b in c", InCollection(InCollection(A, B), C)),
        ("a in (1) eq b", compare("eq", In(A, (ONE,)), B)),
    ],
)
def test_precedence(text: str, tree: Node) -> None:
    assert parse_expression(text) == tree


NAMES = "eq and or in has not any all case date contains type number duration asc desc Null inf"


@pytest.mark.parametrize("name", [*NAMES.split(), "add", "mod", "guid", "E1"])
@pytest.mark.parametrize(
    "form", ["{} eq 1", "1 eq {}", "f({},{})", "not ({}) and {} eq {}", "x/{} in ({})", "-{}", "{}"]
)
def test_no_name_is_reserved(name: str, form: str) -> None:
    """A property may be called like an operator, a function or a prefix of a literal."""
    tree = parse_expression(form.replace("{}", name))
    names = [node.segments[-1] for node, _ in walk(tree) if isinstance(node, Path)]
    assert names == [name] * form.count("{}")


def test_a_property_named_not_is_a_property_before_an_operator() -> None:
    assert parse_expression("not eq 1") == Binary("eq", path("not"), ONE)
    assert parse_expression("not and not a") == Logical("and", (path("not"), Unary("not", A)))


def test_positions_are_those_of_the_tokens() -> None:
    tree = parse_expression(" a eq 'x' and not (f( b ) in (1)) and -c/any(d:d)")
    found = sorted((node.position, type(node).__name__) for node, _ in walk(tree))
    assert found == [
        (1, "Path"),
        (3, "Binary"),
        (6, "Literal"),
        (10, "Logical"),
        (14, "Unary"),
        (19, "Call"),
        (22, "Path"),
        (26, "In"),
        (30, "Literal"),
        (38, "Unary"),
        (39, "Lambda"),
        (39, "Path"),
        (47, "Path"),
    ]


def test_equality_ignores_only_positions() -> None:
    assert parse_expression("a eq 1") == parse_expression("  ( a  eq  1 )")
    assert hash(parse_expression("a eq 1")) == hash(parse_expression("  a eq 1"))
    texts = ["a eq 1", "a ne 1", "a eq 2", "b eq 1", "a eq '1'", "a/b eq 1", "a in (1)", "[a,b]"]
    texts += [
        "[[a],b]",
        "[[a,b]]",
        "[a,[b]]",
        "f(a,b)",
        "f(g(a),b)",
        "f(g(a,b))",
        "a/any()",
        "a/any(b:c)",
    ]
    texts += ["a and b and c", "(a and b) and c", "case(a:b)", "case(a:b,a:b)", "@a", "-a", "not a"]
    trees = {parse_expression(text) for text in texts}
    assert len(trees) == len(texts)
    assert parse_expression("a") != "a"


def test_children_are_in_the_order_of_the_text() -> None:
    text = "case(a:-b,c in (d,e):f(g,[h]))  eq i/any(j:k) and l in m"
    order: list[str] = []

    def visit(node: Node) -> None:
        if isinstance(node, Path):
            order.append(node.segments[0])
        for child in children(node):
            visit(child)

    visit(parse_expression(text))
    assert "".join(order) == "abcdeghiklm"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("a", (OrderItem(A),)),
        (" a asc , b DESC ", (OrderItem(A), OrderItem(B, descending=True))),
        ("a,b/c desc", (OrderItem(A), OrderItem(path("b/c"), descending=True))),
        ("desc desc,asc", (OrderItem(path("desc"), descending=True), OrderItem(path("asc")))),
        ("a eq 1 desc", (OrderItem(compare("eq", A, ONE), descending=True),)),
        ("concat(a,b) desc", (OrderItem(Call("concat", (A, B)), descending=True),)),
        ("(not) desc", (OrderItem(path("not"), descending=True),)),
    ],
)
def test_orderby(text: str, items: tuple[OrderItem, ...]) -> None:
    assert parse_orderby(text) == items


def test_orderby_items_have_their_positions() -> None:
    assert [item.position for item in parse_orderby(" a desc, b")] == [1, 9]
