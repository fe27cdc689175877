"""Rows to JSON (OData JSON Format 4.01, section 7): every field, in the contract's order."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import quote

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored, Wire
from comptoir.plan.read import Row
from comptoir.plan.target import Company
from comptoir.response.etag import entity_tag, opaque_tag

_encode = msgspec.json.Encoder().encode

MINIMAL, NONE, FULL = "minimal", "none", "full"
NAMESPACE = "Comptoir"

_CONTROL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        MINIMAL: ("@odata.etag",),
        NONE: (),
        FULL: ("@odata.etag", "@odata.type", "@odata.id", "@odata.editLink"),
    }
)
"""The control information of a record, by metadata level (OData JSON Format 4.01, section 3.1)."""


class RecordWriter:
    """Writes the records of one set at one metadata level.

    Generated structs let the encoder write a record without a dictionary: their fields are the
    control information and then the properties, under their names on the wire.
    """

    def __init__(self, entity_set: EntitySet, level: str) -> None:
        self.entity_set = entity_set
        self.level = level
        self.media_type = f"application/json;odata.metadata={level}".encode()
        listed = _CONTROL[level]
        self._alone = _shape(entity_set, listed if level == NONE else ("@odata.context", *listed))
        self._listed = _shape(entity_set, listed)
        kind = entity_set.type
        self._converted: list[tuple[int, Callable[[Stored], Wire]]] = [
            (number, each.type.to_wire)
            for number, each in enumerate(kind.properties)
            if each.type.to_wire is not None
        ]
        self._key_at = kind.position[kind.key] + 1
        self._key_quoted = kind.key_property.type.quoted

    def opaque(self, company: Company | None, row: Row) -> str:
        """What stands between the quotes of the record's entity tag."""
        return opaque_tag(company, row[0])

    def key(self, row: Row) -> Stored:
        """The record's key."""
        return row[self._key_at]

    def tag(self, company: Company | None, row: Row) -> str:
        """The record's entity tag."""
        return entity_tag(company, row[0])

    def link(self, base_url: str, company: Company | None, row: Row) -> str:
        """The URL of the record, its key percent-encoded."""
        key = str(row[self._key_at])
        if self._key_quoted:
            key = quote("'" + key.replace("'", "''") + "'", safe="'")
        return f"{set_url(base_url, self.entity_set, company)}({key})"

    def record(self, base_url: str, company: Company | None, row: Row) -> bytes:
        """A record by itself as a JSON object."""
        control = self._control(base_url, company, row)
        if self.level != NONE:
            context = f"{context_url(base_url, self.entity_set, company)}/$entity"
            control = (context, *control)
        return _encode(self._alone(*control, *self._values(row)))

    def records(self, base_url: str, company: Company | None, rows: Sequence[Row]) -> bytes:
        """Records of a collection, separated by commas."""
        shape, values, control = self._listed, self._values, self._control
        listed = [shape(*control(base_url, company, row), *values(row)) for row in rows]
        return _encode(listed)[1:-1]

    def _control(self, base_url: str, company: Company | None, row: Row) -> tuple[str, ...]:
        if self.level == MINIMAL:
            return (entity_tag(company, row[0]),)
        if self.level == NONE:
            return ()
        link = self.link(base_url, company, row)
        kind = f"#{NAMESPACE}.{self.entity_set.type.name}"
        return (entity_tag(company, row[0]), kind, link, link)

    def _values(self, row: Row) -> Sequence[Stored | Wire]:
        if not self._converted:
            return row[1:]
        values: list[Stored | Wire] = list(row[1:])
        for number, to_wire in self._converted:
            values[number] = to_wire(row[number + 1])
        return values


def _shape(entity_set: EntitySet, control: Sequence[str]) -> type[msgspec.Struct]:
    names = [*control, *(each.name for each in entity_set.type.properties)]
    fields = [f"field_{number}" for number in range(len(names))]
    return msgspec.defstruct(
        f"{entity_set.type.name}_record",
        fields,
        rename=dict(zip(fields, names, strict=True)),
        gc=False,
    )


def set_url(base_url: str, entity_set: EntitySet, company: Company | None) -> str:
    """The URL of a set: under its company, or at the root."""
    if company is None:
        return f"{base_url}/{entity_set.name}"
    return f"{base_url}/companies({company.id})/{entity_set.name}"


@lru_cache(1_000)
def context_url(base_url: str, entity_set: EntitySet, company: Company | None) -> str:
    """The context URL of a set's collection (OData Protocol 4.01, section 10.2)."""
    return set_url(f"{base_url}/$metadata#", entity_set, company).replace("#/", "#", 1)
