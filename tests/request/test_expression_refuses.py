"""Expressions that the parser refuses: the problem, the column and the remedy."""

import pytest

from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED, Refusal
from comptoir.request.expression.parser import parse_expression, parse_orderby


def refuse(text: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        parse_expression(text)
    return caught.value


def test_a_message_has_problem_column_and_remedy() -> None:
    refusal = refuse("(name) foo")
    assert refusal.error is INVALID_URL
    assert refusal.target == "$filter"
    assert refusal.message == (
        "Expected an operator after '(name)', found 'foo' at column 8 of $filter. "
        "Write for example `name eq 'A'` and join conditions with ` and ` or ` or `."
    )


def test_the_option_is_named() -> None:
    with pytest.raises(Refusal, match=r" of \$compute\. ") as caught:
        parse_expression("a eq", option="$compute")
    assert caught.value.target == "$compute"


def test_long_names_are_cut() -> None:
    message = refuse("a" * 100 + " " + "b" * 100).message
    assert f"after '{'a' * 40}', found '{'b' * 39}…' at column 102 of $filter. " in message


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        (
            "a eq",
            5,
            "Expected a value after 'eq', found the end of the text at column 5 of $filter. ",
        ),
        ("a eq  ", 7, "found the end of the text"),
        ("a eq 'x' and", 13, "Expected a value after 'and'"),
        ("a eq 'x' and ", 14, "Expected a value after 'and'"),
        ("not -", 6, "Expected a value after '-'"),
        ("-", 2, "Expected a value after '-'"),
        ("a eq )", 6, "found ')' at column 6 of $filter. Add a value before it"),
        ("()", 2, "Add a value before it"),
        ("f(a,)", 5, "Add a value before it"),
        ("a in (,)", 7, "Add a value before it"),
        ("a in -b", 6, "Expected a value after 'in'"),
        ("a eq 'x", 6, "Close the text with `'`"),
        ("'", 1, "Close the text with `'`"),
        ("a 'x", 3, "Close the text with `'`"),
        ("a eq 'O'Neil'", 9, "Double a quote inside a text: 'O''Neil'"),
        ('a eq "x"', 6, "Put text in single quotes"),
        ('["\\x"]', 2, "Expected a value"),
        ("a eq 1.5L", 6, "Write the number without a suffix"),
        ("a eq 5-3", 6, "subtract with ` sub `"),
        ("a eq 1.", 6, "Write numbers as"),
        ("a eq .5", 6, "Write numbers as"),
        ("a eq 2024-1-1", 6, "A date has a year of four digits, month and day"),
        ("a eq 2024-13-01", 6, "A date has"),
        ("a eq 2024-00-10", 6, "A date has"),
        ("a eq 2024-01-32", 6, "A date has"),
        ("a eq 2024-01-01T00:00:00", 6, "`Z` or an offset: 2024-12-31T23:59:59Z"),
        ("a eq 2024-01-01T24:00:00Z", 6, "Write a date-time with valid parts"),
        ("a eq 24:00:00", 8, "A time of day has"),
        ("a eq 5d115c9c-44e3-ea11-bb43-000d3a2fec", 6, "A Guid has 8-4-4-4-12"),
        ("a eq #", 6, "found '#' at column 6 of $filter. A value is a property, a literal"),
        ("!a", 1, "Operators are words between two values"),
        ("a like 'b'", 3, "found 'like' at column 3 of $filter. Write `contains(name,'A')`"),
        ("a contains 'b'", 3, "Write `contains(name,'A')`"),
        ("a between 1 and 2", 3, "`number ge 1 and number le 9`"),
        ("a not in (1)", 3, "Write `not (name in ('A','B'))`"),
        ("a is null", 3, "Write ` eq ` with spaces around it"),
        ("a = 1", 3, "found '=' at column 3 of $filter. Write ` eq ` with spaces around it"),
        ("a == 1", 3, "found '==' at column 3 of $filter. Write ` eq `"),
        ("a=1", 2, "Write ` eq `"),
        ("a != 1", 3, "Write ` ne `"),
        ("a <> 1", 3, "Write ` ne `"),
        ("a < 1", 3, "Write ` lt `"),
        ("a >= 1", 3, "Write ` ge `"),
        ("a && b", 3, "Write ` and `"),
        ("a || b", 3, "Write ` or `"),
        ("a -1", 3, "Write ` sub `"),
        ("a desc", 3, "Put the direction at the end of an item of `$orderby`"),
        (
            "a eq 1 b eq 2",
            8,
            "found 'b' at column 8 of $filter. Write for example `name eq 'A'` and join conditions",
        ),
        ("a,b", 2, "Expected an operator after 'a', found ','"),
        ("(a)and b", 4, "Expected a space before 'and'"),
        ("a and(b)", 3, "Expected a space after 'and'"),
        ("a in(1)", 3, "Expected a space after 'in'"),
        ("a eq'x'", 3, "Expected a space after 'eq'"),
        ("(a", 1, "'(' is not closed at column 1 of $filter. Add a `)`."),
        ("f(g(a)", 2, "'(' is not closed"),
        ("[a", 1, "'[' is not closed at column 1 of $filter. Add a `]`."),
        ("a eq 1)", 7, "')' closes a bracket that is not open"),
        ("(a]", 3, "']' closes a bracket that is not open"),
        ("f(a b)", 5, "Expected an operator, ',' or ')' after 'f(a'"),
        ("case(a eq 'b')", 14, "Write for example `case("),
        ("f('a']", 6, "closes a bracket that is not open"),
        ("f(,a)", 3, "found ',' at column 3"),
        ("a\n", 2, r"found '\n' at column 2"),
        ("a\xa0eq 1", 2, r"found '\xa0' at column 2"),
        ("a in (1 2)", 9, "Separate members by `,`"),
        ("case(a)", 7, "Expected an operator or ':'"),
        ("case()", 6, "Add a value before it"),
        ("any(a:a)", 1, "'any' lacks its collection"),
        ("a/all()", 1, "'all' lacks"),
        ("a/any(a eq 1)", 1, "'any' lacks"),
        ("b eq a/", 6, "Expected a path, found 'a/'"),
        ("a//b", 1, "Expected a path"),
        ("a..b", 1, "Expected a path"),
        ("$foo", 1, "Expected a path, found '$foo'"),
        ("a/$it", 1, "Expected a path"),
        ("$count", 1, "Expected a path"),
        ("a/$count/b", 1, "Expected a path"),
        (f"a eq guid'{'0' * 32}'", 6, "is of an older version of OData"),
        (
            "a eq datetime'2024-01-01T00:00:00'",
            6,
            "Write the value as 2024-12-31T",
        ),
        ("a eq DateTimeOffset'2024-01-01T00:00:00Z'", 6, "is of an older version of OData"),
        ("a eq X'FF'", 6, "binary'T0RhdGE'"),
        ("a eq foo'x'", 6, "Unknown literal prefix 'foo'"),
        ("a eq duration'x'", 6, "Write for example duration'P1DT12H'"),
        ("a eq duration'P'", 6, "is malformed"),
        ("a eq duration'P1DT'", 6, "is malformed"),
        ("a eq duration'P1D", 14, "Close the text"),
        ("a eq binary'*'", 6, "is malformed"),
        ("a eq Ns.Color'Red Blue'", 6, "Write for example Ns.Color'Red,Blue'"),
    ],
)
def test_a_refusal_has_the_column_and_a_remedy(text: str, column: int, said: str) -> None:
    message = refuse(text).message
    assert said in message
    assert f" at column {column} of $filter. " in message


@pytest.mark.parametrize("text", ["", " ", "\t "])
def test_an_empty_expression_is_refused_as_empty(text: str) -> None:
    assert refuse(text).message.startswith("$filter is empty. Write for example")
    with pytest.raises(Refusal, match=r"^\$orderby is empty\. .*`name desc,number`"):
        parse_orderby(text)


@pytest.mark.parametrize(
    ("text", "column", "construct"),
    [
        ("a eq {}", 6, "A JSON object"),
        ("@Core.Term eq 1", 1, "An annotation value"),
        ("a/@Core.Term eq 1", 1, "An annotation value"),
        ("@p/a", 1, "A path after a parameter alias"),
        ("f(a)/b", 1, "A path after a call"),
        ("$root/items('A')/b", 1, "A key or function inside a path"),
        ("items/$count($filter=a)", 1, "A key or function inside a path"),
        ("items/$filter(a)", 1, "$filter inside a path"),
        ("x eq Ns.f(a=1)", 6, "The function 'Ns.f'"),
        ("geo.distance(a,b) lt 1", 1, "The function 'geo.distance'"),
        ("a eq geography'POINT(0 0)'", 6, "A geography literal"),
    ],
)
def test_unsupported_odata_is_refused_by_name(text: str, column: int, construct: str) -> None:
    refusal = refuse(text)
    assert refusal.error is NOT_IMPLEMENTED
    assert refusal.message.startswith(
        f"{construct} is not supported at column {column} of $filter. "
    )


@pytest.mark.parametrize(
    ("text", "column"),
    [("a,", 3), (",a", 1), ("a desc b", 8), ("a descending", 3), ("a;b", 2), ("a desc)", 7)],
)
def test_a_refusal_of_orderby_has_the_column(text: str, column: int) -> None:
    with pytest.raises(Refusal) as caught:
        parse_orderby(text)
    assert caught.value.target == "$orderby"
    assert f"at column {column}" in caught.value.message


@pytest.mark.parametrize("text", ["a desc desc", "a ASC foo,b"])
def test_an_item_of_orderby_ends_with_its_direction(text: str) -> None:
    with pytest.raises(Refusal, match=r"^Expected ',' after '(desc|ASC)', found "):
        parse_orderby(text)


def test_the_example_is_one_of_the_option() -> None:
    with pytest.raises(Refusal, match="Write for example `name desc,number`"):
        parse_orderby("a,")
