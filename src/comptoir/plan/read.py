"""Reads bound to the model: one record, or the page of a collection."""

from collections.abc import Sequence
from functools import cache

import msgspec

from comptoir.edm.model import Company, EntitySet, NavigationProperty
from comptoir.edm.types import PrimitiveType, Stored, Wire
from comptoir.plan.expressions.nodes import Condition, Value

Row = tuple[Stored, ...]
"""A record as read: its version, then its properties in the contract's order."""

Seek = tuple[Stored | None, ...]
"""What a page seeks behind: the values by which its order sorts."""

Within = tuple[tuple[str, Stored], ...]
"""Properties and the values that they must have: what narrows a collection to a part of it."""


class OrderKey(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A property to sort by, and which way."""

    name: str
    descending: bool = False


class OrderTerm(msgspec.Struct, frozen=True, gc=False):
    """An expression to sort by, and which way; null comes before everything else.

    `values` are for its slots, numbered from 0; `text` says whether its stored form is text.
    """

    value: Value
    text: bool
    nullable: bool
    descending: bool = False
    values: tuple[Stored, ...] = ()


Order = tuple[OrderKey | OrderTerm, ...]


class ComputedProperty(msgspec.Struct, frozen=True, gc=False):
    """A value beside a record's properties: its name, what it is, and the type it is given in.

    `text` is how it was written, `values` are for its slots, numbered from 0.
    """

    name: str
    value: Value
    type: PrimitiveType
    nullable: bool
    text: str
    values: tuple[Stored, ...] = ()

    def to_wire(self, stored: Stored | None) -> Wire | None:
        """The wire form of a value of this property."""
        convert = self.type.to_wire
        return stored if stored is None or convert is None else convert(stored)


Computed = tuple[ComputedProperty, ...]


class RecordPlan(msgspec.Struct, frozen=True, gc=False):
    """One record, by its key, with computed values behind its properties."""

    entity_set: EntitySet
    company: Company | None
    key: Stored
    computed: Computed = ()


class Where(msgspec.Struct, frozen=True, gc=False):
    """A condition and the values for its slots; no condition holds for every record.

    `searches`: the condition has a search in it, which takes its time whatever it finds.
    """

    condition: Condition | None = None
    values: tuple[Stored, ...] = ()
    searches: bool = False


EVERYTHING = Where()


class PagePlan(msgspec.Struct, frozen=True, gc=False):
    """The records of a page, in order, from behind the record with the values of `seek` on.

    The order always ends in the key, so no two records are equal in it. `limit` is how many
    records to fetch, behind the first `skip`; `keys` narrows the collection to the records with
    these keys, `within` to those whose properties have these values. Behind its properties, a row
    has the values of `computed`, then those of the order's expressions; they may be None.
    """

    entity_set: EntitySet
    company: Company | None
    where: Where
    order: Order
    seek: Seek | None
    limit: int
    keys: tuple[Stored, ...] | None = None
    within: Within = ()
    skip: int = 0
    computed: Computed = ()

    @property
    def searches(self) -> bool:
        """Whether the condition has a search, which takes its time whatever it finds."""
        return self.where.searches

    def part(self, seek: Seek | None, limit: int, skip: int) -> "PagePlan":
        """A part of the page, from behind the sought record on."""
        return PagePlan(
            self.entity_set,
            self.company,
            self.where,
            self.order,
            seek,
            limit,
            self.keys,
            self.within,
            skip,
            self.computed,
        )

    def seek_behind(self, row: Row) -> Seek:
        """The values of a row that a page which continues behind it seeks."""
        column_of = self.entity_set.type.column_of
        behind = iter(row[1 + len(column_of) + len(self.computed) :])
        return tuple(
            [
                row[column_of[key.name]] if isinstance(key, OrderKey) else next(behind)
                for key in self.order
            ]
        )


class CountPlan(msgspec.Struct, frozen=True, gc=False):
    """How many records a condition holds for, of those with these keys and values, or of all."""

    entity_set: EntitySet
    company: Company | None
    where: Where
    keys: tuple[Stored, ...] | None = None
    within: Within = ()
    computed: Computed = ()

    @property
    def searches(self) -> bool:
        """Whether the condition has a search, which takes its time whatever it finds."""
        return self.where.searches


class RelatedPlan(msgspec.Struct, frozen=True):
    """The records that a navigation property relates to records with these values.

    `values` are those of the referencing property, each once and none blank. `page` filters and
    orders the related records; of each value it skips some, and the next `limit` are read.
    """

    navigation: NavigationProperty
    page: PagePlan
    values: tuple[Stored, ...]
    limit: int


def default_order(entity_set: EntitySet, keys: Sequence[OrderKey | OrderTerm] = ()) -> Order:
    """An order completed by the key, which makes it total."""
    if not keys:
        return _by_key(entity_set)
    key = entity_set.type.key
    if any(isinstance(each, OrderKey) and each.name == key for each in keys):
        return tuple(keys)
    return (*keys, OrderKey(key))


@cache
def _by_key(entity_set: EntitySet) -> Order:
    return (OrderKey(entity_set.type.key),)
