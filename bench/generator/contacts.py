"""The contacts: each business is followed by people, most of whom work there."""

from collections import deque
from collections.abc import Iterator

from generator.blueprint import Blueprint, Table, is_private_customer
from generator.countries import RESPONSIBILITY_CENTERS
from generator.parties import Business, individual, private_domain, street
from generator.values import NO_DATE, NO_GUID, Dice, Row, flag, past_day, past_instant

_COLUMNS = (
    "id", "number", "type", "displayName", "name2", "firstName", "middleName", "surname",
    "companyNumber", "companyName", "contactBusinessRelation", "addressLine1", "addressLine2",
    "city", "state", "country", "postalCode", "phoneNumber", "mobilePhoneNumber", "email",
    "website", "searchName", "privacyBlocked", "taxRegistrationNumber", "lastInteractionDate",
    "lastModifiedDateTime", "customerTemplateId", "customerTemplateCode", "currencyCode",
    "languageCode", "responsibilityCenter", "salutationCode", "onlinePassword", "onlineLogin",
)  # fmt: skip

_BUSINESS_EVERY = 4
_RECENT_BUSINESSES = 8
_OTHER_RELATIONS = ("Vendor", "Vendor", "Vendor", "None", "None")


def _rows(source: Blueprint) -> Iterator[Row]:
    """All contacts; a person comes after the company that employs the person."""
    recent: deque[tuple[str, Business]] = deque(maxlen=_RECENT_BUSINESSES)
    for position in range(source.counts.contacts):
        number = f"CT{position + 1:06d}"
        dice = source.dice("contact", position)
        key = source.guid("contact", position)
        turn, place_in_turn = divmod(position, _BUSINESS_EVERY)
        if place_in_turn == 0:
            relation = _relation(source, turn, dice)
            at = turn if relation == "Customer" else source.counts.customers + turn
            recent.append((number, source.business(at)))
            yield _business(source, key, recent[-1], relation, dice)
        else:
            yield _person(source, key, number, _employer(recent, dice), dice)


def _relation(source: Blueprint, turn: int, dice: Dice) -> str:
    """`Customer` for the positions whose customer is a business."""
    if turn < source.counts.customers and not is_private_customer(turn):
        return "Customer"
    return dice.pick(_OTHER_RELATIONS)


def _employer(recent: deque[tuple[str, Business]], dice: Dice) -> tuple[str, Business] | None:
    """The latest business for most people, an earlier one for some, None for the rest."""
    if dice.chance(65):
        return recent[-1]
    return dice.pick(recent) if dice.chance(60) else None


def _business(
    source: Blueprint, key: str, numbered: tuple[str, Business], relation: str, dice: Dice
) -> Row:
    number, found = numbered
    country = found.region.country
    template = f"{country.zone} COMPANY" if relation == "Customer" else ""
    return (
        key, number, "Company", found.name, "", "", "", "",
        number, found.name, relation, found.street, "",
        found.place.city, found.place.state, country.code, found.place.postal_code,
        found.phone, "", f"info@{found.domain}",
        f"https://www.{found.domain}", found.name.upper(), "false", found.tax_number,
        _last_interaction(dice), past_instant(dice),
        source.guid("customer template", template) if template else NO_GUID, template,
        country.currency, country.language, RESPONSIBILITY_CENTERS[country.zone], "COMPANY", "", "",
    )  # fmt: skip


def _person(
    source: Blueprint, key: str, number: str, employer: tuple[str, Business] | None, dice: Dice
) -> Row:
    company_number, company = employer or ("", None)
    region = company.region if company else dice.pick(source.regions)
    country = region.country
    person = individual(region, dice)
    place = company.place if company else dice.pick(region.places)
    mailbox = person.mailbox or number.lower()
    email = f"{mailbox}@{company.domain if company else private_domain(dice)}"
    mobile = region.mobile.fill(dice)
    return (
        key, number, "Person", person.name, "", person.first, person.middle, person.last,
        company_number, company.name if company else "", "None",
        company.street if company else street(region, dice), "",
        place.city, place.state, country.code, place.postal_code,
        company.phone if company else "", mobile, email,
        "", person.name.upper(), flag(dice.chance(2)), "",
        _last_interaction(dice), past_instant(dice),
        NO_GUID, "", country.currency, country.language, RESPONSIBILITY_CENTERS[country.zone],
        person.salutation, "", email if dice.chance(30) else "",
    )  # fmt: skip


def _last_interaction(dice: Dice) -> str:
    return past_day(dice, 400) if dice.chance(60) else NO_DATE


CONTACTS = Table("contactsExt", _COLUMNS, _rows)
