"""What follows from a declaration for those who read or write records."""

from comptoir.edm.model import EntitySet, EntityType, Property
from comptoir.edm.types import Guid, Text


def is_computed(held: Property) -> bool:
    """Whether the service alone gives the property its value."""
    return held.modified_at and not held.kept_on_create


def has_computed_default(kind: EntityType, held: Property) -> bool:
    """Whether the service gives the property a value of its own when a create leaves it out."""
    return (
        held.numbered
        or held.kept_on_create
        or (held.name == kind.key and isinstance(held.type, Guid))
        or any(each.target == held.name for each in kind.derivations)
    )


def is_unlimited(held: Property) -> bool:
    """Whether the property holds texts of any length, which nothing is sorted or grouped by."""
    return isinstance(held.type, Text) and held.type.max_length is None


def filter_pairs(entity_set: EntitySet) -> tuple[str, ...]:
    """The names of the set's filter-only properties."""
    return () if entity_set.pair_filter is None else entity_set.pair_filter.names


def queried(kind: EntityType) -> tuple[str, ...]:
    """The properties that query options may name."""
    return tuple(each.name for each in kind.properties if not each.secret)


def secrets(kind: EntityType) -> tuple[str, ...]:
    """The properties that no query option but `$select` may name."""
    return tuple(each.name for each in kind.properties if each.secret)


def tracks_changes(entity_set: EntitySet) -> bool:
    """Whether a collection's changes can be followed: they are in the company's change log."""
    return entity_set.per_company and entity_set.view is None
