"""The words of each country, drawn once from mimesis: names, streets and places."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, repeat

from mimesis import Address, Person
from mimesis.enums import Gender

from comptoir.samples.countries import COUNTRIES
from comptoir.samples.country import Country
from comptoir.samples.dice import Dice, Form

_DRAWS = 300
"""How often each word list is drawn from; what comes twice is kept once."""


@dataclass(frozen=True, slots=True)
class Place:
    """A city with its state and postal code."""

    city: str
    state: str
    postal_code: str


@dataclass(frozen=True, slots=True)
class Names:
    """First names and surnames that go together."""

    first: tuple[str, ...]
    last: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A country with its words, and its number forms ready to fill."""

    country: Country
    women: Names
    men: Names
    streets: tuple[str, ...]
    places: tuple[Place, ...]
    phone: Form
    mobile: Form
    tax_number: Form


def regions(seed: int) -> tuple[Region, ...]:
    """Every country's region, each as many times as it weighs, the company's own first."""
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
