"""How large a sample company is: one table."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class SampleSize(StrEnum):
    """What a sample is for: trying out, measuring, measuring at length."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


@dataclass(frozen=True, slots=True)
class Counts:
    """The records of the kinds from which the others follow.

    Units and attributes are the same at every size. To a hundred items there are 500 prices,
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
