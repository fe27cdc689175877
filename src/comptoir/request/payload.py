"""What writes have: a body, and headers by which they can be repeated.

A body is a JSON object of properties (OData JSON Format 4.01, section 4.5). Headers identify a
repeated request (OASIS Repeatable Requests 1.0).
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from decimal import Decimal, InvalidOperation
from email.utils import format_datetime, parsedate_to_datetime
from typing import cast

import msgspec

from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import NOT_IMPLEMENTED
from comptoir.jsonvalue import Json, json_type
from comptoir.request.headers import (
    BLANKS,
    JSON,
    EntityTags,
    Headers,
    cached,
    elements,
    entity_tag,
    json_parameters,
)

_DECODER = msgspec.json.Decoder(float_hook=Decimal)
_WRITE_ANNOTATIONS = ("bind", "removed", "delta", "deltalink")
"""Annotations that change the meaning of a write."""

_UNSUPPORTED = ("bind", "delta")
"""Annotations that OData allows after the name of a property."""

_TAGS = ("@odata.etag", "@etag")
"""The tag of a record in its JSON, as OData 4.0 and 4.01 name it."""

MOST_VALUES = 100_000
"""The most values in a body of more than `UNCOUNTED_BYTES`."""

UNCOUNTED_BYTES = 1 << 20
"""The length up to which the values of a body need no limit of their own."""

_ENDS_OF_NAMES = (b'":', b" :", b"\t:", b"\n:", b"\r:")
"""Bytes before the value of each member of an object; elsewhere they occur only in texts."""


def require_json(headers: Headers) -> bool:
    """Raise `Refusal` (415) unless the body is declared as JSON in UTF-8.

    Returns whether it is `IEEE754Compatible`: its decimals may be strings.
    """
    declared = headers.get(b"content-type", b"")
    return False if declared == b"application/json" else _declared(declared)


@cached
def _declared(content_type: bytes) -> bool:
    text = content_type.decode("latin-1")
    media = elements(text)
    if len(media) != 1 or media[0].name != JSON:
        raise rows.NOT_JSON_TYPE("Content-Type", value=text)
    # an unknown parameter does not change how a body is read
    parameters, unknown = json_parameters(media[0], lenient=True)
    if unknown:
        raise rows.NOT_JSON_TYPE("Content-Type", value=unknown)
    return "ieee754" in parameters


def parse_object(body: bytes) -> dict[str, Json]:
    """The properties of a body that must be one JSON object, without control information.

    Numbers with a fraction or an exponent are exact `Decimal`. Raises `Refusal`: 400 for malformed
    JSON and for a name that is given twice, 400 or 501 for control information that would change
    the meaning of the operation.
    """
    value = _decoded(body)
    if not isinstance(value, dict):
        node = "StartArray" if isinstance(value, list) else "PrimitiveValue"
        raise rows.NOT_AN_OBJECT(json=json_type(value), node=node)
    if body.count(b":") != len(value) != sum(map(body.count, _ENDS_OF_NAMES)):
        name = repeated(MEMBERS.decode(body))
        if name is not None:
            raise rows.MEMBER_TWICE(name[:80], name=name)
    return without_annotations(value)


def without_annotations(value: dict[str, Json]) -> dict[str, Json]:
    """The members of an object without control information.

    Raises `Refusal` (400, 501) for that which would change the meaning of the operation.
    """
    for name in [name for name in value if "@" in name]:
        annotated, _, term = name.rpartition("@")
        term = term.lower().removeprefix("odata.")
        if term in _WRITE_ANNOTATIONS:
            error = NOT_IMPLEMENTED if annotated and term in _UNSUPPORTED else None
            raise rows.ANNOTATION(name[:80], error=error, name=name)
        del value[name]
    return value


def check_values(body: bytes, most: int = MOST_VALUES) -> None:
    """Raise `Refusal` (400) for a long body with too many values, before it is decoded.

    A decoded value may need thirty times the memory of its text, so this is for bodies of more than
    `UNCOUNTED_BYTES`. A long text is a single value.
    """
    unescaped = body.replace(rb"\\", b"").replace(rb"\"", b"")
    is_many = unescaped.count(b'"') > 4 * most
    if not is_many:
        outside = b"".join(unescaped.split(b'"')[::2])
        is_many = sum(map(outside.count, (b",", b"[", b"{"))) > most
    if is_many:
        raise rows.TOO_MANY_VALUES(most=most)


def tag_within(body: bytes) -> EntityTags | None:
    """The entity tag in a body: `@odata.etag`, or `@etag` in OData 4.01.

    None for a body without a tag, and for one that `parse_object` refuses. Raises `Refusal` (400)
    for a value that is not a tag.
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
        raise rows.SAME_TAG_TWICE(names[1], one=names[0], other=names[1])
    name, sent = names[0], value[names[0]]
    tag = entity_tag(sent) if isinstance(sent, str) else None
    if tag is None:
        shown = sent if isinstance(sent, str) else json_type(sent)
        raise rows.TAG_IN_BODY(name, value=shown, name=name)
    return tag


class MemberName:
    """The name of a member of a JSON object; a dict keeps two members of the same name."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


MEMBERS = msgspec.json.Decoder(
    dict[MemberName, msgspec.Raw], dec_hook=lambda _, text: MemberName(text)
)
"""Decodes the members of a JSON object, including those that are given twice."""


def repeated(names: Iterable[MemberName]) -> str | None:
    """The first name that is given twice."""
    seen: set[str] = set()
    for name in names:
        if name.text in seen:
            return name.text
        seen.add(name.text)
    return None


def _decoded(body: bytes) -> Json:
    if not body.strip():
        raise rows.EMPTY_BODY(node="EndOfInput")
    if len(body) > UNCOUNTED_BYTES:
        check_values(body)
    try:
        return cast("Json", _DECODER.decode(body))
    except UnicodeDecodeError as error:
        raise rows.BODY_NOT_UTF_8(byte=error.start) from None
    except msgspec.DecodeError as error:
        raise rows.MALFORMED_JSON(reason=json_error(error)) from None
    except RecursionError:
        raise rows.BODY_TOO_DEEP() from None
    except (InvalidOperation, ValueError):
        raise rows.LONG_NUMBER() from None


def json_error(error: msgspec.DecodeError) -> str:
    """The problem of a text that is not JSON."""
    reason = str(error).removeprefix("JSON is malformed: ")
    return f"Malformed JSON ({reason[:1].lower()}{reason[1:]})"


REQUEST_ID, CLIENT_ID = "Repeatability-Request-ID", "Repeatability-Client-ID"
FIRST_SENT, RESULT = "Repeatability-First-Sent", "Repeatability-Result"

LONGEST_ID = 256
"""Characters of an id."""

_REQUEST_ID, _CLIENT_ID = REQUEST_ID.lower().encode(), CLIENT_ID.lower().encode()
_FIRST_SENT = FIRST_SENT.lower().encode()


class Repeatability(msgspec.Struct, frozen=True):
    """The identity of a request; `client_id` may be empty."""

    request_id: str
    client_id: str
    first_sent: datetime


def repeatability(headers: Headers) -> Repeatability | None:
    """The identity of a repeatable request; None if it is not repeatable.

    Raises `Refusal` (400) for headers that are incomplete or malformed.
    """
    request_id, first_sent = headers.get(_REQUEST_ID), headers.get(_FIRST_SENT)
    if request_id is None and first_sent is None and _CLIENT_ID not in headers:
        return None
    if request_id is None or first_sent is None:
        missing = FIRST_SENT if first_sent is None else REQUEST_ID
        raise rows.INCOMPLETE_REPEAT(missing, header=missing)
    return Repeatability(
        _id(REQUEST_ID, request_id),
        _id(CLIENT_ID, headers[_CLIENT_ID]) if _CLIENT_ID in headers else "",
        _instant(first_sent),
    )


def _id(name: str, value: bytes) -> str:
    text = value.decode("latin-1").strip(BLANKS)
    if text.isascii() and text.isprintable() and 0 < len(text) <= LONGEST_ID:
        return text
    raise rows.REPEAT_ID(name, value=text, header=name, longest=LONGEST_ID)


def _instant(value: bytes) -> datetime:
    text = value.decode("latin-1").strip(BLANKS)
    with suppress(ValueError, OverflowError):
        first_sent = parsedate_to_datetime(text)
        # the reader accepts other forms too
        if format_datetime(first_sent, usegmt=True) == text:
            return first_sent
    raise rows.REPEAT_TIME(FIRST_SENT, value=text)
