"""Contacts, and the campaigns that are aimed at them."""

from comptoir.edm.model import (
    Calculated,
    EntitySet,
    EntityType,
    Followed,
    NavigationProperty,
    Property,
    UniqueRule,
)
from comptoir.edm.times import DATE, INSTANT
from comptoir.edm.types import BOOLEAN, CODE, GUID, TEXT, Stored


def upper(name: Stored) -> Stored:
    """The name in upper case, by the rules of Unicode (ß becomes SS)."""
    return str(name).upper()


# fmt: off
CONTACT = EntityType(
    name="contact",
    description="A business partner: a company or a person.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("number", CODE, "The contact's number; several contacts may have none."),
        Property("type", TEXT, "A company or a person.", suggested=("Company", "Person")),
        Property("displayName", TEXT, "The name to display.", required=True),
        Property("name2", TEXT, "A second line of the name."),
        Property("firstName", TEXT, "A person's first name."),
        Property("middleName", TEXT, "A person's middle name."),
        Property("surname", TEXT, "A person's surname."),
        Property("companyNumber", TEXT, "The number of the contact's company."),
        Property("companyName", TEXT, "The name of the contact's company."),
        Property("contactBusinessRelation", TEXT, "The contact's business relation to the company.",
            suggested=("None", "Customer", "Vendor", "Bank Account", "Employee", "Multiple")),
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
        Property("searchName", TEXT, "The search name; derived from displayName."),
        Property("privacyBlocked", BOOLEAN, "Whether privacy blocks the contact's data."),
        Property("taxRegistrationNumber", TEXT, "The tax registration number."),
        Property("lastInteractionDate", DATE, "The day of the last interaction."),
        Property("lastModifiedDateTime", INSTANT, "The time of the last change.", modified_at=True),
        Property("customerTemplateId", GUID, "The customer template's id."),
        Property("customerTemplateCode", TEXT, "The customer template's code."),
        Property("currencyCode", TEXT, "The currency's code."),
        Property("languageCode", TEXT, "The language's code."),
        Property("responsibilityCenter", TEXT, "The responsibility center."),
        Property("salutationCode", TEXT, "The salutation's code."),
        Property("onlinePassword", TEXT, "The password of the online account.", secret=True),
        Property("onlineLogin", TEXT, "The login of the online account."),
    ),
    unique=(UniqueRule(("number",), blank_is_free=True),),
    indexes=(("companyNumber",), ("number",)),
    derivations=(
        Calculated(
            "searchName", "displayName", upper, "the upper-case displayName, whenever it changes"
        ),
        Followed(target="companyName", reference="companyNumber", named_by="number",
            value="displayName", only={"type": "Company"},
            meaning="the displayName of the contact of type Company that companyNumber names"),
    ),
    navigation=(
        NavigationProperty("company", "contactsExt", ("companyNumber", "number"),
            "The contact of type Company that companyNumber names.", collection=False,
            only={"type": "Company"}),
        NavigationProperty("people", "contactsExt", ("number", "companyNumber"),
            "The contacts of type Person whose companyNumber names this contact.",
            only={"type": "Person"}),
    ),
)

CONTACTS = EntitySet("contactsExt", CONTACT)

CAMPAIGN = EntityType(
    name="campaign",
    description="A sales campaign.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("number", CODE, "The campaign's number.", required=True),
        Property("description", TEXT, "The description."),
        Property("startingDate", DATE, "The first day of the campaign."),
        Property("endingDate", DATE, "The last day of the campaign."),
        Property(
            "statusCode", TEXT, "The status.", suggested=("INIT", "SCHEDULED", "STARTED", "DONE")
        ),
        Property("activated", BOOLEAN, "Whether the prices of the campaign are active."),
    ),
    unique=(UniqueRule(("number",)),),
)

CAMPAIGNS = EntitySet("campaignsExt", CAMPAIGN)
