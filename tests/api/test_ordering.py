"""`$orderby`: by one property or several, up or down, ties by key, text by code point."""

import pytest

from support.client import page, values
from support.companies import Company
from support.refusals import refusal
from support.samples import SAMPLES
from support.service import Service
from support.together import together


@pytest.fixture(scope="module")
def prices(service: Service) -> Company:
    """Twelve prices of three assets, with quantities and prices of several sizes and signs."""
    company = service.new_company()
    amounts = [10, 9, -1, 0.5, 1000000, 0.00001, -0.5, 100, 2, 2, 2, 0]
    company.load(
        "salesPricesExt",
        *(
            {
                **SAMPLES["salesPricesExt"],
                "entryNo": 100 - number,
                "assetNumber": f"A{number % 3}",
                "quantity": amount,
                "pricesIncludeTax": number % 2 == 0,
            }
            for number, amount in enumerate(amounts)
        ),
    )
    return company


@together("direction", ["", " desc"])
def test_pages_by_a_negative_duration_return_each_record_once(
    direction: str, prices: Company
) -> None:
    """A duration has more milliseconds than fit into 32 bits."""
    order = {"$orderby": f"-duration'P1D'{direction},quantity"}
    size = {"Prefer": "odata.maxpagesize=3"}

    read = page(prices.get("salesPricesExt", order, size))
    found = read.value
    while read.next_link is not None:
        read = page(prices.follow(read.next_link, size))
        found += read.value

    assert found == prices.listed("salesPricesExt", order)
    assert len(found) == 12


@pytest.mark.parametrize(
    ("name", "ordered"),
    [
        ("lastInteractionDate", ["0001-01-01", "0999-12-31", "2024-02-29", "9999-12-31"]),
        (
            "lastModifiedDateTime",
            [
                "0001-01-01T00:00:00.000Z",
                "2024-02-29T23:59:59.999Z",
                "2024-03-01T00:00:00.000Z",
                "9999-12-31T23:59:59.999Z",
            ],
        ),
        (
            "customerTemplateId",
            [
                "00000000-0000-0000-0000-000000000000",
                "0fffffff-0000-4000-8000-000000000000",
                "a0000000-0000-4000-8000-000000000000",
                "ffffffff-ffff-4fff-bfff-ffffffffffff",
            ],
        ),
    ],
)
def test_times_and_guids_are_sorted(name: str, ordered: list[str], company: Company) -> None:
    company.load(
        "contactsExt",
        *({"displayName": "x", "number": value[-9:] + value[:4], name: value} for value in ordered),
    )

    found = values(company.get("contactsExt", {"$orderby": f"{name} desc"}))

    assert [each[name] for each in found] == ordered[::-1]


def test_the_keys_of_an_order_are_limited(stocked: Company) -> None:
    """32 keys, and 64,000 characters of text in all: the skip token has all of them."""
    keys = [f"entryNo add {number}" for number in range(33)]
    long = "assetNumber"
    for _ in range(16):
        long = f"concat(variantCode,{long})"

    assert stocked.get("salesPricesExt", {"$orderby": ",".join(keys[1:])}).status_code == 200
    again = ",".join([*keys[1:], *keys[1:]])
    assert stocked.get("salesPricesExt", {"$orderby": again}).status_code == 200
    many = stocked.get("salesPricesExt", {"$orderby": ",".join(keys)})
    refusal(many, "BadRequest_InvalidRequestUrl", "$orderby")
    for order in ({"$orderby": long}, {"$orderby": "v", "$compute": f"{long} as v"}):
        refusal(stocked.get("salesPricesExt", order), "BadRequest_MethodNotImplemented")
