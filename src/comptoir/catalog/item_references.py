"""The item references: under which numbers customers, vendors and bar codes know an item."""

from comptoir.edm.model import EntitySet, EntityType, Property, UniqueRule
from comptoir.edm.types import CODE, GUID, TEXT

ITEM_REFERENCE = EntityType(
    name="itemReference",
    description="A number under which others know an item.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("itemNo", CODE, "The item's number.", required=True),
        Property("variantCode", CODE, "The item variant's code."),
        Property("unitOfMeasure", CODE, "The unit of measure's code."),
        Property(
            "referenceType",
            CODE,
            "Whose number it is.",
            suggested=(" ", "Customer", "Vendor", "Bar Code"),
        ),
        Property("referenceTypeNo", CODE, "The number of the customer or vendor."),
        Property("referenceNo", CODE, "The number under which the item is known.", required=True),
        Property("description", TEXT, "A description."),
        Property("description2", TEXT, "More of the description."),
    ),
    unique=(
        UniqueRule(
            (
                "itemNo",
                "variantCode",
                "unitOfMeasure",
                "referenceType",
                "referenceTypeNo",
                "referenceNo",
            )
        ),
    ),
)

ENTITY_SET = EntitySet("itemReferencesExt", ITEM_REFERENCE)
