"""What a transaction knows of records: those that it has read or written, as they now stand.

Whoever writes has the company locked, so a record stays as it was read until a unit of the same
transaction changes it, and each of these keeps what is known true.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from comptoir.edm.model import EntitySet, KeyValues
from comptoir.plan.read import Row

Place = tuple[str, tuple[str, ...], KeyValues]
"""The name of a set, properties whose values one record has at most, and such values."""


class Known(dict[Place, Row | None]):
    """Records by their keys and by the values of their unique rules; None where there is none.

    Blank values that a rule leaves free are no place: several records may have them.
    """

    def learn(
        self,
        entity_set: EntitySet,
        names: tuple[str, ...],
        wanted: Sequence[KeyValues],
        found: Mapping[KeyValues, Row],
    ) -> None:
        """Take in which records have some wanted values, as the database says."""
        for values in wanted:
            self[(entity_set.name, names, values)] = found.get(values)

    def change(self, entity_set: EntitySet, before: Row | None, after: Row | None) -> None:
        """Take in what was done: None before stands for a new record, None after for no more."""
        for names, positions in _unique(entity_set):
            if before is not None:
                self[(entity_set.name, names, tuple([before[at] for at in positions]))] = None
            if after is not None:
                self[(entity_set.name, names, tuple([after[at] for at in positions]))] = after


@cache
def _unique(entity_set: EntitySet) -> Sequence[tuple[tuple[str, ...], tuple[int, ...]]]:
    """The key and the unique rules: their properties, and where these stand in a row."""
    kind = entity_set.type
    all_names = [(kind.key,), *(rule.properties for rule in kind.unique)]
    return [(names, tuple(kind.column_of[name] for name in names)) for names in all_names]
