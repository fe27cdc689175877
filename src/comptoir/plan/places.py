"""From a path to the record that it names: along navigation, by the key or another unique rule.

A search is a generator: it yields the pages to read and is sent their rows. So a read runs it on
what is committed, and a write within its transaction.
"""

from collections.abc import Generator

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.types import Stored
from comptoir.errors import RECORD_NOT_FOUND, Refusal
from comptoir.plan.read import EVERYTHING, Computed, PagePlan, Row, Within, default_order
from comptoir.plan.target import Company, Key, Target

Search = Generator[PagePlan, list[Row], Row | None]
"""What a search for a record yields, is sent and returns."""


class Place(msgspec.Struct, frozen=True):
    """A record as a path names it, not simply by its key."""

    target: Target
    company: Company | None


def find(place: Place, computed: Computed = ()) -> Search:
    """The record at a place, None where navigation leads to none.

    Behind its properties the row has the computed values. Raises `Refusal` (404) when the path
    gives a key that no record has.
    """
    within = yield from reach(place)
    target = place.target
    key = target.alternate
    if target.key is not None:
        key = ((target.entity_set.type.key, target.key),)
    return (yield from _one(place, target.entity_set, key, within, computed))


def find_record(place: Place) -> Generator[PagePlan, list[Row], Row]:
    """The record at a place; raises `Refusal` (404) where there is none."""
    row = yield from find(place)
    if row is None:
        name = place.target.hops[-1].navigation.name
        raise Refusal(RECORD_NOT_FOUND, f"{name} leads to no record here. Read it first.")
    return row


def reach(place: Place) -> Generator[PagePlan, list[Row], Within | None]:
    """What the records have to which the hops of a path lead, None when they lead nowhere.

    Raises `Refusal` (404) when a record on the way does not exist.
    """
    within: Within | None = ()
    for hop in place.target.hops:
        row = yield from _one(place, hop.entity_set, hop.key or (), within)
        if row is None:
            return None
        own, other = hop.navigation.on
        value = row[hop.entity_set.type.position[own] + 1]
        # a blank value relates to nothing
        within = None if value == "" else ((other, value), *hop.navigation.only.items())
    return within


def no_record(entity_set: EntitySet, key: Stored) -> Refusal:
    """404: the set holds no record with this key."""
    return Refusal(
        RECORD_NOT_FOUND,
        f"{entity_set.name} holds no record with the key {str(key)[:100]}. "
        f"List {entity_set.name} to find the keys that exist.",
    )


def _one(
    place: Place,
    entity_set: EntitySet,
    key: Key,
    within: Within | None,
    computed: Computed = (),
) -> Search:
    row = None
    if within is not None:
        order = default_order(entity_set)
        company = place.company if entity_set.per_company else None
        rows = yield PagePlan(
            entity_set,
            company,
            EVERYTHING,
            order,
            None,
            1,
            within=(*within, *key),
            computed=computed,
        )
        row = rows[0] if rows else None
    if row is None and key:
        raise no_record(entity_set, ", ".join(str(value) for _, value in key))
    return row
