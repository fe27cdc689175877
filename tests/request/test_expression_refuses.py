"""What the parser refuses: what it says was found, what it expected, where, and the remedy."""

import pytest

from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED, Refusal
from comptoir.request.expression import parse_expression, parse_orderby


def refuse(text: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        parse_expression(text)
    return caught.value


def test_a_refusal_says_everything() -> None:
    refusal = refuse("(name) foo")
    assert refusal.error is INVALID_URL
    assert refusal.target == "$filter"
    assert refusal.message == (
        "$filter: expected an operator after `(name)` at column 8, but found `foo`. "
        "Write for example `name eq 'A'` and join conditions with ` and ` or ` or `."
    )


def test_the_option_is_named() -> None:
    with pytest.raises(Refusal, match=r"^\$compute: ") as caught:
        parse_expression("a eq", option="$compute")
    assert caught.value.target == "$compute"


def test_long_findings_are_cut() -> None:
    message = refuse("a" * 100 + " " + "b" * 100).message
    assert f"after `{'a' * 20}` at column 102" in message
    assert f"`{'b' * 19}…`" in message


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("a eq", 5, "expected a value after `eq` at column 5, but the text ends"),
        ("a eq  ", 7, "but the text ends"),
        ("a eq 'x' and", 13, "expected a value after `and`"),
        ("a eq 'x' and ", 14, "expected a value after `and`"),
        ("not -", 6, "expected a value after `-`"),
        ("-", 2, "expected a value after `-`"),
        ("a eq )", 6, "but found `)`. A value is missing"),
        ("()", 2, "A value is missing"),
        ("f(a,)", 5, "A value is missing"),
        ("a in (,)", 7, "A value is missing"),
        ("a in -b", 6, "expected a value after `in`"),
        ("a eq 'x", 6, "Close the text with `'`"),
        ("'", 1, "Close the text with `'`"),
        ("a 'x", 3, "Close the text with `'`"),
        ("a eq 'O'Neil'", 9, "Double a quote inside a text: 'O''Neil'"),
        ('a eq "x"', 6, "Text stands in single quotes"),
        ('["\\x"]', 2, "expected a value"),
        ("a eq 1.5L", 6, "Write the number without a suffix"),
        ("a eq 5-3", 6, "subtracted with ` sub `"),
        ("a eq 1.", 6, "Numbers are written"),
        ("a eq .5", 6, "Numbers are written"),
        ("a eq 2024-1-1", 6, "A date has four digits, month and day"),
        ("a eq 2024-13-01", 6, "A date has"),
        ("a eq 2024-00-10", 6, "A date has"),
        ("a eq 2024-01-32", 6, "A date has"),
        ("a eq 2024-01-01T00:00:00", 6, "`Z` or an offset: 2024-12-31T23:59:59Z"),
        ("a eq 2024-01-01T24:00:00Z", 6, "Write a date-time with valid parts"),
        ("a eq 24:00:00", 8, "A time of day has"),
        ("a eq 5d115c9c-44e3-ea11-bb43-000d3a2fec", 6, "A Guid has 8-4-4-4-12"),
        ("a eq #", 6, "found `#`. A value is a property, a literal"),
        ("!a", 1, "Operators are words between two values"),
        ("a like 'b'", 3, "found `like`. Write `contains(name,'A')`"),
        ("a contains 'b'", 3, "Write `contains(name,'A')`"),
        ("a between 1 and 2", 3, "`number ge 1 and number le 9`"),
        ("a not in (1)", 3, "Write `not (name in ('A','B'))`"),
        ("a is null", 3, "Write ` eq ` between blanks"),
        ("a = 1", 3, "found `=`. Write ` eq ` between blanks"),
        ("a == 1", 3, "found `==`. Write ` eq `"),
        ("a=1", 2, "Write ` eq `"),
        ("a != 1", 3, "Write ` ne `"),
        ("a <> 1", 3, "Write ` ne `"),
        ("a < 1", 3, "Write ` lt `"),
        ("a >= 1", 3, "Write ` ge `"),
        ("a && b", 3, "Write ` and `"),
        ("a || b", 3, "Write ` or `"),
        ("a -1", 3, "Write ` sub `"),
        ("a desc", 3, "A direction belongs at the end of an item of `$orderby`"),
        ("a eq 1 b eq 2", 8, "found `b`. Write for example `name eq 'A'` and join conditions"),
        ("a,b", 2, "expected an operator after `a` at column 2, but found `,`"),
        ("(a)and b", 4, "expected a blank before `and`"),
        ("a and(b)", 3, "expected a blank after `and`"),
        ("a in(1)", 3, "expected a blank after `in`"),
        ("a eq'x'", 3, "expected a blank after `eq`"),
        ("(a", 1, "the `(` at column 1 is not closed: expected `)` at column 3"),
        ("f(g(a)", 2, "the `(` at column 2 is not closed"),
        ("[a", 1, "the `[` at column 1 is not closed: expected `]`"),
        ("a eq 1)", 7, "the `)` at column 7 closes nothing"),
        ("(a]", 3, "the `]` at column 3 closes nothing"),
        ("f(a b)", 5, "expected an operator or `,` or `)` after `f(a`"),
        ("a in (1 2)", 9, "Separate members by `,`"),
        ("case(a)", 7, "expected an operator or `:`"),
        ("case()", 6, "A value is missing"),
        ("any(a:a)", 1, "`any` at column 1 lacks its collection"),
        ("a/all()", 1, "`all` at column 1 lacks"),
        ("a/any(a eq 1)", 1, "`any` at column 1 lacks"),
        ("b eq a/", 6, "expected a path at column 6, but found `a/`"),
        ("a//b", 1, "expected a path"),
        ("a..b", 1, "expected a path"),
        ("$foo", 1, "expected a path at column 1, but found `$foo`"),
        ("a/$it", 1, "expected a path"),
        ("$count", 1, "expected a path"),
        ("a/$count/b", 1, "expected a path"),
        (f"a eq guid'{'0' * 32}'", 6, "is of an older OData"),
        (
            "a eq datetime'2024-01-01T00:00:00'",
            6,
            "written without prefix or otherwise: 2024-12-31T",
        ),
        ("a eq DateTimeOffset'2024-01-01T00:00:00Z'", 6, "is of an older OData"),
        ("a eq X'FF'", 6, "binary'T0RhdGE'"),
        ("a eq foo'x'", 6, "`foo` at column 6 is no prefix of a literal"),
        ("a eq duration'x'", 6, "Write for example duration'P1DT12H'"),
        ("a eq duration'P'", 6, "is malformed"),
        ("a eq duration'P1DT'", 6, "is malformed"),
        ("a eq duration'P1D", 14, "Close the text"),
        ("a eq binary'*'", 6, "is malformed"),
        ("a eq Ns.Color'Red Blue'", 6, "Write for example Ns.Color'Red,Blue'"),
    ],
)
def test_refused_with_place_and_remedy(text: str, column: int, said: str) -> None:
    message = refuse(text).message
    assert said in message
    assert f"at column {column}" in message


@pytest.mark.parametrize("text", ["", " ", "\t "])
def test_an_empty_expression_is_said_to_be_empty(text: str) -> None:
    assert refuse(text).message.startswith("$filter: the expression is empty. Write for example")
    with pytest.raises(Refusal, match=r"^\$orderby: the expression is empty.*`name desc,number`"):
        parse_orderby(text)


@pytest.mark.parametrize(
    ("text", "column", "construct"),
    [
        ("a eq {}", 6, "a JSON object"),
        ("@Core.Term eq 1", 1, "an annotation value"),
        ("a/@Core.Term eq 1", 1, "an annotation value"),
        ("@p/a", 1, "a path after a parameter alias"),
        ("f(a)/b", 1, "a path after a call"),
        ("$root/items('A')/b", 1, "a key or function inside a path"),
        ("items/$count($filter=a)", 1, "a key or function inside a path"),
        ("items/$filter(a)", 1, "`$filter` inside a path"),
        ("x eq Ns.f(a=1)", 6, "the function `Ns.f`"),
        ("geo.distance(a,b) lt 1", 1, "the function `geo.distance`"),
        ("a eq geography'POINT(0 0)'", 6, "a geography literal"),
    ],
)
def test_what_is_odata_but_not_supported_is_refused_by_name(
    text: str, column: int, construct: str
) -> None:
    refusal = refuse(text)
    assert refusal.error is NOT_IMPLEMENTED
    assert f"{construct}, at column {column}, is not supported" in refusal.message


@pytest.mark.parametrize(
    ("text", "column"),
    [("a,", 3), (",a", 1), ("a desc b", 3), ("a descending", 3), ("a;b", 2), ("a desc)", 7)],
)
def test_orderby_refused_with_place(text: str, column: int) -> None:
    with pytest.raises(Refusal) as caught:
        parse_orderby(text)
    assert caught.value.target == "$orderby"
    assert f"at column {column}" in caught.value.message
