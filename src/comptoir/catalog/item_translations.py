"""The item translations: an item's description in other languages."""

from comptoir.edm.entity import EntityType, Property, UniqueRule
from comptoir.edm.model import EntitySet
from comptoir.edm.scalar import GUID
from comptoir.edm.text import CODE, TEXT

ITEM_TRANSLATION = EntityType(
    name="itemTranslation",
    description="An item's description in another language.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("itemNo", CODE, "The item's number.", required=True),
        Property("languageCode", CODE, "The language's code.", required=True),
        Property("description", TEXT, "The description."),
        Property("description2", TEXT, "More of the description."),
        Property("variantCode", CODE, "The item variant's code."),
    ),
    unique=(UniqueRule(("itemNo", "languageCode", "variantCode")),),
)

ENTITY_SET = EntitySet("itemTranslationsExt", ITEM_TRANSLATION)
