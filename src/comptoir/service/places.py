"""Finds the records that paths name, in what is committed."""

from collections.abc import Generator
from typing import TypeVar

from comptoir.edm.types import Stored
from comptoir.plan.read import Computed, PagePlan, RecordPlan, Row, Within
from comptoir.plan.target import Place, find, find_record, no_record, reach
from comptoir.service.context import Context

T = TypeVar("T")


async def row_of(context: Context, computed: Computed = ()) -> Row | None:
    """The record that a path names, None where navigation leads to none.

    Behind its properties the row has the computed values.

    Raises `Refusal` (404) when the path gives a key that no record has.
    """
    sought = sought_by(context)
    if computed and not isinstance(sought, Place):
        sought = Place(context.target, context.company)
    if isinstance(sought, Place):
        return await _search(context, find(sought, computed))
    plan = RecordPlan(context.entity_set, context.company, sought)
    row = await context.reads.record(plan, context.request.patience)
    if row is None:
        raise no_record(context.entity_set, sought)
    return row


async def key_of(context: Context) -> Stored:
    """The key of the record that a path names; raises `Refusal` (404) when there is none."""
    sought = sought_by(context)
    if isinstance(sought, Place):
        return context.records.key(await _search(context, find_record(sought)))
    return sought


async def within_of(context: Context) -> Within | None:
    """What the records have to which the hops of a path lead, None when they lead nowhere.

    Raises `Refusal` (404) when a record on the way does not exist.
    """
    return await _search(context, reach(Place(context.target, context.company)))


async def _search(context: Context, search: Generator[PagePlan, list[Row], T]) -> T:
    patience = context.request.patience
    try:
        plan = next(search)
        while True:
            pages = context.reads.page(plan, patience)
            plan = search.send([row async for rows in pages for row in rows])
    except StopIteration as end:
        found: T = end.value
        return found


def sought_by(context: Context) -> Stored | Place:
    """The key of the record that a path names, or where else it is to be found."""
    target = context.target
    if target.key is not None and not target.hops:
        return target.key
    return Place(target, context.company)
