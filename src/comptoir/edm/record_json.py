r"""Versions of a record: its entity tags, and its JSON, which the database stores with it.

An entity tag (RFC 9110, section 8.8.3) is weak and identifies a version of a record. It consists of
the company's incarnation and the number of the record's last change.

The JSON is what a response in the default format has for the record, from the record's version on:
`57\"","id":"…","number":"…"`. The entity tag and the braces around it are the response's.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from itertools import repeat
from operator import itemgetter
from typing import cast
from zlib import crc32

import msgspec

from comptoir.edm.model import Company, EntityType
from comptoir.edm.types import Stored, Wire

LONGEST_JSON = 4_000
"""The most bytes of JSON that are stored. A longer one is encoded when the record is read."""

ENCODING = 1
"""The version of the encoding. A change of a type's wire form must raise it."""

DECODERS_CACHED = 500
"""The number of decoders that are kept, one for each list of properties to sort by."""

_END_OF_VERSION = b'\\"",'

_BETWEEN = b',"'
"""What two properties have between them, and what ends a text with a comma; others have none."""

_encode = msgspec.json.Encoder().encode

JsonColumns = tuple[bytes | None, int, int]
"""The JSON of a record, None if it is not stored; its version, and the layout of its properties."""


class RecordEncoder:
    """Encodes the records of an entity type.

    `layout` is a digest of the encoding, the properties, their types and the wire forms of these:
    JSON with another layout is outdated.
    """

    def __init__(self, entity_type: EntityType) -> None:
        properties = entity_type.properties
        self._shape = struct_of(entity_type.name, [each.name for each in properties])
        self._converted: list[tuple[int, Callable[[Stored], Wire]]] = [
            (at, each.type.to_wire)
            for at, each in enumerate(properties)
            if each.type.to_wire is not None
        ]
        # the other properties are stored as they are sent
        self._stored = {
            each.name: each.type.from_wire for each in properties if each.type.to_wire is not None
        }
        declared = [f"{each.name}:{each.type.edm_name}{each.type.form}" for each in properties]
        self.layout = crc32(",".join([f"{ENCODING}", *declared]).encode()) & 0x7FFFFFFF

    def encode(self, row: Sequence[Stored]) -> bytes:
        """The JSON of a record; the row has its version, then its properties in order."""
        values: list[Stored | Wire] = list(row[1:])
        for at, to_wire in self._converted:
            values[at] = to_wire(row[at + 1])
        properties = _encode(self._shape(*values))
        return b"%d%b%b" % (int(row[0]), _END_OF_VERSION, properties[1:-1])

    def values(self, encoded: bytes, names: Sequence[str]) -> tuple[Stored, ...]:
        """The values of some properties in the JSON of a record."""
        members = _decoder(tuple(names)).decode(b"{%b}" % without_version(encoded))
        return tuple(
            [
                self._stored[name](value) if name in self._stored else cast("Stored", value)
                for name, value in zip(names, msgspec.structs.astuple(members), strict=True)
            ]
        )

    def columns(self, row: Sequence[Stored]) -> JsonColumns:
        """The values of the columns for the JSON of a record."""
        encoded = self.encode(row)
        return encoded if len(encoded) <= LONGEST_JSON else None, int(row[0]), self.layout

    def columns_of_all(
        self, versions: Sequence[int], by_column: Sequence[Sequence[Stored]]
    ) -> tuple[Iterable[bytes | None], Iterable[int], Iterable[int]]:
        """`columns` of many records, by column, from their versions and the columns' values."""
        wire: list[Iterable[Stored | Wire]] = list(by_column)
        for at, to_wire in self._converted:
            wire[at] = map(to_wire, by_column[at])
        properties = map(_encode, map(self._shape, *wire))
        encoded = [
            b"%d%b%b" % (version, _END_OF_VERSION, each[1:-1])
            for version, each in zip(versions, properties, strict=True)
        ]
        stored = [each if len(each) <= LONGEST_JSON else None for each in encoded]
        return stored, versions, repeat(self.layout)


@cache
def record_encoder(entity_type: EntityType) -> RecordEncoder:
    """The encoder of an entity type."""
    return RecordEncoder(entity_type)


@lru_cache(DECODERS_CACHED)
def _decoder(names: tuple[str, ...]) -> msgspec.json.Decoder[msgspec.Struct]:
    """Decodes some members of an object, and skips the others."""
    return msgspec.json.Decoder(struct_of("members", names), float_hook=Decimal)


def opaque_tag(company: Company | None, version: str | int) -> str:
    """The tag without `W/` and quotes; without a company, the version is the tag."""
    return f"{company.incarnation}.{version}" if company else str(version)


def entity_tag(company: Company | None, version: str | int) -> str:
    """The tag as in headers and `@odata.etag`."""
    return f'W/"{opaque_tag(company, version)}"'


_ENCODED = re.compile(r"'19;([0-9]{10})([0-9]{9,18})1;00;'")


def encoded_tag(opaque: str) -> str:
    """An opaque tag in the form of Business Central: both of its numbers in a text, in Base64."""
    incarnation, _, number = opaque.partition(".")
    text = f"'19;{int(incarnation, 16):010}{int(number):09}1;00;'"
    return base64.b64encode(text.encode()).decode()


def decoded_tag(tag: str) -> str:
    """The opaque tag that was encoded; another text is the tag of no record, and stays as it is."""
    try:
        text = base64.b64decode(tag, validate=True).decode()
    except (binascii.Error, ValueError):
        return tag
    match = _ENCODED.fullmatch(text)
    return tag if match is None else f"{int(match[1]):08x}.{int(match[2])}"


def version_of(encoded: bytes) -> str:
    """The version of a record, by its JSON."""
    return encoded[: encoded.index(_END_OF_VERSION)].decode()


def without_version(encoded: bytes) -> bytes:
    """The properties in the JSON of a record, without the braces around them."""
    return encoded.partition(_END_OF_VERSION)[2]


@lru_cache(DECODERS_CACHED)
def selection(entity_type: EntityType, names: tuple[str, ...]) -> Callable[[bytes], bytes]:
    """The function that leaves the version and these properties in the JSON of a record.

    The names are in the order of the properties. JSON is split where properties meet, which costs
    less than decoding it.
    """
    every = list(entity_type.by_name)
    places = [every.index(name) + 1 for name in names]
    after = places[-1] + 1
    following = b'%b":' % every[after - 1].encode() if after <= len(every) else b""
    chosen = itemgetter(0, *places)
    decode = msgspec.json.Decoder(struct_of("selected", names, msgspec.Raw)).decode

    def select(encoded: bytes) -> bytes:
        parts = encoded.split(_BETWEEN, after)
        is_whole = parts[after].startswith(following) if following else len(parts) == after
        if is_whole:
            return _BETWEEN.join(chosen(parts))
        # a text ends with a comma, so it was split from its quote
        version, _, properties = encoded.partition(_END_OF_VERSION)
        selected = _encode(decode(b"{%b}" % properties))
        return b"%b%b%b" % (version, _END_OF_VERSION, selected[1:-1])

    return select


def struct_of(
    name: str, names: Sequence[str], kind: type[msgspec.Raw] | None = None
) -> type[msgspec.Struct]:
    """A struct whose fields have these names in JSON, and any type or this one."""
    fields = [f"field_{number}" for number in range(len(names))]
    return msgspec.defstruct(
        f"{name}_record",
        fields if kind is None else [(each, kind) for each in fields],
        rename=dict(zip(fields, names, strict=True)),
        gc=False,
    )
