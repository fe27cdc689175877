"""Rows to JSON (OData JSON Format 4.01, section 7): every field, in the contract's order."""

from collections.abc import Callable, Sequence
from urllib.parse import quote

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored, Wire
from comptoir.edm.text import Text
from comptoir.plan.read import Row
from comptoir.plan.target import Company
from comptoir.response.etag import entity_tag, opaque_tag

_encode = msgspec.json.Encoder().encode

MINIMAL, NONE, FULL = "minimal", "none", "full"
NAMESPACE = "Comptoir"


class RecordWriter:
    """Writes the records of one set at one metadata level.

    A generated struct per set lets the encoder write a record without a dictionary: its fields
    are the control information and then the properties, under their names on the wire.
    """

    def __init__(self, entity_set: EntitySet, level: str) -> None:
        self.entity_set = entity_set
        self.level = level
        self.media_type = f"application/json;odata.metadata={level}".encode()
        kind = entity_set.type
        control = ["context", "etag", "type", "id", "edit_link"]
        names = {
            "context": "@odata.context",
            "etag": "@odata.etag",
            "type": "@odata.type",
            "id": "@odata.id",
            "edit_link": "@odata.editLink",
        }
        fields = [f"field_{number}" for number in range(len(kind.properties))]
        names |= {field: each.name for field, each in zip(fields, kind.properties, strict=True)}
        self._shape = msgspec.defstruct(
            f"{kind.name}_record",
            [*control, *fields],
            rename=names,
            gc=False,
        )
        self._converted: list[tuple[int, Callable[[Stored], Wire]]] = [
            (number, each.type.to_wire)
            for number, each in enumerate(kind.properties, start=1)
            if each.type.to_wire is not None
        ]
        key = kind.key_property
        self._key_at = kind.position[kind.key] + 1
        self._key_quoted = isinstance(key.type, Text)

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
        """The URL of the record."""
        return f"{set_url(base_url, self.entity_set, company)}({self.key_text(row[self._key_at])})"

    def key_text(self, key: Stored) -> str:
        """A key as it stands in a URL, percent-encoded."""
        if not self._key_quoted:
            return str(key)
        return quote("'" + str(key).replace("'", "''") + "'", safe="'")

    def record(self, base_url: str, company: Company | None, row: Row, *, alone: bool) -> bytes:
        """A record as a JSON object; `alone` gives it the context of a single entity."""
        unset = msgspec.UNSET
        context: str | msgspec.UnsetType = unset
        tag: str | msgspec.UnsetType = unset
        kind_name: str | msgspec.UnsetType = unset
        link: str | msgspec.UnsetType = unset
        level = self.level
        if level != NONE:
            tag = entity_tag(company, row[0])
            if alone:
                context = f"{context_url(base_url, self.entity_set, company)}/$entity"
            if level == FULL:
                kind_name = f"#{NAMESPACE}.{self.entity_set.type.name}"
                link = self.link(base_url, company, row)
        values: list[Stored | Wire] = list(row)
        for number, to_wire in self._converted:
            values[number] = to_wire(row[number])
        del values[0]
        return _encode(self._shape(context, tag, kind_name, link, link, *values))

    def records(self, base_url: str, company: Company | None, rows: Sequence[Row]) -> bytes:
        """Records of a collection, separated by commas."""
        return b",".join([self.record(base_url, company, row, alone=False) for row in rows])


def set_url(base_url: str, entity_set: EntitySet, company: Company | None) -> str:
    """The URL of a set: under its company, or at the root."""
    if company is None:
        return f"{base_url}/{entity_set.name}"
    return f"{base_url}/companies({company.id})/{entity_set.name}"


def context_url(base_url: str, entity_set: EntitySet, company: Company | None) -> str:
    """The context URL of a set's collection (OData Protocol 4.01, section 10.2)."""
    return set_url(f"{base_url}/$metadata#", entity_set, company).replace("#/", "#", 1)
