"""Customers, and the shipping agents that deliver to them."""

from comptoir.edm.model import EntitySet, EntityType, NavigationProperty, Property, UniqueRule
from comptoir.edm.numbers import DECIMAL
from comptoir.edm.times import INSTANT
from comptoir.edm.types import BOOLEAN, CODE, GUID, TEXT

# fmt: off
CUSTOMER = EntityType(
    name="customer",
    description="A customer of the company.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("number", CODE, "The customer's number; several customers may have none."),
        Property("displayName", TEXT, "The name to display."),
        Property("name2", TEXT, "A second line of the name."),
        Property("type", TEXT, "A company or a person.", suggested=("Company", "Person")),
        Property("addressLine1", TEXT, "Street and house number."),
        Property("addressLine2", TEXT, "A second line of the address."),
        Property("city", TEXT, "The city."),
        Property("state", TEXT, "The state or county."),
        Property("country", TEXT, "The country's code."),
        Property("postalCode", TEXT, "The postal code."),
        Property("phoneNumber", TEXT, "The phone number."),
        Property("mobilePhoneNumber", TEXT, "The mobile phone number."),
        Property("email", TEXT, "The e-mail address."),
        Property("website", TEXT, "The website."),
        Property("searchName", TEXT, "The search name."),
        Property("balanceDue", DECIMAL, "The balance that is due."),
        Property("creditLimit", DECIMAL, "The credit limit; 0 means no limit."),
        Property("taxLiable", BOOLEAN, "Whether the customer is liable for tax."),
        Property("taxAreaId", GUID, "The tax area's id."),
        Property("taxAreaDisplayName", TEXT, "The tax area's name."),
        Property("taxRegistrationNumber", TEXT, "The tax registration number."),
        Property("currencyId", GUID, "The currency's id."),
        Property("currencyCode", TEXT, "The currency's code."),
        Property("paymentTermsId", GUID, "The payment terms' id."),
        Property("shipmentMethodId", GUID, "The shipment method's id."),
        Property("paymentMethodId", GUID, "The payment method's id."),
        Property("blocked", TEXT,
            "The blocked transactions; a single space if the customer is not blocked.",
            suggested=(" ", "Ship", "Invoice", "All")),
        Property("languageCode", TEXT, "The language's code."),
        Property("responsibilityCenter", TEXT, "The responsibility center."),
        Property("generalBusinessPostingGroupCode", TEXT, "The general business posting group."),
        Property("customerPostingGroup", TEXT, "The customer posting group."),
        Property("vatBusinessPostingGroup", TEXT, "The VAT business posting group."),
        Property("customerPriceGroup", TEXT, "The customer price group."),
        Property("customerDiscoutGroup", TEXT, "The discount group, in the interface's spelling."),
        Property("allowLineDiscount", BOOLEAN, "Whether line discounts are allowed."),
        Property("invoiceDiscountCode", TEXT, "The invoice discount's code."),
        Property("lastModifiedDateTime", INSTANT, "The time of the last change.", modified_at=True),
    ),
    unique=(UniqueRule(("number",), blank_is_free=True),),
    indexes=(("number",),),
    navigation=(
        NavigationProperty("salesPrices", "salesPricesExt", ("number", "sourceNumber"),
            "The sales prices of this customer.", only={"sourceType": "Customer"}),
    ),
)

CUSTOMERS = EntitySet("customersExt", CUSTOMER, read_only=True)

SHIPPING_AGENT = EntityType(
    name="shippingAgent",
    description="A carrier that ships for the company.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("code", CODE, "The agent's code.", required=True),
        Property("name", TEXT, "The agent's name."),
    ),
    unique=(UniqueRule(("code",)),),
)

SHIPPING_AGENTS = EntitySet("shippingAgentsExt", SHIPPING_AGENT)
