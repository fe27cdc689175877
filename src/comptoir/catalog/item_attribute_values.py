"""Item attribute values: the attributes of items."""

from comptoir.edm.model import EntitySet, EntityType, Property, UniqueRule
from comptoir.edm.types import CODE, GUID, TEXT

ITEM_ATTRIBUTE_VALUE = EntityType(
    name="itemAttributeValue",
    description="The value of an attribute of an item.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("itemNo", CODE, "The item's number."),
        Property("attributeName", CODE, "The attribute's name."),
        Property("value", TEXT, "The attribute's value for the item."),
    ),
    unique=(UniqueRule(("itemNo", "attributeName")),),
)

ENTITY_SET = EntitySet("itemAttributeValuesExt", ITEM_ATTRIBUTE_VALUE)
