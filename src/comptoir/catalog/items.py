"""The items, from which the filtered item attributes are computed."""

from comptoir.edm.model import EntitySet, EntityType, NavigationProperty, Property, UniqueRule
from comptoir.edm.times import INSTANT
from comptoir.edm.types import CODE, GUID, TEXT

ITEM = EntityType(
    name="item",
    description="Something that the company sells.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("number", CODE, "The item's number.", required=True),
        Property("displayName", TEXT, "The name to show."),
        Property("baseUnitOfMeasureCode", TEXT, "The code of the unit that it is counted in."),
        Property("lastModifiedDateTime", INSTANT, "When it last changed.", modified_at=True),
    ),
    unique=(UniqueRule(("number",)),),
    navigation=(
        NavigationProperty(
            "references",
            "itemReferencesExt",
            ("number", "itemNo"),
            "The numbers by which others know the item.",
        ),
        NavigationProperty(
            "translations",
            "itemTranslationsExt",
            ("number", "itemNo"),
            "The item's descriptions in other languages.",
        ),
        NavigationProperty(
            "prices",
            "salesPricesExt",
            ("number", "assetNumber"),
            "The item's sales prices.",
            only={"assetType": "Item"},
        ),
        NavigationProperty(
            "attributes",
            "itemAttributeValuesExt",
            ("number", "itemNo"),
            "The attributes that the item carries.",
        ),
    ),
)

ENTITY_SET = EntitySet("itemsExt", ITEM)
