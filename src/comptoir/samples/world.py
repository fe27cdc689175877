"""What every table is made from: the seed, the counts, and the words drawn once."""

from dataclasses import dataclass

from comptoir.samples.dice import Dice, guid
from comptoir.samples.parties import Business, business
from comptoir.samples.regions import Region, regions
from comptoir.samples.size import COUNTS, Counts, SampleSize

_FIRST_CUSTOMER = 10_000
_PRIVATE_CUSTOMER_EVERY = 5
"""One customer in so many is a person; the others are businesses."""


@dataclass(frozen=True, slots=True)
class World:
    """A sample company before its records: any of them can be computed from it."""

    seed: int
    counts: Counts
    regions: tuple[Region, ...]

    def dice(self, kind: str, position: int) -> Dice:
        """The throws of a record of a kind, by its position."""
        return Dice(self.seed, kind, position)

    def guid(self, kind: str, name: object) -> str:
        """The Guid of a record of a kind, by its position or its name."""
        return guid(self.seed, kind, name)

    def business(self, position: int) -> Business:
        """The business at a position; what it says is always the same."""
        return business(self.regions, self.seed, position)


def world(size: SampleSize, seed: int) -> World:
    """The world of a size and a seed."""
    return World(seed, COUNTS[size], regions(seed))


def customer_number(position: int) -> str:
    """The number of the customer at a position."""
    return str(_FIRST_CUSTOMER + position)


def is_private_customer(position: int) -> bool:
    """Whether the customer at a position is a person; otherwise it is the business there."""
    return position % _PRIVATE_CUSTOMER_EVERY == _PRIVATE_CUSTOMER_EVERY - 1


def campaign_number(position: int) -> str:
    """The number of the campaign at a position."""
    return f"CP{position + 1:04d}"
