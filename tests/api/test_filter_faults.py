"""Invalid filters are refused with the problem and its column; nothing is ignored."""

import pytest

from support.companies import Company
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
    "day eq 2024-01-01T00:00:01Z",
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

COMPUTED = [
    "rank add 'x' eq 5",
    "text add 1 eq 5",
    "rank sub active eq 5",
    "-text eq 'x'",
    "-day eq 2024-01-01",
    "null add 'x' eq 5",
    "day add 1 eq day",
    "day sub moment eq duration'P1D'",
    "day add day eq day",
    "duration'PT1H' sub moment eq duration'P1D'",
    "duration'PT1H' mul duration'PT1H' eq duration'P1D'",
    "duration'PT1H' mod 2 eq duration'P1D'",
    "rank div duration'PT1H' eq 1",
    "rank add 99999999999999999999 eq 1",
    "amount add 99999999999999.5 eq 1",
    "amount add 0.0000000000000000000000000000001 gt 1",
    "moment add duration'PT0.000001S' gt moment",
    "rank div 0 eq 1",
    "rank divby 0 eq 1",
    "rank mod 0 eq 1",
    "amount div 0.0 eq 1",
    "duration'PT1H' div 0 eq duration'PT1H'",
    "round(text) eq 1",
    "round() eq 1",
    "floor(rank,1) eq 1",
    "year(code) eq 2024",
    "year(time(moment)) eq 2024",
    "hour(day) eq 1",
    "date(day) eq day",
    "year(2020-01-01T00:00:00+02:00) eq 2020",
    "totalseconds(5) eq 5",
    "now(5) eq moment",
    "substring(code) eq 'x'",
    "substring(code,1.5) eq 'x'",
    "substring(code,'x') eq 'x'",
    "substring(code,0,-1) eq 'x'",
    "concat(code,5) eq 'x'",
    "indexof(code,5) eq 1",
    "trim(5) eq 'x'",
    "matchesPattern(code,5)",
    "matchesPattern(code,'(a')",
    "matchesPattern(code,'a)')",
    "matchesPattern(code,'[a')",
    "matchesPattern(code,'*a')",
    "matchesPattern(code,'a**')",
    "matchesPattern(code,'a{3,2}')",
    "matchesPattern(code,'[z-a]')",
    "matchesPattern(code,'\\')",
    "matchesPattern(code,'((a{50}){50}){50}')",
    f"matchesPattern(code,'{'x' * 201}')",
    "cast(rank,'Edm.String') eq '1'",
    "cast(rank,Edm.Text) eq '1'",
    "cast(rank,text) eq '1'",
    "cast(rank) eq '1'",
    "cast() eq '1'",
    "isof(rank,Edm.Int32,1)",
    "case(rank:1,true:2) eq 1",
    "case(active:1,true:'x') eq 1",
    "case(active:1,true:2)",
    "code in text",
    "code in codes",
    "code in 'x'",
    "code in (5,text)",
    "code in (rank)",
    "Comptoir.contact/code eq 'x'",
    "Comptoir.nothing/code eq 'x'",
    "code/$count eq 1",
    "$count eq 1",
    "items/any(d:d/x eq 1)",
    "code/any(d:d eq 'x')",
    "active eq duration'PT1H'",
    "amount gt duration'P1D'",
]

BEYOND = [
    ("code has Ns.Color'Red'", "has"),
    ("$this/code eq 'x'", "$this"),
    ("$root/code eq 'x'", "$root"),
    ("code eq binary'T0RhdGE='", "binary"),
    ("hassubset([1],[1])", "hassubset"),
    ("hassubsequence([1],[1])", "hassubsequence"),
    ("geo.distance(code,code) eq 1", "geo.distance"),
    ("cast(rank,Edm.Double) eq 1", "Edm.Double"),
    ("cast(rank,Edm.GeographyPoint) eq 1", "Edm.GeographyPoint"),
    ("cast(Comptoir.specimen) eq 1", "Comptoir.specimen"),
    ("isof(code,Edm.Stream)", "Edm.Stream"),
    ("rank add NaN eq 1", "NaN"),
    ("rank mul INF eq 1", "INF"),
    ("contains(content,content)", "search for long texts within long texts"),
    (" or ".join(["indexof(text,text) eq 1"] * 17), "search for long texts within long texts"),
    ("matchesPattern(code,text)", "pattern"),
    ("matchesPattern(code,'(?=a)')", "(?"),
    ("matchesPattern(code,'\\bx')", "word boundary"),
    ("matchesPattern(code,'(a)\\1')", "reference"),
    ("matchesPattern(code,'\\p{L}')", "Unicode property"),
    ("matchesPattern(code,'a{51}')", "count above 50"),
    ("matchesPattern(code,'(^a|b)*')", "a * with an anchor in its group"),
    ("matchesPattern(code,'[]')", "an empty class"),
]


@pytest.mark.parametrize("text", [*UNFINISHED, *MISTYPED, *UNKNOWN, *COMPUTED])
def test_an_invalid_filter_is_400_with_its_column(text: str, specimens: Company) -> None:
    error = refusal(specimens.get("specimensExt", {"$filter": text}), INVALID, "$filter")

    assert "column" in error.message or text.strip() == "" or "depth" in error.message


@pytest.mark.parametrize(("text", "name"), BEYOND)
def test_an_unsupported_construct_is_501_with_its_name(
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
        ("matchesPattern(code,'(a')", 22),
        ("matchesPattern(code,'it''s [')", 28),
        (f"matchesPattern(code,'{'x' * 201}')", 222),
    ],
)
def test_columns_count_characters_from_1(text: str, column: int, specimens: Company) -> None:
    error = refusal(specimens.get("specimensExt", {"$filter": text}), INVALID)

    assert f"column {column} of" in error.message


def test_the_column_of_a_construct_within_a_pattern(specimens: Company) -> None:
    answer = specimens.get("specimensExt", {"$filter": "matchesPattern(code,'(a)\\1')"})

    assert "column 25 of" in refusal(answer, UNSUPPORTED).message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("activ eq true", "active"),
        ("refrence eq 5", "reference"),
        ("contain(code,'x')", "contains"),
    ],
)
def test_the_nearest_name_is_suggested(text: str, hint: str, specimens: Company) -> None:
    error = refusal(specimens.get("specimensExt", {"$filter": text}), INVALID)

    assert f"Did you mean {hint}?" in error.message
