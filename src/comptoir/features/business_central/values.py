"""The rules of Business Central's tables: lengths, codes, enumerations, relations, captions.

Read in Microsoft's application, whose source is public; `source` names the file of each table and
enumeration. Properties without a field there are `ours`. Relations to tables that this service
does not have, such as languages and currencies, are not listed: any code is accepted.
"""

from comptoir.profiles.record import Enumeration, EnumMember, FieldRule, Relation, TableRule, Values

_BASE = "microsoft/BCApps src/Layers/W1/BaseApp"


def _enumeration(path: str, *members: str | tuple[str, str]) -> Enumeration:
    """An enumeration whose members have the same name and caption, or a pair of both."""
    pairs = [(each, each) if isinstance(each, str) else each for each in members]
    return Enumeration(f"{_BASE}/{path}.Enum.al", tuple(EnumMember(*pair) for pair in pairs))


def _code(caption: str, length: int, *relations: Relation, mandatory: bool = False) -> FieldRule:
    return FieldRule(caption, length, code=True, relations=relations, mandatory=mandatory)


# fmt: off
_CONTACT_TYPE = _enumeration("CRM/Contact/ContactType", "Company", "Person")
_BUSINESS_RELATION = _enumeration(
    "CRM/BusinessRelation/ContactBusinessRelation", " ", "Customer", "Vendor", "Bank Account",
    "Employee", "None", "Other", "Multiple")
_BLOCKED = _enumeration("Sales/Customer/CustomerBlocked", " ", "Ship", "Invoice", "All")
_REFERENCE_TYPE = _enumeration(
    "Inventory/Item/Catalog/ItemReferenceType", " ", "Customer", "Vendor", "Bar Code")
_SOURCE_TYPE = _enumeration(
    "Pricing/Source/PriceSourceType", ("All", "(All)"), "All Customers", "Customer",
    "Customer Price Group", "Customer Disc. Group", "All Vendors", "Vendor",
    ("All Jobs", "All Projects"), ("Job", "Project"), ("Job Task", "Project Task"), "Campaign",
    "Contact")
_ASSET_TYPE = _enumeration(
    "Pricing/Asset/PriceAssetType", (" ", "(All)"), "Item", "Item Discount Group", "Resource",
    "Resource Group", "G/L Account")

_ITEM = Relation("itemsExt", "number")
_UNIT = Relation("unitsOfMeasureExt", "code")

_ADDRESS = {
    "addressLine1": FieldRule("Address", 100),
    "addressLine2": FieldRule("Address 2", 50),
    "city": FieldRule("City", 30),
    "state": FieldRule("County", 30),
    "country": _code("Country/Region Code", 10),
    "postalCode": _code("Post Code", 20),
    "phoneNumber": FieldRule("Phone No.", 30, rule="phone"),
    "mobilePhoneNumber": FieldRule("Mobile Phone No.", 30, rule="phone"),
    "email": FieldRule("Email", 80, rule="email"),
    "website": FieldRule("Home Page", 255),
    "searchName": _code("Search Name", 100),
    "currencyCode": _code("Currency Code", 10),
    "languageCode": _code("Language Code", 10),
    # a text there, which the table converts to upper case
    "taxRegistrationNumber": _code("VAT Registration No.", 20),
}
"""The fields that the tables of contacts and customers declare alike."""

_CONTACTS = TableRule(5050, "Contact", f"{_BASE}/CRM/Contact/Contact.Table.al", {
    **_ADDRESS,
    "number": _code("No.", 20),
    "type": FieldRule("Type", enumeration=_CONTACT_TYPE),
    "displayName": FieldRule("Name", 100),
    "name2": FieldRule("Name 2", 50),
    "firstName": FieldRule("First Name", 30),
    "middleName": FieldRule("Middle Name", 30),
    "surname": FieldRule("Surname", 30),
    "companyNumber": _code("Company No.", 20,
        Relation("contactsExt", "number", only=("type", "Company"))),
    "companyName": FieldRule("Company Name", 100),
    "contactBusinessRelation": FieldRule("Contact Business Relation",
        enumeration=_BUSINESS_RELATION),
    "privacyBlocked": FieldRule("Privacy Blocked"),
    "lastInteractionDate": FieldRule("Date of Last Interaction"),
    "salutationCode": _code("Salutation Code", 10),
    "customerTemplateCode": FieldRule("Customer Template Code", 20, code=True, confidence="ours"),
    "responsibilityCenter": FieldRule("Responsibility Center", 10, code=True, confidence="ours"),
})

_CUSTOMERS = TableRule(18, "Customer", f"{_BASE}/Sales/Customer/Customer.Table.al", {
    **_ADDRESS,
    "number": _code("No.", 20),
    "displayName": FieldRule("Name", 100),
    "name2": FieldRule("Name 2", 50),
    "type": FieldRule("Contact Type", enumeration=_CONTACT_TYPE),
    "creditLimit": FieldRule("Credit Limit (LCY)"),
    "taxLiable": FieldRule("Tax Liable"),
    "blocked": FieldRule("Blocked", enumeration=_BLOCKED),
    "responsibilityCenter": _code("Responsibility Center", 10),
    "generalBusinessPostingGroupCode": _code("Gen. Bus. Posting Group", 20),
    "customerPostingGroup": _code("Customer Posting Group", 20),
    "vatBusinessPostingGroup": _code("VAT Bus. Posting Group", 20),
    "customerPriceGroup": _code("Customer Price Group", 10),
    "customerDiscoutGroup": _code("Customer Disc. Group", 20),
    "allowLineDiscount": FieldRule("Allow Line Disc."),
    "invoiceDiscountCode": _code("Invoice Disc. Code", 20),
})

_CAMPAIGNS = TableRule(5071, "Campaign", f"{_BASE}/CRM/Campaign/Campaign.Table.al", {
    "number": _code("No.", 20),
    "description": FieldRule("Description", 100),
    "startingDate": FieldRule("Starting Date"),
    "endingDate": FieldRule("Ending Date"),
    "statusCode": _code("Status Code", 10),
    "activated": FieldRule("Activated"),
}, periods=(("startingDate", "endingDate"),))

_ITEMS = TableRule(27, "Item", f"{_BASE}/Inventory/Item/Item.Table.al", {
    "number": _code("No.", 20),
    "displayName": FieldRule("Description", 100),
    "baseUnitOfMeasureCode": _code("Base Unit of Measure", 10, _UNIT),
})

_ITEM_REFERENCES = TableRule(5777, "Item Reference",
    f"{_BASE}/Inventory/Item/Catalog/ItemReference.Table.al", {
    "itemNo": _code("Item No.", 20, _ITEM),
    "variantCode": _code("Variant Code", 10),
    # Business Central looks the unit up among the item's own units
    "unitOfMeasure": _code("Unit of Measure", 10, _UNIT),
    "referenceType": FieldRule("Reference Type", enumeration=_REFERENCE_TYPE),
    "referenceTypeNo": _code("Reference Type No.", 20,
        Relation("customersExt", "number", when=("referenceType", "Customer"))),
    "referenceNo": _code("Reference No.", 50, mandatory=True),
    "description": FieldRule("Description", 100),
    "description2": FieldRule("Description 2", 50),
})

_ITEM_TRANSLATIONS = TableRule(30, "Item Translation",
    f"{_BASE}/Inventory/Item/ItemTranslation.Table.al", {
    "itemNo": _code("Item No.", 20, _ITEM, mandatory=True),
    "languageCode": _code("Language Code", 10, mandatory=True),
    "description": FieldRule("Description", 100),
    "description2": FieldRule("Description 2", 50),
    "variantCode": _code("Variant Code", 10),
})

_ITEM_ATTRIBUTES = TableRule(7500, "Item Attribute",
    f"{_BASE}/Inventory/Item/Attribute/ItemAttribute.Table.al", {
    "attributeId": FieldRule("ID"),
    "name": FieldRule("Name", 250, mandatory=True),
    "unitOfMeasure": FieldRule("Unit of Measure", 30),
})

_ITEM_ATTRIBUTE_VALUES = TableRule(7501, "Item Attribute Value",
    f"{_BASE}/Inventory/Item/Attribute/ItemAttributeValue.Table.al", {
    "itemNo": FieldRule("Item No.", 20, code=True, relations=(_ITEM,), confidence="ours"),
    # 250 characters there; a property of a unique rule has at most 100 here
    "attributeName": FieldRule("Attribute Name", 100, confidence="ours"),
    "value": FieldRule("Value", 250),
})

_SALES_PRICES = TableRule(7001, "Price List Line",
    f"{_BASE}/Pricing/PriceList/PriceListLine.Table.al", {
    "entryNo": FieldRule("Line No."),
    "sourceType": FieldRule("Assign-to Type", enumeration=_SOURCE_TYPE),
    "sourceNumber": _code("Assign-to No.", 20),
    "assetType": FieldRule("Product Type", enumeration=_ASSET_TYPE),
    "assetNumber": _code("Product No.", 20),
    "variantCode": _code("Variant Code", 10),
    "pricesIncludeTax": FieldRule("Price Includes VAT"),
    "unitOfMeasure": _code("Unit of Measure Code", 10),
    "quantity": FieldRule("Minimum Quantity"),
    "unitPrice": FieldRule("Unit Price"),
    "unitCostLCY": FieldRule("Unit Cost"),
    "lineDiscount": FieldRule("Line Discount %"),
    "campaignNumber": FieldRule("Campaign No.", 20, code=True, confidence="ours"),
})

_SHIPPING_AGENTS = TableRule(291, "Shipping Agent",
    f"{_BASE}/Foundation/Shipping/ShippingAgent.Table.al",
    {"code": _code("Code", 10, mandatory=True), "name": FieldRule("Name", 50)})

_UNITS_OF_MEASURE = TableRule(204, "Unit of Measure",
    f"{_BASE}/Foundation/UOM/UnitofMeasure.Table.al", {
    "code": _code("Code", 10, mandatory=True),
    "displayName": FieldRule("Description", 50),
    "internationalStandardCode": _code("International Standard Code", 10),
    "symbol": FieldRule("Symbol", 10),
    "lastModifiedDateTime": FieldRule("Last Modified Date Time"),
}, used_in=(("itemsExt", "baseUnitOfMeasureCode"),))

VALUES = Values(
    {
        "campaignsExt": _CAMPAIGNS,
        "contactsExt": _CONTACTS,
        "customersExt": _CUSTOMERS,
        "itemAttributesExt": _ITEM_ATTRIBUTES,
        "itemAttributeValuesExt": _ITEM_ATTRIBUTE_VALUES,
        "itemReferencesExt": _ITEM_REFERENCES,
        "itemsExt": _ITEMS,
        "itemTranslationsExt": _ITEM_TRANSLATIONS,
        "salesPricesExt": _SALES_PRICES,
        "shippingAgentsExt": _SHIPPING_AGENTS,
        "unitsOfMeasureExt": _UNITS_OF_MEASURE,
    },
    {
        "contacts": "contactsExt",
        "customers": "customersExt",
        "items": "itemsExt",
        "unitsOfMeasure": "unitsOfMeasureExt",
    },
)
"""The tables of Business Central that the entity sets show, and the names of its own sets."""
