"""From a path to the records that it names: along navigation, by the key or another unique rule."""

from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored
from comptoir.errors import RECORD_NOT_FOUND, Refusal
from comptoir.plan.read import (
    EVERYTHING,
    Computed,
    PagePlan,
    RecordPlan,
    Row,
    Within,
    default_order,
)
from comptoir.plan.target import Key
from comptoir.service.context import Context, Runtime
from comptoir.store.unit import no_record


class Places:
    """Finds what paths name."""

    def __init__(self, runtime: Runtime) -> None:
        self._store = runtime.store

    async def row(self, context: Context, computed: Computed = ()) -> Row | None:
        """The record that a path names, None where navigation leads to none.

        Behind its properties the row has the computed values.

        Raises `Refusal` (404) when the path gives a key that no record has.
        """
        target = context.target
        if target.key is not None and not target.hops:
            plan = RecordPlan(context.entity_set, context.company, target.key, computed)
            row = await self._store.record(plan, context.request.patience)
            if row is None:
                raise no_record(context.entity_set, target.key)
            return row
        within = await self.reach(context)
        return await self._one(context, context.entity_set, _key_of(context), within, computed)

    async def key(self, context: Context) -> Stored:
        """The key of the record that a path names; raises `Refusal` (404) when there is none."""
        target = context.target
        if target.key is not None and not target.hops:
            return target.key
        row = await self.row(context)
        if row is None:
            name = target.hops[-1].navigation.name
            raise Refusal(RECORD_NOT_FOUND, f"{name} leads to no record here. Read it first.")
        return context.records.key(row)

    async def reach(self, context: Context) -> Within | None:
        """What the records have to which the hops of a path lead, None when they lead nowhere.

        Raises `Refusal` (404) when a record on the way does not exist.
        """
        within: Within | None = ()
        for hop in context.target.hops:
            row = await self._one(context, hop.entity_set, hop.key or (), within)
            if row is None:
                return None
            own, other = hop.navigation.on
            value = row[hop.entity_set.type.position[own] + 1]
            # a blank value relates to nothing
            within = None if value == "" else ((other, value), *hop.navigation.only.items())
        return within

    async def _one(
        self,
        context: Context,
        entity_set: EntitySet,
        key: Key,
        within: Within | None,
        computed: Computed = (),
    ) -> Row | None:
        row = None
        if within is not None:
            order = default_order(entity_set)
            company = context.company if entity_set.per_company else None
            plan = PagePlan(
                entity_set,
                company,
                EVERYTHING,
                order,
                None,
                1,
                within=(*within, *key),
                computed=computed,
            )
            async for rows in self._store.page(plan, context.request.patience):
                row = rows[0] if rows else None
        if row is None and key:
            raise no_record(entity_set, ", ".join(str(value) for _, value in key))
        return row


def _key_of(context: Context) -> Key:
    target = context.target
    if target.key is None:
        return target.alternate
    return ((context.entity_set.type.key, target.key),)
