"""`$filter` with arithmetic, functions, `case`, casts, patterns, null and parameter aliases."""

from decimal import Decimal

import pytest

from support.companies import Company, Row
from support.refusals import refusal
from support.service import Service

SPECIMENS: tuple[Row, ...] = (
    {
        "code": "zero",
        "rank": 0,
        "text": "",
        "amount": Decimal(0),
        "active": False,
        "day": "2023-12-31",
        "moment": "2023-12-31T23:59:59.999Z",
    },
    {
        "code": "minus",
        "rank": -7,
        "text": " 50% Off\t",
        "amount": Decimal("-0.50000"),
        "active": True,
        "day": "2024-02-29",
        "moment": "2024-03-01T01:02:03.250Z",
    },
    {
        "code": "plus",
        "rank": 7,
        "text": "Straße 中😀",
        "amount": Decimal("33.6442"),
        "active": True,
        "day": "2025-01-31",
        "moment": "2025-01-31T12:00:00.000Z",
    },
)
ALL = "zero minus plus"


@pytest.fixture(scope="module")
def drawer(specimen_service: Service) -> Company:
    """Three specimens: zero, minus and plus."""
    company = specimen_service.new_company()
    company.load("specimensExt", *SPECIMENS)
    return company


ARITHMETIC = [
    ("rank add 1 eq 8", "plus"),
    ("rank sub 1 eq -8", "minus"),
    ("1 sub rank eq 8", "minus"),
    ("rank mul 3 eq 21", "plus"),
    ("rank mul 2147483647 gt 10000000000", "plus"),
    ("rank div 2 eq 3", "plus"),
    ("rank div 2 eq -3", "minus"),
    ("rank div -2 eq 3", "minus"),
    ("rank divby 2 eq 3.5", "plus"),
    ("rank div 2.0 eq -3.5", "minus"),
    ("rank mod 4 eq 3", "plus"),
    ("rank mod 4 eq -3", "minus"),
    ("rank mod -4 eq -3", "minus"),
    ("-rank eq 7", "minus"),
    ("-(-rank) eq 7", "plus"),
    ("- rank gt 0", "minus"),
    ("rank add 2 mul 3 eq 13", "plus"),
    ("(rank add 2) mul 3 eq 27", "plus"),
    ("rank sub 1 sub 1 eq 5", "plus"),
    ("amount add 0.5 eq 0", "minus"),
    ("amount add rank eq 40.6442", "plus"),
    ("rank sub amount eq -6.5", "minus"),
    ("amount mul 2 eq -1", "minus"),
    ("amount mul 1.19 eq 40.036598", "plus"),
    ("amount mul 1.19 gt 40.0365979", "plus"),
    ("amount mul 0.00001 eq -0.000005", "minus"),
    ("amount mul amount eq 1131.93219364", "plus"),
    ("amount mul amount sub amount eq 0.75", "minus"),
    ("amount mul amount mod 0.2 eq 0.05", "minus"),
    ("-(amount mul amount) lt -1131", "plus"),
    ("amount div 3 eq 11.21473", "plus"),
    ("amount div 100000 eq -0.00001", ""),
    ("amount div 100000 eq 0", "zero minus"),
    ("0.00001 div 2 eq 0", ALL),
    ("0.00003 div 2 eq 0.00002", ALL),
    ("amount mod 10 eq 3.6442", "plus"),
    ("amount mod 0.3 eq -0.2", "minus"),
    ("rank mod 2.5 eq 2", "plus"),
    ("rank mod length(code) eq -2", "minus"),
    ("rank div length(code) eq -1", "minus"),
    ("amount mod length(code) eq -0.5", "minus"),
    ("rank mul 1.5 mod length(code) eq -0.5", "minus"),
    ("rank add 9223372036854775800 eq 9223372036854775807", "plus"),
    ("rank lt 99999999999999999999", ALL),
    ("rank mul 1000000000000000 gt amount", "plus"),
    ("rank mul 1000000000000000 eq amount", "zero"),
    ("rank ne 0 and 14 div rank eq 2", "plus"),
]

SPANS = [
    ("day sub 2024-02-28 eq duration'P1D'", "minus"),
    ("day sub 2024-03-01 lt duration'PT0S'", "zero minus"),
    ("moment sub 2025-01-31T11:00:00Z eq duration'PT1H'", "plus"),
    ("moment sub 2024-01-01T00:00:00Z eq duration'-PT0.001S'", "zero"),
    ("moment add duration'PT0.001S' eq 2024-01-01T00:00:00Z", "zero"),
    ("moment sub duration'P1DT2H' eq 2025-01-30T10:00:00Z", "plus"),
    ("moment add duration'PT0.0009S' eq moment", ALL),
    ("day add duration'P1D' eq 2024-03-01", "minus"),
    ("day add duration'PT23H' eq day", ALL),
    ("day sub duration'PT1H' eq 2024-02-28", "minus"),
    ("duration'PT1H' add duration'PT30M' eq duration'PT90M'", ALL),
    ("duration'PT1H' sub duration'PT2H' eq -duration'PT1H'", ALL),
    ("duration'PT1H' mul rank eq duration'PT7H'", "plus"),
    ("2.5 mul duration'PT1H' eq duration'PT2H30M'", ALL),
    ("duration'P1D' div 3 eq duration'PT8H'", ALL),
    ("duration'PT1S' div 3 eq duration'PT0.33333S'", ALL),
    ("(duration'PT1H' divby 2) in (duration'PT30M',null)", ALL),
    ("totalseconds(moment sub 2024-03-01T01:02:00Z) eq 3.25", "minus"),
    ("totalseconds(duration'-PT1M') eq -60", ALL),
]

FUNCTIONS = [
    ("concat(code,'!') eq 'plus!'", "plus"),
    ("concat(concat(code,text),'') eq 'zero'", "zero"),
    ("indexof(text,'中') eq 7", "plus"),
    ("indexof(text,'😀') eq 8", "plus"),
    ("indexof(text,'x') eq -1", ALL),
    ("indexof(text,'') eq 0", ALL),
    ("substring(text,7) eq '中😀'", "plus"),
    ("substring(code,1,2) eq 'lu'", "plus"),
    ("substring(code,2,100) eq 'ro'", "zero"),
    ("substring(code,100) eq ''", ALL),
    ("substring(code,4) eq ''", "zero plus"),
    ("substring(code,-2) eq 'us'", "minus plus"),
    ("substring(code,-100) eq code", ALL),
    ("substring(code,-3,2) eq 'lu'", "plus"),
    ("substring(code,0,0) eq ''", ALL),
    ("substring(code,rank) eq 'minus'", "minus"),
    ("substring(code,length(text)) eq 'zero'", "zero"),
    ("trim(text) eq '50% Off'", "minus"),
    ("length(trim('\u3000x\u00a0')) eq 1", ALL),
    ("startswith(text,trim(text))", "zero plus"),
    ("endswith(code,substring(code,2))", ALL),
    ("contains(concat(text,code),'Off\tm')", "minus"),
    ("year(day) eq 2024", "minus"),
    ("year(moment) eq 2024", "minus"),
    ("month(day) eq 2 and day(day) eq 29", "minus"),
    ("month(moment) eq 3 and day(moment) eq 1", "minus"),
    ("hour(moment) eq 1 and minute(moment) eq 2 and second(moment) eq 3", "minus"),
    ("fractionalseconds(moment) eq 0.25", "minus"),
    ("fractionalseconds(time(moment)) eq 0.999", "zero"),
    ("hour(time(moment)) eq 12", "plus"),
    ("minute(01:02:03) eq 2", ALL),
    ("second(01:02:03.9) eq 3", ALL),
    ("date(moment) eq day", "zero plus"),
    ("time(moment) eq 23:59:59.999", "zero"),
    ("time(moment) lt 12:00", "minus"),
    ("totaloffsetminutes(moment) eq 0", ALL),
    ("now() gt moment", ALL),
    ("now() eq now()", ALL),
    ("year(now()) ge 2024", ALL),
    ("mindatetime() lt moment and moment lt maxdatetime()", ALL),
    ("mindatetime() eq 0001-01-01T00:00:00Z", ALL),
    ("maxdatetime() eq 9999-12-31T23:59:59.999Z", ALL),
    ("round(amount) eq -1", "minus"),
    ("round(amount) eq 34", "plus"),
    ("round(2.5) eq 3 and round(-2.5) eq -3", ALL),
    ("floor(amount) eq -1", "minus"),
    ("floor(amount) eq 33", "plus"),
    ("ceiling(amount) eq 0", "zero minus"),
    ("ceiling(amount) eq 34", "plus"),
    ("round(amount mul 1.19) eq 40", "plus"),
    ("round(rank) eq 7", "plus"),
    ("CONCAT(code,'!') EQ 'plus!'", "plus"),
]

TYPES = [
    ("cast(rank,Edm.String) eq '-7'", "minus"),
    ("cast(amount,Edm.String) eq '33.6442'", "plus"),
    ("cast(amount mul 1.19,Edm.String) eq '40.036598'", "plus"),
    ("cast(active,Edm.String) eq 'true'", "minus plus"),
    ("cast(day,Edm.String) eq '2024-02-29'", "minus"),
    ("cast(duration'P1DT1H',Edm.String) eq 'P1DT1H'", ALL),
    ("cast(amount,Edm.Int32) eq -1", "minus"),
    ("cast(amount,Edm.Int64) eq 34", "plus"),
    ("cast(99999999999,Edm.Int32) eq null", ALL),
    ("cast(rank,Edm.Decimal) div 2 eq 3.5", "plus"),
    ("cast('7',Edm.Int32) eq rank", "plus"),
    ("cast('7.5',Edm.Int32) eq null", ALL),
    ("cast('33.6442',Edm.Decimal) eq amount", "plus"),
    ("cast(code,Edm.Decimal) eq null", ALL),
    ("cast('2024-02-29',Edm.Date) eq day", "minus"),
    ("cast('2024-02-30',Edm.Date) eq null", ALL),
    ("cast('2025-01-31T12:00:00',Edm.DateTimeOffset) eq moment", "plus"),
    ("cast('2025-01-31T13:00:00+01:00',Edm.DateTimeOffset) eq moment", "plus"),
    ("cast('PT1H',Edm.Duration) eq duration'PT60M'", ALL),
    ("cast('12:30',Edm.TimeOfDay) eq 12:30:00", ALL),
    ("cast('true',Edm.Boolean) eq active", "minus plus"),
    ("cast('0A000000-0000-0000-0000-000000000000',Edm.Guid) gt id or true", ALL),
    ("cast(day,Edm.Int32) eq null", ALL),
    ("cast(null,Edm.Int32) eq null", ALL),
    ("isof(rank,Edm.Int32)", ALL),
    ("isof(rank,Edm.Decimal)", ""),
    ("isof(amount,Edm.Decimal)", ALL),
    ("isof(cast(code,Edm.Int32),Edm.Int32)", ""),
    ("isof(null,Edm.Int32)", ""),
    ("isof(Comptoir.specimen)", ALL),
    ("isof($it,Comptoir.specimen)", ALL),
    ("isof($it,Comptoir.contact)", ""),
    ("$it/code eq 'plus'", "plus"),
    ("Comptoir.specimen/code eq 'plus'", "plus"),
    ("$it/Comptoir.specimen/code eq 'plus'", "plus"),
]

CHOICES = [
    ("case(active:1,true:2) eq 1", "minus plus"),
    ("case(rank gt 0:'up',rank lt 0:'down') eq 'down'", "minus"),
    ("case(rank gt 0:'up',rank lt 0:'down') eq null", "zero"),
    ("case(rank gt 0:'up',rank lt 0:'down') ne 'up'", "zero minus"),
    ("not (case(rank gt 0:'up') eq 'up')", "zero minus"),
    ("case(active:amount,true:rank) eq 0", "zero"),
    ("case(active:amount mul 1.19,true:rank) gt 40", "plus"),
    ("case(rank gt 0:active)", "plus"),
    ("not case(rank gt 0:active)", ""),
    ("case(rank gt 0:active) or true", ALL),
    ("case(rank gt 0:active) and true", "plus"),
    ("case(rank gt 0:null,true:1) eq null", "plus"),
    ("case(null:1,true:2) eq 2", ALL),
    ("case(active:duration'PT1H',true:moment sub moment) eq duration'PT0S'", "zero"),
]

LISTS = [
    ("code in (text,'plus')", "plus"),
    ("rank in (amount,7)", "zero plus"),
    ("rank in (length(code),-7,1.5)", "minus"),
    ("amount in (33.6442,rank)", "zero plus"),
    ("code in ['plus','minus']", "minus plus"),
    ('code in ["plus","it\'s"]', "plus"),
    ("rank in []", ""),
    ("(rank add 1) in (8,1)", "zero plus"),
    ("case(active:rank) in (7,null)", "zero plus"),
    ("case(active:rank) in (case(active:7),0)", "zero plus"),
    ("not (case(active:rank) in (7))", "zero minus"),
    ("null in (case(active:rank))", "zero"),
    ("null in (1,null)", ALL),
    ("null in (1,2)", ""),
    ("(rank gt 0) in (active)", "zero plus"),
]

NULLS = [
    ("null", ""),
    ("not null", ""),
    ("null or true", ALL),
    ("null and true", ""),
    ("not (null and false)", ALL),
    ("null le null", ALL),
    ("null lt null", ""),
    ("rank add null eq null", ALL),
    ("-null eq null", ALL),
    ("length(null) eq null", ALL),
    ("contains(text,null)", ""),
    ("not contains(text,null)", ""),
    ("contains(text,null) eq null", ALL),
    ("case(active:rank) gt 0", "plus"),
    ("not (case(active:rank) gt 0)", "zero minus"),
    ("case(active:rank) le case(active:rank)", ALL),
    ("case(active:rank) lt case(active:8)", "minus plus"),
    ("case(active:rank) eq case(active:7)", "zero plus"),
    ("case(active:active) ne true", "zero"),
    ("case(active:active) eq null", "zero"),
    ("endswith(case(active:text),'')", "minus plus"),
    ("not endswith(case(active:text),'')", ""),
    ("toupper(case(active:code)) eq 'PLUS'", "plus"),
]

LOGIC = [
    ("(rank gt 0) eq (amount gt 0)", ALL),
    ("(rank gt 0 or active) eq active", ALL),
    ("(rank gt 0) ne active", "minus"),
    ("(rank gt 0) lt active", "minus"),
    ("active eq not (rank eq 0)", ALL),
]

PATTERNS = [
    ("matchesPattern(code,'^m')", "minus"),
    ("matchesPattern(code,'us$')", "minus plus"),
    ("matchesPattern(code,'^[a-y]+$')", "minus plus"),
    ("matchesPattern(code,'^(zero|plus)$')", "zero plus"),
    ("matchesPattern(code,'^.{4}$')", "zero plus"),
    ("matchesPattern(code,'n?us')", "minus plus"),
    ("matchesPattern(text,'^\\s\\d{1,2}%\\s?[^a-z]')", "minus"),
    ("matchesPattern(text,'ß.*😀$')", "plus"),
    ("matchesPattern(text,'^$')", "zero"),
    ("matchesPattern(text,'\\w\\W')", "minus plus"),
    ("matchesPattern(text,'')", ALL),
    ("matchesPattern(tolower(text),'off')", "minus"),
    ("MATCHESPATTERN(code,'(?:l|n)us')", "minus plus"),
    ("not matchesPattern(code,'us')", "zero"),
]

FAULTS = [
    ("10 div rank eq 1", "divisor is zero"),
    ("10 mod rank eq 1", "divisor is zero"),
    ("1.5 div amount eq 1", "divisor is zero"),
    ("amount divby rank eq 1", "divisor is zero"),
    ("amount mul 1000000000000 gt 0", "13 digits"),
    ("amount add 9999999999999.99999 gt 0", "13 digits"),
    ("amount div 0.00001 div 0.00001 div 0.00001 gt 0", "13 digits"),
    ("rank mul 9223372036854775807 gt 0", "64 bits"),
    ("rank add 9223372036854775807 gt 0", "64 bits"),
    ("rank mul 1000000000000000 add amount gt 0", "13 digits"),
    (
        "amount mul 1e-10 mul 1e-10 mul 1e-10 gt 0",
        "30 decimals",
    ),
    ("duration'PT0.00001S' mul amount gt duration'PT0S'", "5 decimals"),
    ("moment add duration'P4000000D' gt moment", "years 1 to 9999"),
    ("day sub duration'P4000000D' gt day", "years 1 to 9999"),
    ("substring(code,0,rank) eq 'x'", "not negative"),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [*ARITHMETIC, *SPANS, *FUNCTIONS, *TYPES, *CHOICES, *LISTS, *NULLS, *LOGIC, *PATTERNS],
)
def test_a_computing_filter_finds_these_records(text: str, found: str, drawer: Company) -> None:
    answer = drawer.get("specimensExt", {"$filter": text, "$count": "true"})

    assert answer.status_code == 200, answer.text
    codes = {each["code"] for each in answer.json()["value"]}
    assert codes == set(found.split())
    assert answer.json()["@odata.count"] == len(codes)


@pytest.mark.parametrize(("text", "why"), FAULTS)
def test_a_value_that_cannot_be_computed_is_400_with_the_reason(
    text: str, why: str, drawer: Company
) -> None:
    for options in ({"$filter": text}, {"$filter": text, "$count": "true"}, {"$orderby": text}):
        error = refusal(drawer.get("specimensExt", options), "BadRequest_InvalidRequestUrl")
        assert why in error.message


def test_a_fault_does_not_affect_the_next_request(drawer: Company) -> None:
    assert drawer.get("specimensExt", {"$filter": "10 div rank eq 1"}).status_code == 400

    assert len(drawer.listed("specimensExt", {"$filter": "rank add 1 gt -100"})) == 3


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"$filter": "code eq @c", "@c": "'plus'"}, "plus"),
        ({"$filter": "code eq @c", "@c": "'it''s'"}, ""),
        ({"$filter": "rank add @n eq @m", "@n": "1", "@m": "8"}, "plus"),
        ({"$filter": "rank gt @a", "@a": "@b sub 1", "@b": "8"}, ""),
        ({"$filter": "code in @list", "@list": '["plus","zero"]'}, "zero plus"),
        ({"$filter": "@c", "@c": "active and rank gt 0"}, "plus"),
        ({"$filter": "code eq @unset"}, ""),
        ({"$filter": "code ne @unset"}, ALL),
        ({"$filter": "code eq 'a@b'", "@b": "5"}, ""),
        ({"$filter": "matchesPattern(code,@p)", "@p": "'^p'"}, "plus"),
    ],
)
def test_a_parameter_alias_has_its_value(
    query: dict[str, str], found: str, drawer: Company
) -> None:
    for _ in range(2):
        codes = {each["code"] for each in drawer.listed("specimensExt", query)}
        assert codes == set(found.split())


@pytest.mark.parametrize("text", ["code eq '{}'", "concat(code,'') eq '{}'", "code in ('{}','x')"])
def test_filters_of_one_template_have_their_own_texts(text: str, drawer: Company) -> None:
    for code in ("plus", "zero", "minus", "''", "plus"):
        read = drawer.listed("specimensExt", {"$filter": text.format(code)})
        assert [each["code"] for each in read] == [code] * (code in ALL.split())


def test_patterns_and_durations_are_not_in_templates(drawer: Company) -> None:
    """They are texts in quotes, but their content decides how a filter is bound."""
    for pattern, found in (("^p", 1), ("s$", 2), ("(", None), ("^p", 1), ("o$", 1)):
        answer = drawer.get("specimensExt", {"$filter": f"matchesPattern(code,'{pattern}')"})
        assert answer.status_code == (400 if found is None else 200)
        assert found is None or len(answer.json()["value"]) == found
    for hours, found in (("PT1H", 0), ("P1D", 1), ("x", None), ("P1D", 1)):
        text = f"day sub 2024-02-28 eq duration'{hours}'"
        answer = drawer.get("specimensExt", {"$filter": text})
        assert answer.status_code == (400 if found is None else 200)
        assert found is None or len(answer.json()["value"]) == found


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a+)+$", "(a|a)*c", "(.*){1,50}x", "a{50}a{50}b"])
def test_every_pattern_matches_in_linear_time(pattern: str, specimen_service: Service) -> None:
    company = specimen_service.new_company()
    texts: list[Row] = [{"code": f"{n}", "rank": n, "text": "a" * 4_000} for n in range(50)]
    company.load("specimensExt", *texts)

    read = company.listed("specimensExt", {"$filter": f"matchesPattern(text,'{pattern}')"})

    assert len(read) == (50 if pattern == "(a+)+$" else 0)
