"""Reads bound to the model: one record, or the page of a collection."""

from collections.abc import Sequence

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored
from comptoir.plan.bound import Condition
from comptoir.plan.target import Company

Row = tuple[Stored, ...]
"""A record as read: its version, then its properties in the contract's order."""

Within = tuple[tuple[str, Stored], ...]
"""Properties and the values that they must have: what narrows a collection to a part of it."""


class OrderKey(msgspec.Struct, frozen=True):
    """A property to sort by, and which way."""

    name: str
    descending: bool = False


class RecordPlan(msgspec.Struct, frozen=True):
    """One record, by its key."""

    entity_set: EntitySet
    company: Company | None
    key: Stored


class Where(msgspec.Struct, frozen=True):
    """A condition and the values for its slots; no condition holds for every record.

    `searches`: the condition has a search in it, which takes its time whatever it finds.
    """

    condition: Condition | None = None
    values: tuple[Stored, ...] = ()
    searches: bool = False


EVERYTHING = Where()


class PagePlan(msgspec.Struct, frozen=True):
    """The records of a page, in order, from behind the record with the values of `seek` on.

    The order always ends in the key, so no two records are equal in it. `limit` is how many
    records to fetch, behind the first `skip`; `keys` narrows the collection to the records with
    these keys, `within` to those whose properties have these values.
    """

    entity_set: EntitySet
    company: Company | None
    where: Where
    order: tuple[OrderKey, ...]
    seek: tuple[Stored, ...] | None
    limit: int
    keys: tuple[Stored, ...] | None = None
    within: Within = ()
    skip: int = 0

    def seek_behind(self, row: Row) -> tuple[Stored, ...]:
        """The values of a row that a page which continues behind it seeks."""
        positions = self.entity_set.type.position
        return tuple([row[positions[key.name] + 1] for key in self.order])


class CountPlan(msgspec.Struct, frozen=True):
    """How many records a condition holds for, of those with these keys and values, or of all."""

    entity_set: EntitySet
    company: Company | None
    where: Where
    keys: tuple[Stored, ...] | None = None
    within: Within = ()


def default_order(entity_set: EntitySet, keys: Sequence[OrderKey] = ()) -> tuple[OrderKey, ...]:
    """An order completed by the key, which makes it total."""
    key = entity_set.type.key
    if any(each.name == key for each in keys):
        return tuple(keys)
    return (*keys, OrderKey(key))
