"""Formats: how Accept is weighed, and numbers that do not fit a double as texts."""

import msgspec
import pytest

from support.client import page, record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.samples import PATHS
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

AGENT = PATHS["shippingAgentsExt"]
MINIMAL = "application/json;odata.metadata=minimal"
NONE = "application/json;odata.metadata=none"
FULL = "application/json;odata.metadata=full"
IEEE754 = "application/json;IEEE754Compatible=true"


@together(
    ("option", "media"),
    [
        ("json", MINIMAL),
        ("JSON", MINIMAL),
        ("application/json;odata.metadata=none", NONE),
        ("application%2Fjson%3Bodata.metadata%3Dfull", FULL),
        ("application/json;IEEE754Compatible=true", f"{MINIMAL};IEEE754Compatible=true"),
    ],
)
@together("name", ["$format", "format", "%24FORMAT"])
@together("path", [AGENT, "shippingAgentsExt", f"{AGENT}/code", f"{AGENT}/$ref", ""])
def test_the_option_wins_over_what_is_accepted(
    path: str, name: str, option: str, media: str, stocked: Company
) -> None:
    """A browser asks for HTML, and a person who types an address for a format."""
    answer = stocked.get(path, f"{name}={option}", {"Accept": "text/html"})

    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == media


def test_the_link_to_the_next_page_keeps_the_format(company: Company) -> None:
    company.load("shippingAgentsExt", {"code": "A"}, {"code": "B"})
    first = page(company.get("shippingAgentsExt", f"$format={NONE}", {"Prefer": "maxpagesize=1"}))
    assert first.next_link is not None

    assert company.follow(first.next_link).headers["content-type"] == NONE


@together("charset", ["utf-8", "UTF-8", "*", "iso-8859-1, utf-8;q=0.7, *;q=0.1", "x, *;q=0.1", ""])
def test_utf_8_is_the_charset(charset: str, stocked: Company) -> None:
    assert stocked.get(AGENT, headers={"Accept-Charset": charset}).status_code == 200


@together("level", ["minimal", "none", "full"])
def test_decimals_and_counts_are_texts_where_ieee754_is_asked_for(
    level: str, stocked: Company
) -> None:
    """Edm.Int32 fits a double and stays a number (OData JSON Format 4.01, 3.2)."""
    accept = f"{IEEE754};odata.metadata={level}"

    answer = stocked.get(
        "salesPricesExt", "$count=true", {"Accept": accept, "OData-Version": "4.0"}
    )

    assert b'"@odata.count":"1"' in answer.content
    for part in (b'"entryNo":17', b'"quantity":"2"', b'"unitPrice":"33.6442"'):
        assert part in answer.content
    alone = stocked.get(PATHS["customersExt"], headers={"Accept": accept})
    for part in (b'"balanceDue":"1234.5"', b'"creditLimit":"50000"', b'"taxLiable":true'):
        assert part in alone.content


def test_a_single_decimal_is_a_text_too(stocked: Company) -> None:
    path = f"{PATHS['salesPricesExt']}/unitPrice"

    assert b'"value":"33.6442"' in stocked.get(path, headers={"Accept": IEEE754}).content
    assert b'"value":33.6442' in stocked.get(path).content


def test_decimals_and_counts_are_numbers_otherwise(stocked: Company) -> None:
    stocked.get("salesPricesExt", headers={"Accept": IEEE754})

    answer = stocked.get("salesPricesExt", "$count=true", {"Accept": f"{IEEE754[:-4]}false"})

    for part in (b'"@odata.count":1,', b'"quantity":2,', b'"unitPrice":33.6442,'):
        assert part in answer.content


@pytest.mark.parametrize(
    ("sent", "back"),
    [
        ('"1234567890123.12345"', "1234567890123.12345"),
        ('"-0.50"', "-0.5"),
        ('"0"', "0"),
        ("2.5", "2.5"),
        ("7", "7"),
    ],
)
@pytest.mark.parametrize("media", [IEEE754, "Application/JSON; ieee754compatible=true"])
def test_a_body_says_that_its_decimals_are_texts(
    media: str, sent: str, back: str, specimens: Company
) -> None:
    body = f'{{"code": "a", "amount": {sent}}}'.encode()

    created = specimens.post("specimensExt", body, {"Content-Type": media, "Accept": IEEE754})

    assert record(created, 201)["amount"] == back
    path = f"specimensExt({record(created, 201)['id']})"
    for method in ("PATCH", "PUT"):
        replaced = b'{"code": "a", "amount": "%d.5"}' % len(method)
        headers = {"Content-Type": media, "If-Match": "*"}
        changed = specimens.request(method, path, body=replaced, headers=headers)
        assert record(changed)["amount"] == len(method) + 0.5


def test_a_very_long_text_is_not_a_decimal(specimens: Company) -> None:
    body = f'{{"code": "a", "amount": "{"9" * 100_000}"}}'.encode()

    refusal(specimens.post("specimensExt", body, {"Content-Type": IEEE754}), "BadRequest", "amount")


def test_streaming_keeps_control_information_in_front(stocked: Company) -> None:
    """What `odata.streaming=true` promises (OData JSON Format 4.01, 4.4)."""
    accept = "application/json;odata.metadata=full;odata.streaming=true"
    answer = stocked.get(AGENT, headers={"Accept": accept})

    names = list(msgspec.json.decode(answer.content, type=dict[str, object]))
    assert names[0] == "@odata.context"
    controls = [name.startswith("@") for name in names]
    assert controls == sorted(controls, reverse=True)
