"""Operation 7: the one price that matches stands at the top as well, before `value`."""

from decimal import Decimal

import msgspec
import pytest

from support.client import Query, Record, page, values
from support.companies import Company
from support.samples import SAMPLES
from support.together import together

ONE = "assetType eq 'Item' and assetNumber eq '1896-S'"
SEVERAL = "assetType eq 'Item'"
NONE = "assetNumber eq 'nothing'"


@pytest.fixture(scope="module")
def prices(stocked: Company) -> Company:
    """Two prices of items: of 1896-S for the sample, and of 1900-S."""
    stocked.load(
        "salesPricesExt", {**SAMPLES["salesPricesExt"], "entryNo": 18, "assetNumber": "1900-S"}
    )
    return stocked


Body = dict[str, str | int | float | bool | list[Record]]


def top(content: bytes) -> Body:
    """A body, without the records in `value`."""
    body = msgspec.json.decode(content, type=Body)
    assert isinstance(body.pop("value"), list)
    return body


def test_the_single_match_stands_at_the_top_and_in_value(prices: Company) -> None:
    answer = prices.get("salesPricesExt", {"$filter": ONE})

    body = msgspec.json.decode(answer.content, type=Body)
    value = body.pop("value")
    context = body.pop("@odata.context")
    assert value == [body]
    assert body == prices.listed("salesPricesExt", {"$filter": "entryNo eq 17"})[0]
    base = prices.root.partition("/companies")[0]
    assert context == f"{base}/$metadata#companies({prices.id})/salesPricesExt"


def test_value_comes_last(prices: Company) -> None:
    answer = prices.get("salesPricesExt", {"$filter": ONE})

    assert list(msgspec.json.decode(answer.content))[-1] == "value"


@together("text", [SEVERAL, NONE])
def test_several_or_no_matches_are_a_collection_alone(text: str, prices: Company) -> None:
    answer = prices.get("salesPricesExt", {"$filter": text})

    assert top(answer.content).keys() == {"@odata.context"}
    assert len(values(answer)) == (2 if text == SEVERAL else 0)


@together(
    "query",
    [
        {"$filter": SEVERAL, "$top": 1},
        {"$filter": ONE, "$top": 5},
        {"$filter": ONE, "$count": "true"},
        {"$filter": ONE, "$count": "false"},
        {"$filter": ONE, "$orderby": "entryNo"},
    ],
)
def test_another_option_makes_it_a_collection_alone(query: Query, prices: Company) -> None:
    answer = prices.get("salesPricesExt", query)

    assert top(answer.content).keys() <= {"@odata.context", "@odata.count"}
    assert len(page(answer).value) == 1


@together("header", ["OData-Version", "OData-MaxVersion"])
def test_a_client_that_names_the_protocol_gets_a_collection_alone(
    header: str, prices: Company
) -> None:
    answer = prices.get("salesPricesExt", {"$filter": ONE}, {header: "4.0"})

    assert top(answer.content).keys() == {"@odata.context"}
    assert len(values(answer)) == 1


def test_one_record_on_a_page_of_several_is_not_the_single_match(prices: Company) -> None:
    """All records that match count, not those on the page."""
    answer = prices.get("salesPricesExt", {"$filter": SEVERAL}, {"Prefer": "maxpagesize=1"})

    assert top(answer.content).keys() == {"@odata.context", "@odata.nextLink"}


def test_a_small_page_does_not_hide_the_single_match(prices: Company) -> None:
    answer = prices.get("salesPricesExt", {"$filter": ONE}, {"Prefer": "maxpagesize=1"})

    assert top(answer.content)["entryNo"] == 17


def test_a_price_alone_in_its_company_matches_without_a_filter(own_stock: Company) -> None:
    answer = own_stock.get("salesPricesExt", {"custom": "1"})

    assert top(answer.content)["entryNo"] == 17


def test_no_other_kind_repeats_its_single_match(stocked: Company) -> None:
    answer = stocked.get("shippingAgentsExt", {"$filter": "code eq 'DHL'"})

    assert top(answer.content).keys() == {"@odata.context"}


def test_decimals_keep_every_digit(company: Company) -> None:
    """Decimals are never binary floats: 18 digits, without trailing zeros or exponent."""
    written = ["9999999999999.99999", "0.00001", "-12345678.9", "100", "0"]
    sample = SAMPLES["salesPricesExt"]
    rows = [
        {**sample, "entryNo": at, "unitPrice": Decimal(text)} for at, text in enumerate(written)
    ]
    company.load("salesPricesExt", *rows)

    content = company.get("salesPricesExt", {"$orderby": "entryNo"}).text

    assert [part.partition(",")[0] for part in content.split('"unitPrice":')[1:]] == written
