"""Operation 9: items by pairs of attribute names and values."""

from itertools import starmap

import pytest

from support.client import page, record, tag_of
from support.companies import Company
from support.service import Service

RED_DESK = "10000000-0000-4000-8000-000000000001"
BLUE_DESK = "10000000-0000-4000-8000-000000000002"
PLAIN_DESK = "10000000-0000-4000-8000-000000000003"
CATALOGUE = "filteredItemAttributesExt"


@pytest.fixture(scope="module")
def desks(service: Service) -> Company:
    """Three desks: a red one of 12 kg, a blue one of 12 kg, and one without attributes."""
    company = service.new_company()
    company.load(
        "itemsExt",
        {"id": RED_DESK, "number": "RED", "displayName": "Red desk"},
        {"id": BLUE_DESK, "number": "BLUE", "displayName": "Blue desk"},
        {"id": PLAIN_DESK, "number": "PLAIN", "displayName": "Plain desk"},
    )
    carried = [
        ("RED", "Colour", "red"),
        ("RED", "Weight", "12"),
        ("BLUE", "Colour", "blue"),
        ("BLUE", "Weight", "12"),
        ("BLUE", "Note", ""),
    ]
    company.load("itemAttributeValuesExt", *starmap(_carried, carried))
    return company


def _carried(item: str, name: str, value: str) -> dict[str, str]:
    return {"itemNo": item, "attributeName": name, "value": value}


def test_a_key_may_be_in_upper_case(own_stock: Company) -> None:
    [item] = own_stock.listed(CATALOGUE)
    [same] = own_stock.listed(f"{CATALOGUE}({str(item['itemId']).upper()})")

    assert same == item


def test_a_client_that_names_the_protocol_gets_the_entity_at_a_key(desks: Company) -> None:
    answer = desks.get(f"{CATALOGUE}({RED_DESK})", headers={"OData-MaxVersion": "4.0"})

    item = record(answer)
    assert item["itemNo"] == "RED"
    assert item["@odata.etag"] == tag_of(answer)
    assert str(item["@odata.context"]).endswith(f"{CATALOGUE}/$entity")


def test_the_etag_is_the_items(own_stock: Company) -> None:
    """A change of the item changes the tag, and the description follows the item's name."""
    [before] = own_stock.listed(CATALOGUE)
    updated = own_stock.patch(
        f"itemsExt({before['itemId']})",
        {"displayName": "BERLIN Desk"},
        if_match=str(before["@odata.etag"]),
    )

    [after] = own_stock.listed(CATALOGUE)

    assert after["itemDescription"] == "BERLIN Desk"
    assert after["@odata.etag"] == tag_of(updated) != before["@odata.etag"]


def test_the_catalogue_has_pages(desks: Company) -> None:
    first = page(desks.get(CATALOGUE, {"$count": "true"}, {"Prefer": "maxpagesize=2"}))
    assert first.next_link is not None
    last = page(desks.follow(first.next_link))

    assert [first.count, len(first.value), len(last.value)] == [3, 2, 1]
    found = {str(each["itemId"]) for each in [*first.value, *last.value]}
    assert found == {RED_DESK, BLUE_DESK, PLAIN_DESK}


def test_a_key_with_its_name_returns_the_plain_record(desks: Company) -> None:
    read = record(desks.get(f"{CATALOGUE}(itemId={RED_DESK})"))

    assert read["itemNo"] == "RED"
    assert "value" not in read
