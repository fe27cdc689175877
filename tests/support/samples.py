"""A record of every entity set without a default value, and the ids of the scenarios.

The values that the scenarios name are written here. Others are generated from the declarations.
"""

from collections.abc import Mapping
from uuid import NAMESPACE_OID, uuid5

from comptoir.catalog import MODEL
from comptoir.edm.model import Calculated, EntitySet, Property
from comptoir.edm.types import Base64Text
from support.client import Record
from support.subjects import address

CONTACT = "11111111-1111-4111-8111-111111111111"
CUSTOMER = "22222222-2222-4222-8222-222222222222"
ITEM_REFERENCE = "33333333-3333-4333-8333-333333333333"
CAMPAIGN = "44444444-4444-4444-8444-444444444444"
SHIPPING_AGENT = "55555555-5555-4555-8555-555555555555"
ITEM_TRANSLATION = "66666666-6666-4666-8666-666666666666"
ITEM = "77777777-7777-4777-8777-777777777777"
ITEM_TEXT = "88888888-8888-4888-8888-888888888888"
ITEM_ATTRIBUTE = "99999999-9999-4999-8999-999999999999"
ITEM_ATTRIBUTE_VALUE = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"

NO_GUID = "00000000-0000-0000-0000-000000000000"
UNKNOWN = "deadbeef-dead-4eef-8ead-deadbeefdead"

_WRITTEN: Mapping[str, Record] = {
    "contactsExt": {
        "id": CONTACT,
        "number": "KT000101",
        "type": "Person",
        "displayName": "Annette Hill",
        "firstName": "Annette",
        "surname": "Hill",
        "city": "Graz",
        "country": "AT",
        "companyNumber": "KT999999",
        "contactBusinessRelation": "Customer",
        "email": "annette@example.com",
        "website": "https://example.com",
        "onlinePassword": "correct horse",
        "onlineLogin": "annette",
    },
    "customersExt": {
        "id": CUSTOMER,
        "number": "D00010",
        "type": "Company",
        "displayName": "Möbelhaus Öst",
        "city": "Wien",
        "country": "AT",
        "email": "office@example.com",
        "blocked": " ",
        "website": "https://example.org",
        "balanceDue": 1234.5,
        "creditLimit": 50000,
    },
    "itemReferencesExt": {
        "id": ITEM_REFERENCE,
        "itemNo": "1896-S",
        "variantCode": "RED",
        "unitOfMeasure": "PCS",
        "referenceType": "Customer",
        "referenceTypeNo": "D00010",
        "referenceNo": "TABLE-1",
        "description": "Desk",
    },
    "campaignsExt": {"id": CAMPAIGN, "number": "CP1001", "description": "Spring"},
    "shippingAgentsExt": {"id": SHIPPING_AGENT, "code": "DHL", "name": "DHL Systems"},
    "unitsOfMeasureExt": {"code": "PCS", "displayName": "Piece"},
    "salesPricesExt": {
        "entryNo": 17,
        "sourceType": "Customer",
        "sourceNumber": "D00010",
        "assetType": "Item",
        "assetNumber": "1896-S",
        "variantCode": "RED",
        "unitOfMeasure": "PCS",
        "quantity": 2,
        "unitPrice": 33.6442,
        "unitCostLCY": 20.5,
        "lineDiscount": 7.25,
        "campaignNumber": "CP1001",
    },
    "itemTranslationsExt": {
        "id": ITEM_TRANSLATION,
        "itemNo": "1896-S",
        "languageCode": "FRA",
        "description": "Bureau",
        "variantCode": "RED",
    },
    "itemsExt": {
        "id": ITEM,
        "number": "1896-S",
        "displayName": "ATHENS Desk",
        "baseUnitOfMeasureCode": "PCS",
    },
    "itemAttributeValuesExt": {
        "id": ITEM_ATTRIBUTE_VALUE,
        "itemNo": "1896-S",
        "attributeName": "Colour",
        "value": "red",
    },
    "ItemProductTextLongContentsExt": {
        "systemId": ITEM_TEXT,
        "languageCode": "ENU",
        "textContentType": "HTML",
    },
    "itemAttributesExt": {
        "id": ITEM_ATTRIBUTE,
        "attributeId": 5,
        "name": "Colour",
        "unitOfMeasure": "RAL",
    },
}
OF_THE_INTERFACE = tuple(_WRITTEN)
"""The entity sets that the interface names or needs."""

_VALUES: Mapping[str, str | int | float | bool] = {
    "Edm.Boolean": True,
    "Edm.Date": "2024-02-29",
    "Edm.DateTimeOffset": "2024-03-01T10:20:30.456Z",
    "Edm.Decimal": 12.5,
    "Edm.Int32": 7,
}


def _value(entity_set: EntitySet, each: Property) -> str | int | float | bool:
    """A value for a property that is not the default; the texts of a record differ."""
    place = f"{entity_set.name}.{each.name}."
    if each.type.edm_name == "Edm.Guid":
        return str(uuid5(NAMESPACE_OID, place))
    if isinstance(each.type, Base64Text):
        return "PGI+RGVzazwvYj4="
    return _VALUES.get(each.type.edm_name, place)


def _made(entity_set: EntitySet) -> Record:
    """A record: its values that are written here, and others that follow from the declaration."""
    entity_type = entity_set.type
    found = {each.name: _value(entity_set, each) for each in entity_type.properties}
    found |= _WRITTEN.get(entity_set.name, {})
    for each in entity_type.derivations:
        if isinstance(each, Calculated):
            found[each.target] = each.function({name: str(found[name]) for name in each.sources})
    return found


_SETS = (*_WRITTEN, *(each.name for each in MODEL.stored if each.name not in _WRITTEN))
SAMPLES: Mapping[str, Record] = {name: _made(MODEL.by_name[name]) for name in _SETS}
"""A record for each entity set."""


PATHS: Mapping[str, str] = {
    name: address(MODEL.by_name[name], record) for name, record in SAMPLES.items()
}
"""The address of each sample."""

WRITABLE = tuple(name for name in SAMPLES if not MODEL.by_name[name].read_only)
