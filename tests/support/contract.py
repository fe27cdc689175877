"""The contract's tables: the properties of each entity set in order, with their JSON types."""

import re
from collections.abc import Callable, Mapping

from support.client import Record

GUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
DATE = r"\d{4}-\d{2}-\d{2}"
INSTANT = rf"{DATE}T\d{{2}}:\d{{2}}:\d{{2}}\.\d{{3}}Z"

_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "guid": lambda value: isinstance(value, str) and re.fullmatch(GUID, value) is not None,
    "date": lambda value: isinstance(value, str) and re.fullmatch(DATE, value) is not None,
    "instant": lambda value: isinstance(value, str) and re.fullmatch(INSTANT, value) is not None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


def _fields(text: str) -> Mapping[str, str]:
    """Names with their types after a colon; a name without a type is a string."""
    parts = [each.partition(":") for each in text.split()]
    return {name: type_name or "string" for name, _, type_name in parts}


FIELDS: Mapping[str, Mapping[str, str]] = {
    "contactsExt": _fields(
        "id:guid number type displayName name2 firstName middleName surname companyNumber "
        "companyName contactBusinessRelation addressLine1 addressLine2 city state country "
        "postalCode phoneNumber mobilePhoneNumber email website searchName privacyBlocked:boolean "
        "taxRegistrationNumber lastInteractionDate:date lastModifiedDateTime:instant "
        "customerTemplateId:guid customerTemplateCode currencyCode languageCode "
        "responsibilityCenter salutationCode onlinePassword onlineLogin"
    ),
    "customersExt": _fields(
        "id:guid number displayName name2 type addressLine1 addressLine2 city state country "
        "postalCode phoneNumber mobilePhoneNumber email website searchName balanceDue:number "
        "creditLimit:number taxLiable:boolean taxAreaId:guid taxAreaDisplayName "
        "taxRegistrationNumber currencyId:guid currencyCode paymentTermsId:guid "
        "shipmentMethodId:guid paymentMethodId:guid blocked languageCode responsibilityCenter "
        "generalBusinessPostingGroupCode customerPostingGroup vatBusinessPostingGroup "
        "customerPriceGroup customerDiscoutGroup allowLineDiscount:boolean invoiceDiscountCode "
        "lastModifiedDateTime:instant"
    ),
    "itemReferencesExt": _fields(
        "id:guid itemNo variantCode unitOfMeasure referenceType referenceTypeNo referenceNo "
        "description description2"
    ),
    "campaignsExt": _fields(
        "id:guid number description startingDate:date endingDate:date statusCode activated:boolean"
    ),
    "shippingAgentsExt": _fields("id:guid code name"),
    "unitsOfMeasureExt": _fields(
        "code displayName internationalStandardCode symbol lastModifiedDateTime:instant"
    ),
    "salesPricesExt": _fields(
        "entryNo:integer sourceType sourceNumber assetType assetNumber variantCode "
        "pricesIncludeTax:boolean unitOfMeasure quantity:number unitPrice:number "
        "unitCostLCY:number lineDiscount:number campaignNumber"
    ),
    "itemTranslationsExt": _fields(
        "id:guid itemNo languageCode description description2 variantCode"
    ),
    "filteredItemAttributesExt": _fields("itemNo itemDescription itemId:guid"),
    "ItemProductTextLongContentsExt": _fields(
        "systemId:guid startingDate:date endDate:date languageCode insertedFrom lastModifiedFrom "
        "textContentType base64Text"
    ),
    "itemAttributesExt": _fields("id:guid attributeId:integer name unitOfMeasure"),
}
"""The types of the properties, by entity set, in the order of the contract's tables."""


def without_control(record: Record) -> Record:
    """The properties of a record, without control information."""
    return {name: value for name, value in record.items() if "@" not in name}


def assert_follows(resource: str, record: Record) -> None:
    """Check that a record has all properties in the contract's order, with their types."""
    fields = FIELDS[resource]
    shown = without_control(record)
    assert list(shown) == list(fields)
    for name, type_name in fields.items():
        assert _CHECKS[type_name](shown[name]), f"{name} must be {type_name}: {shown[name]!r}"
