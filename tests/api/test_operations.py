"""The eleven operations, by the tables and examples of the interface."""

from collections.abc import Mapping

from support.client import Record, record, tag_of, values
from support.companies import Company
from support.contract import FIELDS, assert_follows, without_control
from support.refusals import refusal
from support.samples import (
    CAMPAIGN,
    CONTACT,
    ITEM,
    ITEM_REFERENCE,
    NO_GUID,
    PATHS,
    SAMPLES,
    SHIPPING_AGENT,
)
from support.together import together

UPDATES: Mapping[str, tuple[str, Record]] = {
    "1: contact": (f"contactsExt({CONTACT})", {"displayName": "Annette Hill-Berg", "city": "Linz"}),
    "2: itemReference": (
        f"itemReferencesExt({ITEM_REFERENCE})",
        {
            "itemNo": "1900-S",
            "variantCode": "BLUE",
            "unitOfMeasure": "BOX",
            "referenceType": "Vendor",
            "referenceTypeNo": "V1",
            "referenceNo": "R1",
            "description": "Chair",
            "description2": "ash",
        },
    ),
    "4: campaign": (
        f"campaignsExt({CAMPAIGN})",
        {"description": "Summer", "startingDate": "2024-06-01", "activated": False},
    ),
    "5: shippingAgent": (f"shippingAgentsExt({SHIPPING_AGENT})", {"code": "UPS", "name": "UPS"}),
}


@together("name", UPDATES)
def test_an_update_returns_the_whole_record(name: str, own_stock: Company) -> None:
    path, changes = UPDATES[name]
    resource = path.partition("(")[0]
    before = own_stock.get(path)

    answer = own_stock.patch(path, changes, if_match=tag_of(before))

    updated = record(answer)
    assert_follows(resource, updated)
    kept = {
        field: value
        for field, value in without_control(record(before)).items()
        if field not in changes and field not in ("lastModifiedDateTime", "searchName")
    }
    assert updated.items() >= (kept | changes).items()
    assert tag_of(answer) == updated["@odata.etag"] != tag_of(before)
    assert own_stock.record(path) == updated


def test_operation_2_refuses_the_values_of_another_reference(own_stock: Company) -> None:
    """Six properties are unique together, and the error names them."""
    other = {**SAMPLES["itemReferencesExt"], "referenceNo": "TABLE-2"}
    del other["id"]
    path = f"itemReferencesExt({record(own_stock.post('itemReferencesExt', other), 201)['id']})"
    before = own_stock.record(path)

    answer = own_stock.patch(path, {"referenceNo": "TABLE-1"}, if_match="*")

    refusal(
        answer,
        "Internal_EntityWithSameKeyExists",
        "itemNo, variantCode, unitOfMeasure, referenceType, referenceTypeNo, referenceNo",
    )
    assert own_stock.record(path) == before


def test_operation_7_returns_the_matching_price(stocked: Company) -> None:
    text = "assetType eq 'Item' and assetNumber eq '1896-S'"

    answer = stocked.get("salesPricesExt", {"$filter": text})

    [price] = values(answer)
    assert_follows("salesPricesExt", price)
    assert without_control(price) == SAMPLES["salesPricesExt"]


def test_operation_9_returns_the_items_in_value(stocked: Company) -> None:
    text = "attributeName1 eq 'Colour' and attributeValue1 eq 'red'"

    answer = stocked.get(f"filteredItemAttributesExt({ITEM})", {"$filter": text})

    [item] = values(answer)
    assert_follows("filteredItemAttributesExt", item)
    assert without_control(item) == {
        "itemNo": "1896-S",
        "itemDescription": "ATHENS Desk",
        "itemId": ITEM,
    }
    assert item["@odata.etag"] == stocked.record(PATHS["itemsExt"])["@odata.etag"]


@together("resource", [name for name in FIELDS if name != "filteredItemAttributesExt"])
def test_a_record_reads_as_it_was_loaded(resource: str, stocked: Company) -> None:
    """Every property has its value, order and type."""
    read = stocked.record(PATHS[resource])

    assert_follows(resource, read)
    assert without_control(read) == SAMPLES[resource]
    assert stocked.listed(resource) == [{k: v for k, v in read.items() if k != "@odata.context"}]


def test_the_all_zero_guid_counts_as_no_id(company: Company) -> None:
    """Clients send it for an empty value, and the record gets a new id."""
    body = {"id": NO_GUID, "attributeId": "1", "name": "Color"}

    created = record(company.post("itemAttributesExt", body), 201)

    assert created["id"] != NO_GUID
