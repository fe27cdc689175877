"""Filters that cannot be: each is refused with its place and what is wrong, none is ignored."""

import pytest

from support.office import Company
from support.refusals import refusal

INVALID = "BadRequest_InvalidRequestUrl"
UNSUPPORTED = "BadRequest_MethodNotImplemented"

UNFINISHED = [
    "",
    " ",
    "(",
    "()",
    "code eq",
    "code eq ",
    "eq 'x'",
    "code",
    "'x'",
    "5",
    "code 'x'",
    "code eq 'x",
    "code eq x'",
    "code eq 'x' and",
    "code eq 'x' and or code eq 'y'",
    "and code eq 'x'",
    "not",
    "not ",
    "(code eq 'x'",
    "code eq 'x')",
    "code eq 'x' code eq 'y'",
    "code=='x'",
    "code = 'x'",
    'code eq "x"',
    "code eq 'it's'",
    "code in",
    "code in ()",
    "code in ('x'",
    "code in ('x',)",
    "code in ('x' 'y')",
    "contains(code",
    "contains(code,",
    "contains code,'x')",
    "code eq 'x'; drop table contacts",
    "code eq 'x' -- comment",
    "code eq '\x00'",
    "code\xa0eq 'x'",
]

MISTYPED = [
    "rank eq 'x'",
    "rank eq true",
    "rank eq 2024-01-01",
    "amount eq '5'",
    "code eq 5",
    "code eq true",
    "code eq 2024-01-01",
    "code gt rank",
    "active eq 1",
    "active eq 'true'",
    "active and rank",
    "active or code",
    "not rank",
    "not 'x'",
    "reference eq '00000000-0000-0000-0000-000000000000'",
    "reference eq 5",
    "reference eq code",
    "day eq '2024-01-01'",
    "day eq 2024-01-01T00:00:00Z",
    "day eq moment",
    "moment gt 2024-01-01",
    "moment eq '2024-01-01T00:00:00Z'",
    "day eq 2024-02-30",
    "moment eq 2024-02-30T00:00:00Z",
    "moment eq 2024-02-29T23:59:60Z",
    "amount eq 1e99999999999999999999",
    "code in (5)",
    "rank in ('x')",
    "rank in (7,'x')",
    "day in (2024-02-30)",
    "day eq duration'P1D'",
    "contains(rank,'x')",
    "contains(code,5)",
    "contains(code,true)",
    "length(rank) eq 5",
    "length(code) eq 'x'",
    "length(code)",
    "tolower(code)",
    "tolower(active) eq 'x'",
    "contains(code,'x') eq 5",
    "contains(code,'x') and 5",
]

UNKNOWN = [
    "nothing eq 'x'",
    "Code eq 'x'",
    "CODE eq 'x'",
    "nothing(code)",
    "contain(code,'x')",
    "substringof('x',code)",
    "record_version eq 1",
    "company_id eq 'x'",
    "contains(nothing,'x')",
    "nothing in ('x')",
    "contains(code)",
    "contains(code,'x','y')",
    "contains()",
    "length() eq 5",
]

BEYOND = [
    ("rank add 1 eq 2", "add"),
    ("amount div 2 eq 1", "div"),
    ("rank mod 2 eq 0", "mod"),
    ("-rank eq 7", "-"),
    ("year(day) eq 2024", "year"),
    ("round(amount) eq 1", "round"),
    ("concat(code,'x') eq 'y'", "concat"),
    ("indexof(code,'x') eq 1", "indexof"),
    ("trim(code) eq 'x'", "trim"),
    ("now() gt moment", "now"),
    ("matchesPattern(code,'x')", "matchespattern"),
    ("cast(rank,Edm.String) eq 'x'", "cast"),
    ("code eq @p", "@p"),
    ("code has Ns.Color'Red'", "has"),
    ("items/any(d:d/x eq 1)", "any"),
    ("$it/code eq 'x'", "$it"),
    ("code/length eq 1", "code/length"),
    ("code in codes", "in"),
    ("code in (text)", "text"),
    ("case(active:1,true:2) eq 1", "case"),
]


@pytest.mark.parametrize("text", [*UNFINISHED, *MISTYPED, *UNKNOWN])
def test_a_filter_that_does_not_fit_is_400_with_its_place(text: str, specimens: Company) -> None:
    error = refusal(specimens.get("specimensExt", {"$filter": text}), INVALID, "$filter")

    assert "column" in error.message or text.strip() == "" or "depth" in error.message


@pytest.mark.parametrize(("text", "name"), BEYOND)
def test_what_odata_has_and_the_service_has_not_is_501_by_name(
    text: str, name: str, specimens: Company
) -> None:
    answer = specimens.get("specimensExt", {"$filter": text})

    error = refusal(answer, UNSUPPORTED, "$filter")
    assert name.lower() in error.message.lower()


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("nothing eq 1", 1),
        ("rank eq 1 and nothing eq 1", 15),
        ("rank eq 'x'", 9),
        ("contains(code,5)", 15),
        ("(rank eq 1 or (active and rank))", 27),
        ("code eq '😀' and nothing eq 1", 17),
    ],
)
def test_the_place_is_counted_in_characters_from_1(
    text: str, column: int, specimens: Company
) -> None:
    error = refusal(specimens.get("specimensExt", {"$filter": text}), INVALID)

    assert f"column {column}:" in error.message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("activ eq true", "active"),
        ("refrence eq 5", "reference"),
        ("contain(code,'x')", "contains"),
    ],
)
def test_the_nearest_name_is_told(text: str, hint: str, specimens: Company) -> None:
    error = refusal(specimens.get("specimensExt", {"$filter": text}), INVALID)

    assert f"Did you mean {hint}?" in error.message
