"""Operation 9: items by pairs of attribute names and values."""

from itertools import starmap

import pytest

from support.client import page, record, tag_of, values
from support.companies import Company
from support.refusals import refusal
from support.samples import NO_GUID, UNKNOWN
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


def numbers(company: Company, text: str, key: str = "") -> list[str]:
    path = f"{CATALOGUE}({key})" if key else CATALOGUE
    found = values(company.get(path, {"$filter": text} if text else ""))
    return sorted(str(each["itemNo"]) for each in found)


HEAVY = "attributeName1 eq 'Weight' and attributeValue1 eq '12'"
PAIRS = [
    ("", ["BLUE", "PLAIN", "RED"]),
    ("attributeName1 eq 'Colour' and attributeValue1 eq 'red'", ["RED"]),
    ("attributeValue1 eq 'red' and attributeName1 eq 'Colour'", ["RED"]),
    ("'Colour' eq attributeName1 and 'red' eq attributeValue1", ["RED"]),
    ("attributeName1 eq 'Weight' and attributeValue1 eq '12'", ["BLUE", "RED"]),
    (
        f"{HEAVY} and attributeName10 eq 'Colour' and attributeValue10 eq 'blue'",
        ["BLUE"],
    ),
    (
        f"({HEAVY}) and (attributeName3 eq 'Colour' and attributeValue3 eq 'blue')",
        ["BLUE"],
    ),
    ("attributeName1 eq 'Weight'", ["BLUE", "RED"]),
    ("attributeName1 eq 'Weight' and attributeName2 eq 'Note'", ["BLUE"]),
    ("attributeName1 eq 'Note' and attributeValue1 eq ''", ["BLUE"]),
    ("attributeName1 eq 'Colour' and attributeValue1 eq 'RED'", []),
    ("attributeName1 eq 'colour'", []),
    ("attributeName1 eq 'Colour' and attributeValue1 eq 're%'", []),
    ("attributeName1 eq 'Weight' and startswith(itemDescription,'Red')", ["RED"]),
    ("itemNo eq 'PLAIN'", ["PLAIN"]),
]


@pytest.mark.parametrize(("text", "found"), PAIRS)
def test_every_pair_must_hold(text: str, found: list[str], desks: Company) -> None:
    assert numbers(desks, text) == found


@pytest.mark.parametrize(("text", "found"), PAIRS)
def test_the_zero_guid_means_the_whole_catalogue(
    text: str, found: list[str], desks: Company
) -> None:
    assert numbers(desks, text, key=NO_GUID) == found


@pytest.mark.parametrize(("text", "found"), PAIRS)
def test_a_key_selects_one_item(text: str, found: list[str], desks: Company) -> None:
    assert numbers(desks, text, key=RED_DESK) == [each for each in found if each == "RED"]


def test_a_key_may_be_in_upper_case(own_stock: Company) -> None:
    [item] = own_stock.listed(CATALOGUE)
    [same] = own_stock.listed(f"{CATALOGUE}({str(item['itemId']).upper()})")

    assert same == item


def test_an_unknown_guid_is_404(desks: Company) -> None:
    refusal(desks.get(f"{CATALOGUE}({UNKNOWN})"), "Internal_RecordNotFound")


def test_a_malformed_guid_is_400(desks: Company) -> None:
    refusal(desks.get(f"{CATALOGUE}(1896-S)"), "BadRequest_InvalidRequestUrl")


def test_a_client_that_names_the_protocol_gets_the_entity_at_a_key(desks: Company) -> None:
    answer = desks.get(f"{CATALOGUE}({RED_DESK})", headers={"OData-MaxVersion": "4.0"})

    item = record(answer)
    assert item["itemNo"] == "RED"
    assert item["@odata.etag"] == tag_of(answer)
    assert str(item["@odata.context"]).endswith(f"{CATALOGUE}/$entity")


@pytest.mark.parametrize(
    "text",
    [
        "attributeValue1 eq 'red'",
        "attributeName1 eq 'Colour' and attributeValue2 eq 'red'",
        "attributeName1 eq 'Colour' and attributeName1 eq 'Weight'",
        "attributeName1 eq 'Colour' and attributeValue1 eq 'a' and attributeValue1 eq 'b'",
        "attributeName0 eq 'Colour'",
        "attributeName11 eq 'Colour'",
        "attributeName01 eq 'Colour'",
        "attributeName99999999999999999999 eq 'Colour'",
        "attributeName eq 'Colour'",
        "attributeName1 ne 'Colour'",
        "attributeName1 gt 'Colour'",
        "attributeName1 eq 5",
        "attributeName1 eq null",
        "attributeName1 eq itemNo",
        "attributeName1 in ('Colour')",
        "attributeName1 eq 'Colour' or itemNo eq 'RED'",
        "not (attributeName1 eq 'Colour')",
        "contains(attributeName1,'Col')",
        "itemNo eq 'RED' or (itemNo eq 'BLUE' and attributeName1 eq 'Colour')",
    ],
)
def test_incomplete_pairs_are_400(text: str, desks: Company) -> None:
    """A value without a name, a number twice or out of range, operators besides `eq` and `and`."""
    refusal(desks.get(CATALOGUE, {"$filter": text}), "BadRequest_InvalidRequestUrl", "$filter")


def test_pairs_are_only_for_filters(desks: Company) -> None:
    answer = desks.get(CATALOGUE, {"$orderby": "attributeName1"})

    refusal(answer, "BadRequest_InvalidRequestUrl", "$orderby")


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


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_it_is_read_only(method: str, desks: Company) -> None:
    path = CATALOGUE if method == "POST" else f"{CATALOGUE}({RED_DESK})"

    answer = desks.request(method, path, body={"itemNo": "X"}, headers={"If-Match": "*"})

    refusal(answer, "BadRequest_MethodNotAllowed")
    assert answer.headers["allow"] == "HEAD, GET"


def test_a_key_with_its_name_returns_the_plain_record(desks: Company) -> None:
    read = record(desks.get(f"{CATALOGUE}(itemId={RED_DESK})"))

    assert read["itemNo"] == "RED"
    assert "value" not in read
