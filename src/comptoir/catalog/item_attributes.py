"""The item attributes: what items can be described by."""

from comptoir.edm.model import EntitySet, EntityType, Property, UniqueRule
from comptoir.edm.numbers import DIGITS
from comptoir.edm.types import GUID, TEXT

ITEM_ATTRIBUTE = EntityType(
    name="itemAttribute",
    description="A trait by which items are described.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property(
            "attributeId",
            DIGITS,
            "The attribute's number, sent as digits or as a number; by default the next free one.",
            numbered=True,
        ),
        Property("name", TEXT, "The attribute's name.", required=True),
        Property("unitOfMeasure", TEXT, "The unit of its values."),
    ),
    unique=(UniqueRule(("attributeId",)),),
)

ENTITY_SET = EntitySet("itemAttributesExt", ITEM_ATTRIBUTE)
