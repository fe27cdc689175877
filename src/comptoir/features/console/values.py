"""Values of records as JSON, and as the text that people read and type."""

from collections.abc import Mapping
from decimal import Decimal
from typing import cast

import msgspec

from comptoir.edm.model import Property
from comptoir.edm.types import Text, TextualType, ValueFault
from comptoir.jsonvalue import Json

Values = Mapping[str, Json]
"""Values of properties in wire form, by the names of the properties."""

_decode = msgspec.json.Decoder(float_hook=Decimal).decode


def decoded(text: str | bytes) -> dict[str, Json]:
    """The members of a JSON object; raises `ValueError` for another text."""
    try:
        value = _decode(text)
    except (ArithmeticError, RecursionError):
        raise ValueError("not what the service writes") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return cast("dict[str, Json]", value)


def encoded(values: Values) -> bytes:
    """The values as a JSON object; numbers are as exact as in `decoded`."""
    return msgspec.json.encode(
        {
            name: msgspec.Raw(str(value).encode()) if isinstance(value, Decimal) else value
            for name, value in values.items()
        }
    )


def empty(declared: Property) -> Json:
    """The empty value of a property."""
    return cast("Json", _decode(declared.type.empty_json))


def shown(declared: Property, value: Json) -> str:
    """A value as text; blank for the empty day, instant and Guid."""
    if isinstance(value, bool):
        return "true" if value else "false"
    edm_type = declared.type
    is_blank = isinstance(edm_type, TextualType) and not isinstance(edm_type, Text)
    return "" if is_blank and value == empty(declared) else str(value)


def typed(declared: Property, text: str, before: Json) -> Json:
    """The value that a text of a form means; `before` is the one that the form had.

    A text that the property does not accept is returned as it is: the service refuses it. Browsers
    send each line end of a text as CR LF, so line ends alone are not a change.
    """
    edm_type = declared.type
    if isinstance(edm_type, Text):
        lines, old = _lines(text), str(before)
        if lines == _lines(old):
            return before
        return lines.replace("\n", "\r\n") if "\r\n" in old else lines
    text = text.strip()
    if not text:
        return empty(declared)
    try:
        stored = edm_type.from_text(text)
    except ValueFault:
        return text
    wire = stored if edm_type.to_wire is None else edm_type.to_wire(stored)
    return cast("Json", _decode(msgspec.json.encode(wire)))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
