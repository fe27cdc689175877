"""Filtered item attributes: items, found by their attributes (operation 9)."""

from comptoir.edm.model import EntitySet, EntityType, PairFilter, Property, View
from comptoir.edm.types import CODE, GUID, TEXT

FILTERED_ITEM_ATTRIBUTE = EntityType(
    name="filteredItemAttribute",
    description="An item, found by its attributes.",
    key="itemId",
    properties=(
        Property("itemNo", CODE, "The item's number."),
        Property("itemDescription", TEXT, "The item's displayName."),
        Property("itemId", GUID, "The item's id."),
    ),
)

ENTITY_SET = EntitySet(
    "filteredItemAttributesExt",
    FILTERED_ITEM_ATTRIBUTE,
    read_only=True,
    key_narrows=True,
    view=View(
        base="itemsExt",
        columns={"itemNo": "number", "itemDescription": "displayName", "itemId": "id"},
    ),
    pair_filter=PairFilter(
        name="attributeName",
        value="attributeValue",
        count=10,
        carrier="itemAttributeValuesExt",
        reference="itemNo",
        carrier_reference="itemNo",
        carrier_name="attributeName",
        carrier_value="value",
    ),
)
