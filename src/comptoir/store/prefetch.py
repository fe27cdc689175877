"""Prefetch: the records that many writes will look up, read in a few statements.

A prefetch only fills the identity map. A unit of work reads what it does not find there.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from comptoir.edm.model import EntitySet, EntityType, Followed, KeyValues
from comptoir.edm.types import Stored
from comptoir.plan.write import CreatePlan, DeletePlan, WritePlan
from comptoir.sql.prepared import Steps
from comptoir.store.unit import UnitOfWork


class Prefetch:
    """Collects values of keys and of unique rules, then reads the records that have them."""

    def __init__(self) -> None:
        self._values: dict[tuple[EntitySet, tuple[str, ...]], dict[KeyValues, None]] = {}

    def add(self, entity_set: EntitySet, names: tuple[str, ...], values: KeyValues) -> None:
        """Add the record that has these values of a key or a unique rule."""
        self._values.setdefault((entity_set, names), {})[values] = None

    def add_followed(
        self, entity_set: EntitySet, record: Mapping[str, Stored], given: Mapping[str, Stored]
    ) -> None:
        """Add the records that a record references, as it is stored or with the given values."""
        for rule in _followed(entity_set.type):
            reference = given.get(rule.reference, record.get(rule.reference, ""))
            if reference != "" and rule.target not in given:
                self.add(entity_set, (rule.named_by,), (reference,))

    def run(self, unit: UnitOfWork) -> Steps[None]:
        """Read what the identity map lacks, except where only one record would be read."""
        for (entity_set, names), wanted in self._values.items():
            values = [
                each for each in wanted if (entity_set.name, names, each) not in unit.identity_map
            ]
            if len(values) > 1:
                writes = unit.statements.writes
                found = yield from writes.find(unit.company_id, entity_set, names, values)
                unit.identity_map.add(entity_set, names, values, found)


def prefetch(plans: Iterable[WritePlan], unit: UnitOfWork) -> Steps[None]:
    """Read the records that writes of a company are about, and those that they depend on."""
    first = Prefetch()
    for plan in plans:
        _add(plan, first)
    yield from first.run(unit)
    followed = Prefetch()
    for plan in plans:
        if not isinstance(plan, CreatePlan | DeletePlan) and plan.key is not None:
            entity_type = plan.entity_set.type
            identity = (plan.entity_set.name, (entity_type.key,), (plan.key,))
            current = unit.identity_map.get(identity)
            if current is not None:
                record = dict(zip(entity_type.by_name, current[1:], strict=True))
                followed.add_followed(plan.entity_set, record, plan.body.values)
    yield from followed.run(unit)


def _add(plan: WritePlan, records: Prefetch) -> None:
    """Add the records that follow from the plan alone."""
    entity_type = plan.entity_set.type
    has_new_key = isinstance(plan, CreatePlan) and plan.body.key_is_generated
    if plan.key is not None and not has_new_key:
        records.add(plan.entity_set, (entity_type.key,), (plan.key,))
    if isinstance(plan, DeletePlan):
        return
    given = plan.body.values
    for rule in entity_type.unique:
        if given.keys() >= set(rule.properties):
            values = tuple(given[name] for name in rule.properties)
            if not (rule.blank_is_free and values == ("",)):
                records.add(plan.entity_set, rule.properties, values)
    records.add_followed(plan.entity_set, {}, given)


@cache
def _followed(entity_type: EntityType) -> list[Followed]:
    """The derivations that find the other record by a unique rule."""
    unique = [rule.properties for rule in entity_type.unique]
    followed = [rule for rule in entity_type.derivations if isinstance(rule, Followed)]
    return [rule for rule in followed if (rule.named_by,) in unique]
