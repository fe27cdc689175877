"""Items, and what describes them: units, references, texts, attributes and prices.

The filtered item attributes are a view of the items, found by their attributes (operation 9).
"""

from comptoir.edm.model import (
    EntitySet,
    EntityType,
    NavigationProperty,
    PairFilter,
    Property,
    UniqueRule,
    View,
)
from comptoir.edm.numbers import DECIMAL, DIGITS, INT32
from comptoir.edm.times import DATE, INSTANT
from comptoir.edm.types import BASE64_TEXT, BOOLEAN, CODE, GUID, TEXT

# fmt: off
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
        NavigationProperty("references", "itemReferencesExt", ("number", "itemNo"),
            "The numbers of the item at customers and vendors, and its bar codes."),
        NavigationProperty("translations", "itemTranslationsExt", ("number", "itemNo"),
            "The item's descriptions in other languages."),
        NavigationProperty("prices", "salesPricesExt", ("number", "assetNumber"),
            "The item's sales prices.", only={"assetType": "Item"}),
        NavigationProperty("attributes", "itemAttributeValuesExt", ("number", "itemNo"),
            "The attributes of the item."),
    ),
)

ITEMS = EntitySet("itemsExt", ITEM)

UNIT_OF_MEASURE = EntityType(
    name="unitOfMeasure",
    description="A unit in which items are measured.",
    key="code",
    properties=(
        Property("code", CODE, "The record's key, the code of the unit.", required=True),
        Property("displayName", TEXT, "The name to display."),
        Property("internationalStandardCode", TEXT, "The code of UN/ECE Recommendation 20.",
            suggested=("C62", "EA", "BX", "KGM", "HUR", "DAY")),
        Property("symbol", TEXT, "The unit's symbol."),
        Property("lastModifiedDateTime", INSTANT,
            "The time of the last change. A create may set it.", modified_at=True,
            kept_on_create=True),
    ),
)

UNITS_OF_MEASURE = EntitySet("unitsOfMeasureExt", UNIT_OF_MEASURE, create_guarded=True)

ITEM_REFERENCE = EntityType(
    name="itemReference",
    description="The number of an item at a customer or vendor, or its bar code.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("itemNo", CODE, "The item's number.", required=True),
        Property("variantCode", CODE, "The item variant's code."),
        Property("unitOfMeasure", CODE, "The unit of measure's code."),
        Property("referenceType", CODE, "The type of the reference.",
            suggested=(" ", "Customer", "Vendor", "Bar Code")),
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

ITEM_REFERENCES = EntitySet("itemReferencesExt", ITEM_REFERENCE)

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

ITEM_TRANSLATIONS = EntitySet("itemTranslationsExt", ITEM_TRANSLATION)

ITEM_PRODUCT_TEXT = EntityType(
    name="ItemProductTextLongContent",
    description="A long text about an item.",
    key="systemId",
    properties=(
        Property("systemId", GUID, "The record's key."),
        Property("startingDate", DATE, "The first day on which the text applies."),
        Property("endDate", DATE, "The last day on which the text applies."),
        Property("languageCode", TEXT, "The language's code."),
        Property("insertedFrom", TEXT, "The author of the text."),
        Property("lastModifiedFrom", TEXT, "The author of the last change."),
        Property("textContentType", TEXT, "The format of the text.",
            suggested=("Plain Text", "HTML", "Markdown", "RTF")),
        Property("base64Text", BASE64_TEXT, "The text, Base64-encoded."),
    ),
)

ITEM_PRODUCT_TEXTS = EntitySet("ItemProductTextLongContentsExt", ITEM_PRODUCT_TEXT, read_only=True)

ITEM_ATTRIBUTE = EntityType(
    name="itemAttribute",
    description="An attribute that items can have.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("attributeId", DIGITS, "The attribute's number; a string of digits is accepted.",
            numbered=True),
        Property("name", TEXT, "The attribute's name.", required=True),
        Property("unitOfMeasure", TEXT, "The unit of the values."),
    ),
    unique=(UniqueRule(("attributeId",)),),
)

ITEM_ATTRIBUTES = EntitySet("itemAttributesExt", ITEM_ATTRIBUTE)

ITEM_ATTRIBUTE_VALUE = EntityType(
    name="itemAttributeValue",
    description="The value of an attribute of an item.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("itemNo", CODE, "The item's number."),
        Property("attributeName", CODE, "The attribute's name."),
        Property("value", TEXT, "The attribute's value for the item."),
    ),
    unique=(UniqueRule(("itemNo", "attributeName")),),
)

ITEM_ATTRIBUTE_VALUES = EntitySet("itemAttributeValuesExt", ITEM_ATTRIBUTE_VALUE)

FILTERED_ITEM_ATTRIBUTE = EntityType(
    name="filteredItemAttribute",
    description="An item, found by its attributes.",
    key="itemId",
    properties=(
        Property("itemNo", CODE, "The item's number."),
        Property("itemDescription", TEXT, "The item's displayName."),
        Property("itemId", GUID, "The item's id."),
    ),
)

FILTERED_ITEM_ATTRIBUTES = EntitySet(
    "filteredItemAttributesExt",
    FILTERED_ITEM_ATTRIBUTE,
    read_only=True,
    key_narrows=True,
    view=View(
        base="itemsExt",
        columns={"itemNo": "number", "itemDescription": "displayName", "itemId": "id"},
    ),
    pair_filter=PairFilter(name="attributeName", value="attributeValue", count=10,
        carrier="itemAttributeValuesExt", reference="itemNo", carrier_reference="itemNo",
        carrier_name="attributeName", carrier_value="value"),
)

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
        Property("assetType", TEXT, "The type of the asset that is sold.",
            suggested=("Item", "Item Discount Group", "Resource", "Resource Group", "G/L Account")),
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

SALES_PRICES = EntitySet("salesPricesExt", SALES_PRICE, read_only=True, single_inline=True)
