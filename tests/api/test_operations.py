"""The eleven operations, by the tables and examples of the interface."""

from support.client import record, values
from support.companies import Company
from support.contract import FIELDS, assert_follows, without_control
from support.refusals import refusal
from support.samples import ITEM, NO_GUID, PATHS, SAMPLES
from support.together import together


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
