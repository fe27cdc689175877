"""Formats: how Accept is weighed, and numbers that do not fit a double as texts."""

import msgspec
import pytest

from support.client import page, record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.samples import PATHS

pytestmark = ON_SQLITE  # nothing of this is up to the database

AGENT = PATHS["shippingAgentsExt"]
NONE = "application/json;odata.metadata=none"
IEEE754 = "application/json;IEEE754Compatible=true"


def test_the_link_to_the_next_page_keeps_the_format(company: Company) -> None:
    company.load("shippingAgentsExt", {"code": "A"}, {"code": "B"})
    first = page(company.get("shippingAgentsExt", f"$format={NONE}", {"Prefer": "maxpagesize=1"}))
    assert first.next_link is not None

    assert company.follow(first.next_link).headers["content-type"] == NONE


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
