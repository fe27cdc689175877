"""Item translations: descriptions of items in other languages."""

from comptoir.edm.model import EntitySet, EntityType, Property, UniqueRule
from comptoir.edm.types import CODE, GUID, TEXT

ITEM_TRANSLATION = EntityType(
    name="itemTranslation",
    description="An item's description in another language.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("itemNo", CODE, "The item's number.", required=True),
        Property("languageCode", CODE, "The language's code.", required=True),
        Property("description", TEXT, "The description."),
        Property("description2", TEXT, "A second line of the description."),
        Property("variantCode", CODE, "The item variant's code."),
    ),
    unique=(UniqueRule(("itemNo", "languageCode", "variantCode")),),
)

ENTITY_SET = EntitySet("itemTranslationsExt", ITEM_TRANSLATION)
