"""JSON bodies: bytes to an object of properties (OData JSON Format 4.01, section 4.5)."""

import json
from decimal import Decimal, InvalidOperation
from typing import cast

import msgspec

from comptoir.errors import BAD_REQUEST, NOT_IMPLEMENTED, Refusal
from comptoir.jsonvalue import Json, json_type
from comptoir.request.headers import EntityTags, entity_tag

_DECODER = msgspec.json.Decoder(float_hook=Decimal)
_CHANGE_MEANING = ("bind", "removed", "delta", "deltalink")
_UNSUPPORTED = ("bind", "delta")
"""What OData has in the body of a write, when it stands behind the name of a property."""

_TAGS = ("@odata.etag", "@etag")
"""The tag of a record within it, as 4.0 and as 4.01 name it."""

_ENDS_OF_NAMES = (b'":', b" :", b"\t:", b"\n:", b"\r:")
"""What stands before the value of each member of an object, and elsewhere within texts alone."""


def parse_object(body: bytes) -> dict[str, Json]:
    """Read a body that must be one JSON object; control information is left out.

    Numbers with a fraction or an exponent come as exact `Decimal`. Raises `Refusal` (400) that
    names the byte at which the JSON breaks, for a name that comes twice, and (501 where OData has
    it) for control information that would change what the operation means.
    """
    value = _decoded(body)
    if not isinstance(value, dict):
        raise Refusal(
            BAD_REQUEST,
            'The body must be a JSON object such as {"displayName": "…"}, '
            f"but {json_type(value)} was sent.",
        )
    if body.count(b":") != len(value) != sum(map(body.count, _ENDS_OF_NAMES)):
        _check_names(body)
    annotations = [name for name in value if "@" in name]
    for name in annotations:
        annotated, _, term = name.rpartition("@")
        term = term.lower().removeprefix("odata.")
        if term in _CHANGE_MEANING:
            raise Refusal(
                NOT_IMPLEMENTED if annotated and term in _UNSUPPORTED else BAD_REQUEST,
                f"{name[:80]} is not supported in this body. Send properties alone.",
                target=name[:80],
            )
        del value[name]
    return value


def tag_within(body: bytes) -> EntityTags | None:
    """The tag of the record that a body was made of, in `@odata.etag`, or `@etag` in 4.01.

    None for a body without one, and for one that cannot be read, which `parse_object` refuses.
    Raises `Refusal` (400) for a value that is not a tag.
    """
    try:
        value = _decoded(body)
    except Refusal:
        return None
    if not isinstance(value, dict):
        return None
    names = [name for name in value if name.lower() in _TAGS]
    if not names:
        return None
    if len(names) > 1:
        raise Refusal(
            BAD_REQUEST,
            f"{names[0]} and {names[1]} mean the same. Send one of them.",
            target=names[1],
        )
    name, sent = names[0], value[names[0]]
    tag = entity_tag(sent) if isinstance(sent, str) else None
    if tag is None:
        was = repr(sent[:80]) if isinstance(sent, str) else json_type(sent)
        raise Refusal(
            BAD_REQUEST,
            f'{name} must be an entity tag such as W/"…", but {was} was sent. '
            "Send the tag as it was received, quotes included, or send If-Match.",
            target=name,
        )
    return tag


def _check_names(body: bytes) -> None:
    """Raise `Refusal` (400) for a name that comes twice in the object, which readers read apart.

    It is slow, and called for bodies alone that have more ends of names than names: those in which
    a name comes twice, and those with such marks in their texts.
    """
    members: list[tuple[str, str]] = []

    def keep(pairs: list[tuple[str, str]]) -> None:
        # the outermost object ends last
        members[:] = pairs

    try:
        json.loads(body, object_pairs_hook=keep, parse_int=str, parse_float=str)
    except RecursionError:
        # this reader gives up a little earlier than the other
        raise _too_deep() from None
    seen: set[str] = set()
    for name, _ in members:
        if name in seen:
            raise Refusal(BAD_REQUEST, f"{name[:80]} comes twice. Send it once.", target=name[:80])
        seen.add(name)


def _decoded(body: bytes) -> Json:
    if not body.strip():
        raise Refusal(BAD_REQUEST, "The body is empty. Send a JSON object.")
    try:
        return cast("Json", _DECODER.decode(body))
    except UnicodeDecodeError as fault:
        raise Refusal(
            BAD_REQUEST, f"The body is not UTF-8 (byte {fault.start}). Send UTF-8."
        ) from None
    except msgspec.DecodeError as fault:
        raise Refusal(BAD_REQUEST, f"The body is not JSON: {fault}.") from None
    except RecursionError:
        raise _too_deep() from None
    except (InvalidOperation, ValueError):
        raise Refusal(
            BAD_REQUEST, "The body holds a number with too many digits to be read."
        ) from None


def _too_deep() -> Refusal:
    return Refusal(
        BAD_REQUEST, "The body nests arrays or objects too deeply. Send one flat object."
    )
