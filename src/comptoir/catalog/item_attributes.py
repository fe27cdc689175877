"""The item attributes: what items can be described by."""

from comptoir.edm.entity import EntityType, Property, UniqueRule
from comptoir.edm.model import EntitySet
from comptoir.edm.number import DIGITS
from comptoir.edm.scalar import GUID
from comptoir.edm.text import TEXT

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
