"""What a change did to the values of a record, as the change log stores it.

It is a JSON object: for each property, its value before and after an update, or the last one of a
deleted record, in stored form. Of a secret and of a stream it only says that they changed.
"""

from collections.abc import Iterable, Mapping
from functools import cache

import msgspec

from comptoir.edm.model import EntityType
from comptoir.edm.types import Stored
from comptoir.plan.read import Row

Values = Mapping[str, Stored | None]
"""Values in stored form by their properties; None for those that are not stored."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, tuple[Stored, ...] | None]).decode


def encode_difference(
    entity_type: EntityType, names: Iterable[str], before: Row, after: Row | None
) -> str:
    """The difference of two versions of a record in some properties; `after` may not exist."""
    column_of, rows = entity_type.column_of, (before,) if after is None else (before, after)
    values: dict[str, list[Stored] | None] = {
        name: [row[column_of[name]] for row in rows] for name in names
    }
    for name in _not_stored(entity_type):
        if name in values:
            values[name] = None
    return _encode(values).decode()


def decode_difference(text: str) -> tuple[Values, Values]:
    """The values before a change, and those after an update."""
    values = _decode(text)
    before, after = (
        {name: None if each is None else each[at] for name, each in values.items()}
        for at in (0, -1)
    )
    return before, after


@cache
def _not_stored(entity_type: EntityType) -> frozenset[str]:
    """The properties whose values a history does not have."""
    return frozenset(each.name for each in entity_type.properties if each.secret or each.is_stream)
