"""A country: its codes, and what its addresses, numbers and names look like."""

from dataclasses import dataclass
from enum import StrEnum

from mimesis.locales import Locale


class Zone(StrEnum):
    """How far a country is, as posting groups and centers tell it."""

    DOMESTIC = "DOMESTIC"
    EU = "EU"
    EXPORT = "EXPORT"


RESPONSIBILITY_CENTERS = {Zone.DOMESTIC: "HOME", Zone.EU: "EUROPE", Zone.EXPORT: "WORLD"}


@dataclass(frozen=True, slots=True)
class Country:
    """A country: codes (ISO 3166, ISO 4217, language), the source of its words, its forms.

    `weight`: how often it comes. `phone`, `mobile`, `postal` and `tax_number` are forms
    (`dice.Form`). `streets` take street, number and floor; `companies` take the surnames a and b;
    `person` takes first and last. `places`: city, state and form of the postal code, where the
    word source has no states that match its cities.
    """

    code: str
    currency: str
    language: str
    locale: Locale
    zone: Zone
    weight: int
    phone: str
    mobile: str
    postal: str
    tax_number: str
    streets: tuple[str, ...]
    companies: tuple[str, ...]
    person: str = "{first} {last}"
    places: tuple[tuple[str, str, str], ...] = ()
