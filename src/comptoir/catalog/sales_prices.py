"""Sales prices, which are read-only over HTTP and loaded from files."""

from comptoir.edm.model import EntitySet, EntityType, Property
from comptoir.edm.numbers import DECIMAL, INT32
from comptoir.edm.types import BOOLEAN, TEXT

SALES_PRICE = EntityType(
    name="salesPrice",
    description="The price of an item or a resource, for some customers and from some quantity.",
    key="entryNo",
    properties=(
        Property("entryNo", INT32, "The record's key, a number."),
        Property(
            "sourceType",
            TEXT,
            "The type of the source, for which the price applies.",
            suggested=(
                "All Customers",
                "Customer",
                "Customer Price Group",
                "Customer Disc. Group",
                "Campaign",
                "Contact",
            ),
        ),
        Property("sourceNumber", TEXT, "The number of the customer, group or campaign."),
        Property(
            "assetType",
            TEXT,
            "The type of the asset that is sold.",
            suggested=("Item", "Item Discount Group", "Resource", "Resource Group", "G/L Account"),
        ),
        Property("assetNumber", TEXT, "The number of the item or resource."),
        Property("variantCode", TEXT, "The item variant's code."),
        Property("pricesIncludeTax", BOOLEAN, "Whether the price includes tax."),
        Property("unitOfMeasure", TEXT, "The unit of measure's code."),
        Property("quantity", DECIMAL, "The minimum quantity."),
        Property("unitPrice", DECIMAL, "The price of one unit."),
        Property("unitCostLCY", DECIMAL, "The cost of one unit in the local currency."),
        Property("lineDiscount", DECIMAL, "The discount in per cent."),
        Property("campaignNumber", TEXT, "The number of the campaign."),
    ),
    indexes=(("assetNumber", "assetType"), ("sourceNumber",)),
)

ENTITY_SET = EntitySet("salesPricesExt", SALES_PRICE, read_only=True, single_inline=True)
