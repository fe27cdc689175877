"""Businesses and people: who they are and how they are reached."""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from comptoir.samples.dice import Dice
from comptoir.samples.regions import Place, Region

_UNDECOMPOSED = str.maketrans(
    {"ß": "ss", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ı": "i"}  # noqa: RUF001 - Turkish
)
_NOT_IN_A_DOMAIN = re.compile(r"[^a-z0-9]+")
_INFORMAL_DOMAINS = ("example.com", "example.net", "example.org")


class Business(NamedTuple):
    """A business: its name, its place and its numbers."""

    region: Region
    name: str
    domain: str
    street: str
    place: Place
    phone: str
    tax_number: str


class Individual(NamedTuple):
    """A person: the parts of the name, and the part of a mail address before the @."""

    first: str
    middle: str
    last: str
    name: str
    salutation: str
    mailbox: str


def business(regions: tuple[Region, ...], seed: int, position: int) -> Business:
    """The business at a position; contact and customer may be the same one."""
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
    """A mail domain for people who write for themselves (RFC 2606, section 3)."""
    return dice.pick(_INFORMAL_DOMAINS)


def street(region: Region, dice: Dice) -> str:
    """A street with a house number, in the country's order."""
    return dice.pick(region.country.streets).format(
        street=dice.pick(region.streets), number=dice.between(1, 180), floor=dice.between(1, 6)
    )


@lru_cache(maxsize=1 << 15)
def slug(word: str) -> str:
    """A word in the letters of a domain name; empty when it is of another script."""
    plain = unicodedata.normalize("NFKD", word.lower().translate(_UNDECOMPOSED))
    letters = plain.encode("ascii", "ignore").decode()
    return _NOT_IN_A_DOMAIN.sub("-", letters).strip("-")
