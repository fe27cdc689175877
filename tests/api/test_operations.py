"""The eleven operations, by the tables and examples of the interface."""

from support.client import values
from support.companies import Company
from support.contract import FIELDS, assert_follows, without_control
from support.samples import ITEM, PATHS, SAMPLES
from support.together import together


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
