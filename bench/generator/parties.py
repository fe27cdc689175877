"""Regions, with the names, streets and cities of their countries; businesses and people.

Each region has lists of words from mimesis.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat
from typing import NamedTuple

from mimesis import Address, Person
from mimesis.enums import Gender

from generator.countries import COUNTRIES, Country
from generator.values import Dice, Form

_DRAWS = 300
"""Words drawn for each list, before duplicates are removed."""

_UNDECOMPOSED = str.maketrans(
    {"ß": "ss", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ı": "i"}  # noqa: RUF001 - Turkish
)
_NOT_IN_A_DOMAIN = re.compile(r"[^a-z0-9]+")
_INFORMAL_DOMAINS = ("example.com", "example.net", "example.org")


@dataclass(frozen=True, slots=True)
class Place:
    """A city with its state and postal code."""

    city: str
    state: str
    postal_code: str


@dataclass(frozen=True, slots=True)
class Names:
    """First names, and the surnames that match them."""

    first: tuple[str, ...]
    last: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A country with its lists of words and its number templates."""

    country: Country
    women: Names
    men: Names
    streets: tuple[str, ...]
    places: tuple[Place, ...]
    phone: Form
    mobile: Form
    tax_number: Form


class Business(NamedTuple):
    """A business, which may be both a contact and a customer."""

    region: Region
    name: str
    domain: str
    street: str
    place: Place
    phone: str
    tax_number: str


class Individual(NamedTuple):
    """A person; `mailbox` is the part of an e-mail address before the @."""

    first: str
    middle: str
    last: str
    name: str
    salutation: str
    mailbox: str


def regions(seed: int) -> tuple[Region, ...]:
    """The regions of all countries, each repeated by its weight, the company's own first."""
    return tuple(
        chain.from_iterable(
            repeat(_region(country, seed, Dice(seed, "region", position)), country.weight)
            for position, country in enumerate(COUNTRIES)
        )
    )


def _region(country: Country, seed: int, dice: Dice) -> Region:
    person = Person(country.locale, seed=seed)
    address = Address(country.locale, seed=seed)
    return Region(
        country=country,
        women=_names(person, Gender.FEMALE),
        men=_names(person, Gender.MALE),
        streets=_words(address.street_name),
        places=_places(country, address, dice),
        phone=Form(country.phone),
        mobile=Form(country.mobile),
        tax_number=Form(country.tax_number),
    )


def _names(person: Person, gender: Gender) -> Names:
    return Names(
        first=_words(lambda: person.first_name(gender=gender)),
        last=_words(lambda: person.surname(gender=gender)),
    )


def _places(country: Country, address: Address, dice: Dice) -> tuple[Place, ...]:
    known = country.places or tuple((city, "", country.postal) for city in _words(address.city))
    return tuple(Place(city, state, Form(postal).fill(dice)) for city, state, postal in known)


def _words(draw: Callable[[], str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(draw().strip() for _ in range(_DRAWS)))


def business(regions: tuple[Region, ...], seed: int, position: int) -> Business:
    """The business at a position."""
    dice = Dice(seed, "business", position)
    region = dice.pick(regions)
    country = region.country
    surname = dice.pick(region.men.last)
    name = dice.pick(country.companies).format(a=surname, b=dice.pick(region.men.last))
    place = dice.pick(region.places)
    label = "-".join(filter(None, (slug(surname), slug(place.city))))
    return Business(
        region=region,
        name=name,
        domain=f"{label or country.code.lower()}-{position}.example",
        street=street(region, dice),
        place=place,
        phone=region.phone.fill(dice),
        tax_number=region.tax_number.fill(dice),
    )


def individual(region: Region, dice: Dice) -> Individual:
    """A person of a region."""
    woman = dice.chance(50)
    names = region.women if woman else region.men
    first, last = dice.pick(names.first), dice.pick(names.last)
    initial = dice.pick("ABCDEFGHJKLMNPRSTW")
    middle = f"{initial}." if dice.chance(8) and slug(first) else ""
    given = f"{first} {middle}" if middle else first
    return Individual(
        first=first,
        middle=middle,
        last=last,
        name=region.country.person.format(first=given, last=last),
        salutation="MS" if woman else "MR",
        mailbox=".".join(filter(None, (slug(first), slug(last)))),
    )


def private_domain(dice: Dice) -> str:
    """An e-mail domain for private persons (RFC 2606, section 3)."""
    return dice.pick(_INFORMAL_DOMAINS)


def street(region: Region, dice: Dice) -> str:
    """A street with a house number, in the country's format."""
    return dice.pick(region.country.streets).format(
        street=dice.pick(region.streets), number=dice.between(1, 180), floor=dice.between(1, 6)
    )


@lru_cache(maxsize=1 << 15)
def slug(word: str) -> str:
    """A word in the letters of a domain name; empty for a word in another script."""
    plain = unicodedata.normalize("NFKD", word.lower().translate(_UNDECOMPOSED))
    letters = plain.encode("ascii", "ignore").decode()
    return _NOT_IN_A_DOMAIN.sub("-", letters).strip("-")
