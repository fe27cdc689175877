"""The sizes of sample companies, and the input from which their tables are generated."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from generator.parties import Business, Region, business, regions
from generator.values import Dice, Row, guid

_FIRST_CUSTOMER = 10_000
_PRIVATE_CUSTOMER_EVERY = 5
"""One in five customers is a person; the others are businesses."""


class SampleSize(StrEnum):
    """The purposes of a sample: to try the service, or a shorter or longer measurement."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of records that determine all others.

    Units and attributes are the same at every size. For 100 items there are 500 prices,
    200 translations and 75 long texts, and about 500 attribute values and 200 references.
    """

    contacts: int
    customers: int
    items: int
    campaigns: int
    shipping_agents: int


COUNTS: Mapping[SampleSize, Counts] = {
    SampleSize.SMALL: Counts(contacts=60, customers=80, items=40, campaigns=12, shipping_agents=8),
    SampleSize.MEDIUM: Counts(
        contacts=100_000, customers=25_000, items=40_000, campaigns=400, shipping_agents=40
    ),
    SampleSize.LARGE: Counts(
        contacts=1_000_000, customers=250_000, items=400_000, campaigns=4_000, shipping_agents=60
    ),
}
"""Hundreds of records; hundreds of thousands (100,000 contacts, 200,000 prices); millions."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """The input of a sample company, from which any record can be computed by its position."""

    seed: int
    counts: Counts
    regions: tuple[Region, ...]

    def dice(self, kind: str, position: int) -> Dice:
        """The random numbers of a record."""
        return Dice(self.seed, kind, position)

    def guid(self, kind: str, name: object) -> str:
        """The Guid of a record, by its position or its name."""
        return guid(self.seed, kind, name)

    def business(self, position: int) -> Business:
        """The business at a position, the same at each call."""
        return business(self.regions, self.seed, position)


@dataclass(frozen=True, slots=True)
class Table:
    """An entity set of the sample: its columns, and the function that generates its rows."""

    entity_set: str
    columns: tuple[str, ...]
    rows: Callable[[Blueprint], Iterator[Row]]


def blueprint(size: SampleSize, seed: int) -> Blueprint:
    """The input for a size and a seed."""
    return Blueprint(seed, COUNTS[size], regions(seed))


def customer_number(position: int) -> str:
    """The number of the customer at a position."""
    return str(_FIRST_CUSTOMER + position)


def is_private_customer(position: int) -> bool:
    """Whether the customer at a position is a person, not the business at that position."""
    return position % _PRIVATE_CUSTOMER_EVERY == _PRIVATE_CUSTOMER_EVERY - 1


def campaign_number(position: int) -> str:
    """The number of the campaign at a position."""
    return f"CP{position + 1:04d}"
