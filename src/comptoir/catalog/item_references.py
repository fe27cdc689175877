"""Item references: the numbers of items at customers and vendors, and bar codes."""

from comptoir.edm.model import EntitySet, EntityType, Property, UniqueRule
from comptoir.edm.types import CODE, GUID, TEXT

ITEM_REFERENCE = EntityType(
    name="itemReference",
    description="The number of an item at a customer or vendor, or its bar code.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("itemNo", CODE, "The item's number.", required=True),
        Property("variantCode", CODE, "The item variant's code."),
        Property("unitOfMeasure", CODE, "The unit of measure's code."),
        Property(
            "referenceType",
            CODE,
            "The type of the reference.",
            suggested=(" ", "Customer", "Vendor", "Bar Code"),
        ),
        Property("referenceTypeNo", CODE, "The number of the customer or vendor."),
        Property("referenceNo", CODE, "The number or bar code.", required=True),
        Property("description", TEXT, "A description."),
        Property("description2", TEXT, "A second line of the description."),
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
