"""Item attributes."""

from comptoir.edm.model import EntitySet, EntityType, Property, UniqueRule
from comptoir.edm.numbers import DIGITS
from comptoir.edm.types import GUID, TEXT

ITEM_ATTRIBUTE = EntityType(
    name="itemAttribute",
    description="An attribute that items can have.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property(
            "attributeId",
            DIGITS,
            "The attribute's number; a string of digits is accepted.",
            numbered=True,
        ),
        Property("name", TEXT, "The attribute's name.", required=True),
        Property("unitOfMeasure", TEXT, "The unit of the values."),
    ),
    unique=(UniqueRule(("attributeId",)),),
)

ENTITY_SET = EntitySet("itemAttributesExt", ITEM_ATTRIBUTE)
