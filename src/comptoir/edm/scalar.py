"""Guids and Booleans: `Edm.Guid` and `Edm.Boolean`."""

import re

from typing_extensions import override

from comptoir.edm.primitive import JsonSchema, PrimitiveType, Stored, ValueFault, Wire, WrittenType
from comptoir.jsonvalue import Json

NO_GUID = "00000000-0000-0000-0000-000000000000"
_GUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_guid(text: str) -> bool:
    """Whether a text has the form of a Guid, in either case."""
    return _GUID.fullmatch(text) is not None


class Guid(WrittenType):
    """A UUID (RFC 9562) in lower case; the all-zero one is no reference."""

    edm_name = "Edm.Guid"
    default = NO_GUID
    no_value = f'"{NO_GUID}"'
    expected = "a Guid"

    @property
    @override
    def json_schema(self) -> JsonSchema:
        return {"type": "string", "format": "uuid"}

    @override
    def is_no_key(self, stored: Stored) -> bool:
        return stored == NO_GUID

    @override
    def from_text(self, text: str) -> Stored:
        if _GUID.fullmatch(text) is None:
            raise ValueFault(
                f"must be a Guid of the form {NO_GUID[:8]}-0000-…, but {text[:40]!r} is not."
            )
        return text.lower()


class Boolean(PrimitiveType):
    """True or false; stored as 1 or 0."""

    edm_name = "Edm.Boolean"
    default = 0
    no_value = "false"
    expected = "true or false"

    @property
    @override
    def json_schema(self) -> JsonSchema:
        return {"type": "boolean"}

    @override
    def from_json(self, value: Json) -> Stored:
        if not isinstance(value, bool):
            raise self.wrong_kind(value)
        return int(value)

    @override
    def from_text(self, text: str) -> Stored:
        if text not in ("true", "false"):
            raise ValueFault(f"must be true or false, but {text[:40]!r} is neither.")
        return int(text == "true")

    @staticmethod
    def _wire(stored: Stored) -> Wire:
        return bool(stored)

    to_wire = _wire

    @override
    def to_text(self, stored: Stored) -> str:
        return "true" if stored else "false"


GUID = Guid()
BOOLEAN = Boolean()
