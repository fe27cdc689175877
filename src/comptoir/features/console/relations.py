"""The records that a record names by its values, and those that name it."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from comptoir.edm.model import EntitySet, Model, Property
from comptoir.edm.types import Stored
from comptoir.features.console.record_query import literal
from comptoir.features.console.values import Values, of_stored, shown
from comptoir.jsonvalue import Json


class Lookup(NamedTuple):
    """A property of a record whose value names a record of `target` by its property `by`.

    The named record has the values of `only`, and the record those of `when`.
    """

    property: str
    target: EntitySet
    by: str
    only: Values
    when: Values

    def condition(self, values: Values) -> str:
        """The condition of the named record; blank if the record names none."""
        own = values.get(self.property)
        if not own or any(values.get(name) != value for name, value in self.when.items()):
            return ""
        return _conditions(self.target, {self.by: own, **self.only})


class RelatedList(NamedTuple):
    """A navigation property whose related records name this one."""

    name: str
    target: EntitySet
    on: tuple[str, str]
    only: Values

    def condition(self, values: Values) -> str:
        """The condition of the related records; blank if the record has none."""
        own = values.get(self.on[0])
        return _conditions(self.target, {self.on[1]: own, **self.only}) if own else ""


def lookups(model: Model, entity_set: EntitySet) -> Iterator[Lookup]:
    """What values of a set's records name: by own relations, or else by those that lead to them."""
    for own in entity_set.type.navigation:
        if not own.collection:
            target = model.by_name[own.target]
            yield Lookup(own.on[0], target, own.on[1], _values(target, own.only), {})
    for each in entity_set.type.references:
        target = model.by_name[each.target]
        only, when = (dict([pair]) if pair else {} for pair in (each.only, each.when))
        yield Lookup(
            each.property, target, each.named_by, _values(target, only), _values(entity_set, when)
        )
    entity_type = entity_set.type
    known = {each.on[0] for each in entity_type.navigation if not each.collection}
    known |= {each.property for each in entity_type.references}
    for other in model.sets:
        for theirs in other.type.navigation:
            leads_here = theirs.collection and model.by_name[theirs.target] is entity_set
            if leads_here and theirs.on[1] not in known:
                yield Lookup(
                    theirs.on[1], other, theirs.on[0], {}, _values(entity_set, theirs.only)
                )


def related_lists(model: Model, entity_set: EntitySet) -> Iterator[RelatedList]:
    """The lists of records that are related to a record of a set."""
    for each in entity_set.type.navigation:
        if each.collection:
            target = model.by_name[each.target]
            yield RelatedList(each.name, target, each.on, _values(target, each.only))


def equals(declared: Property, value: Json) -> str:
    """The condition that a property has a value, for `$filter`."""
    return f"{declared.name} eq {literal(declared, shown(declared, value))}"


def _conditions(entity_set: EntitySet, values: Values) -> str:
    by_name = entity_set.type.by_name
    return " and ".join(equals(by_name[name], value) for name, value in values.items())


def _values(entity_set: EntitySet, stored: Mapping[str, Stored]) -> Values:
    by_name = entity_set.type.by_name
    return {name: of_stored(by_name[name], value) for name, value in stored.items()}
