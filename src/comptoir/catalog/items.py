"""Items, of which the filtered item attributes are a view."""

from comptoir.edm.model import EntitySet, EntityType, NavigationProperty, Property, UniqueRule
from comptoir.edm.times import INSTANT
from comptoir.edm.types import CODE, GUID, TEXT

ITEM = EntityType(
    name="item",
    description="An item that the company sells.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("number", CODE, "The item's number.", required=True),
        Property("displayName", TEXT, "The name to display."),
        Property("baseUnitOfMeasureCode", TEXT, "The code of the base unit of measure."),
        Property("lastModifiedDateTime", INSTANT, "The time of the last change.", modified_at=True),
    ),
    unique=(UniqueRule(("number",)),),
    navigation=(
        NavigationProperty(
            "references",
            "itemReferencesExt",
            ("number", "itemNo"),
            "The numbers of the item at customers and vendors, and its bar codes.",
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
            "The attributes of the item.",
        ),
    ),
)

ENTITY_SET = EntitySet("itemsExt", ITEM)
