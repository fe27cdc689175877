"""The customers: four in five are businesses, which are contacts too."""

from collections.abc import Iterator
from typing import NamedTuple

from generator.blueprint import Blueprint, Table, customer_number, is_private_customer
from generator.countries import RESPONSIBILITY_CENTERS
from generator.parties import Place, Region, individual, private_domain, street
from generator.values import Dice, Row, amount, flag, past_instant

_COLUMNS = (
    "id", "number", "displayName", "name2", "type", "addressLine1", "addressLine2", "city",
    "state", "country", "postalCode", "phoneNumber", "mobilePhoneNumber", "email", "website",
    "searchName", "balanceDue", "creditLimit", "taxLiable", "taxAreaId", "taxAreaDisplayName",
    "taxRegistrationNumber", "currencyId", "currencyCode", "paymentTermsId", "shipmentMethodId",
    "paymentMethodId", "blocked", "languageCode", "responsibilityCenter",
    "generalBusinessPostingGroupCode", "customerPostingGroup", "vatBusinessPostingGroup",
    "customerPriceGroup", "customerDiscoutGroup", "allowLineDiscount", "invoiceDiscountCode",
    "lastModifiedDateTime",
)  # fmt: skip

PRICE_GROUPS = ("RETAIL", "TRADE", "WHOLESALE", "PROJECT")

_TRADE_GROUPS = ("TRADE", "TRADE", "WHOLESALE", "PROJECT", "")
_DISCOUNT_GROUPS = ("", "", "", "LARGE ACC", "LOYAL")
_BLOCKED = (" ",) * 47 + ("Ship", "Invoice", "All")
_PAYMENT_TERMS = ("COD", "8 DAYS", "14 DAYS", "30 DAYS", "1M(8D)")
_PAYMENT_METHODS = ("BANK", "CASH", "CHECK", "DIRECT DEBIT")
_SHIPMENT_METHODS = ("CFR", "CIP", "DAP", "EXW", "FCA")
_WITHOUT_CENTS = {"JPY", "KRW"}
_CREDIT_STEP = 500
_CENT = 1_000
_UNIT = 100_000


class _Account(NamedTuple):
    """The properties that businesses and private customers share."""

    type: str
    name: str
    region: Region
    street: str
    place: Place
    phone: str
    mobile: str
    email: str
    website: str
    tax_number: str


def _rows(source: Blueprint) -> Iterator[Row]:
    """All customers, with numbers from 10000."""
    terms, methods, shipments = (
        [source.guid(kind, code) for code in codes]
        for kind, codes in (
            ("payment terms", _PAYMENT_TERMS),
            ("payment method", _PAYMENT_METHODS),
            ("shipment method", _SHIPMENT_METHODS),
        )
    )
    currencies = {
        r.country.currency: source.guid("currency", r.country.currency) for r in source.regions
    }
    areas = {r.country.code: source.guid("tax area", r.country.code) for r in source.regions}
    for position in range(source.counts.customers):
        dice = source.dice("customer", position)
        private = is_private_customer(position)
        account = _private(source, position, dice) if private else _business(source, position)
        country, place = account.region.country, account.place
        yield (
            source.guid("customer", position), customer_number(position),
            account.name, "", account.type, account.street, "", place.city,
            place.state, country.code, place.postal_code, account.phone, account.mobile,
            account.email, account.website, account.name.upper(),
            _balance(dice, country.currency), _credit_limit(dice, private),
            flag(bool(account.tax_number)), areas[country.code], country.code, account.tax_number,
            currencies[country.currency], country.currency,
            dice.pick(terms), dice.pick(shipments), dice.pick(methods),
            dice.pick(_BLOCKED), country.language, RESPONSIBILITY_CENTERS[country.zone],
            country.zone, country.zone, country.zone,
            "RETAIL" if private else dice.pick(_TRADE_GROUPS), dice.pick(_DISCOUNT_GROUPS),
            flag(not private), "" if private else customer_number(position), past_instant(dice),
        )  # fmt: skip


def _business(source: Blueprint, position: int) -> _Account:
    found = source.business(position)
    return _Account(
        type="Company",
        name=found.name,
        region=found.region,
        street=found.street,
        place=found.place,
        phone=found.phone,
        mobile="",
        email=f"info@{found.domain}",
        website=f"https://www.{found.domain}",
        tax_number=found.tax_number,
    )


def _private(source: Blueprint, position: int, dice: Dice) -> _Account:
    region = dice.pick(source.regions)
    person = individual(region, dice)
    mailbox = person.mailbox or f"c{customer_number(position)}"
    return _Account(
        type="Person",
        name=person.name,
        region=region,
        street=street(region, dice),
        place=dice.pick(region.places),
        phone="",
        mobile=region.mobile.fill(dice),
        email=f"{mailbox}@{private_domain(dice)}",
        website="",
        tax_number="",
    )


def _balance(dice: Dice, currency: str) -> str:
    """0 for half of the customers; whole units if the currency has no cents."""
    owed = dice.below(2_500_000)
    if dice.chance(50):
        return "0"
    return amount(owed * _UNIT if currency in _WITHOUT_CENTS else owed * _CENT)


def _credit_limit(dice: Dice, private: bool) -> str:
    return "0" if private else amount(dice.below(100) * _CREDIT_STEP * _UNIT)


CUSTOMERS = Table("customersExt", _COLUMNS, _rows)
