"""Batches in JSON (OData JSON Format 4.01, section 19.1)."""

import binascii
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from comptoir.errors import BAD_REQUEST, Refusal
from comptoir.request.batch.address import Roots, parse_address
from comptoir.request.batch.condition import parse_condition
from comptoir.request.batch.faults import head_too_large, malformed, too_many, unsupported
from comptoir.request.batch.tree import (
    MOST_FIELDS,
    Batch,
    BatchLimits,
    Group,
    Item,
    Part,
    check_body,
    check_header,
    check_url_size,
    checked,
    read_id,
    read_method,
)
from comptoir.request.headers import BLANKS, Headers, lowered

Members = Mapping[str, msgspec.Raw]

_MEMBERS = frozenset(
    {"id", "method", "url", "headers", "body", "atomicityGroup", "dependsOn", "if"}
)
_FIELD_BYTES = len(": \r\n")
_ROOT = "The body"

T = TypeVar("T")


def parse_documents(body: bytes, limits: BatchLimits, roots: Roots) -> Batch:
    """Read a batch from a JSON object with `requests`; raises `Refusal` with the place at fault."""
    document = _decoded(body, dict[str, msgspec.Raw], _ROOT, 'an object such as {"requests": []}')
    _check_names(document, frozenset({"requests"}), _ROOT)
    if "requests" not in document:
        raise Refusal(BAD_REQUEST, "The batch has no requests. Send an array of them.")
    listed = _decoded(document["requests"], list[msgspec.Raw], "requests", "an array of objects")
    if len(listed) > limits.requests:
        raise too_many(limits.requests)
    parts: list[tuple[str | None, Part]] = []
    ids: set[str] = set()
    for number, raw in enumerate(listed, 1):
        place = _place(number)
        members = _decoded(raw, dict[str, msgspec.Raw], place, "an object")
        group = _text(members, "atomicityGroup", place)
        part = _part(members, number, limits, roots)
        if part.id in ids:
            raise malformed(place, f"another request has the id {part.id!r} too.")
        ids.add(str(part.id))
        parts.append((None if group is None else read_id(group, place), part))
    return checked(_grouped(parts, ids))


def _part(members: Members, number: int, limits: BatchLimits, roots: Roots) -> Part:
    place = _place(number)
    _check_names(members, _MEMBERS, place)
    given = {name: _text(members, name, place) for name in ("id", "method", "url", "if")}
    for name in ("id", "method", "url"):
        if given[name] is None:
            raise malformed(place, f"{name} is missing.")
    method = read_method(given["method"] or "", place)
    check_url_size(len(given["url"] or ""), limits, place)
    headers = _headers(members, place, limits)
    body = check_body(method, _body(members, headers, place), place)
    if body and b"content-type" not in headers:
        headers = {**headers, b"content-type": b"application/json"}
    depends_on: list[str] = []
    if _is_given(members, "dependsOn"):
        depends_on = _decoded(
            members["dependsOn"], list[str], f"{place}.dependsOn", "an array of ids"
        )
        if len(depends_on) > limits.requests:
            raise malformed(f"{place}.dependsOn", "it names more ids than there can be.")
    condition = given["if"]
    return Part(
        number,
        place,
        read_id(given["id"] or "", place),
        method,
        parse_address(given["url"] or "", roots, place),
        headers,
        body,
        tuple(depends_on),
        None if condition is None else parse_condition(condition, place),
    )


def _grouped(parts: list[tuple[str | None, Part]], ids: set[str]) -> list[Item]:
    items: list[Item] = []
    names: set[str] = set()
    for name, part in parts:
        last = items[-1] if items else None
        if name is None:
            items.append(part)
            continue
        if part.method == "GET":
            raise unsupported(part.place, "a GET in an atomicity group")
        if isinstance(last, Group) and last.name == name:
            items[-1] = Group(name, (*last.parts, part))
        elif name in names:
            raise malformed(part.place, f"the requests of the group {name!r} must be adjacent.")
        elif name in ids:
            raise malformed(part.place, f"the group {name!r} has the id of a request.")
        else:
            names.add(name)
            items.append(Group(name, (part,)))
    return items


def _headers(members: Members, place: str, limits: BatchLimits) -> Headers:
    if not _is_given(members, "headers"):
        return {}
    place = f"{place}.headers"
    given = _decoded(members["headers"], dict[str, str], place, "an object of texts")
    headers: dict[bytes, bytes] = {}
    for name, text in given.items():
        key, value = lowered(name).encode(), text.strip(BLANKS).encode()
        check_header(key, value, place)
        if key in headers:
            raise malformed(place, f"the header {name[:40]!r} is given twice.")
        headers[key] = value
    size = sum(len(name) + len(value) + _FIELD_BYTES for name, value in headers.items())
    if size > limits.header_bytes or len(headers) > MOST_FIELDS:
        raise head_too_large(place, limits.header_bytes, MOST_FIELDS)
    if b"transfer-encoding" in headers:
        raise unsupported(place, "Transfer-Encoding in a batch")
    return headers


def _body(members: Members, headers: Headers, place: str) -> bytes | None:
    if not _is_given(members, "body"):
        return None
    raw = bytes(members["body"])
    declared = headers.get(b"content-type", b"application/json").decode("latin-1")
    media = declared.partition(";")[0].strip().lower()
    if media == "application/json" or media.endswith("+json"):
        return raw
    text = _decoded(raw, str, f"{place}.body", f"text, since it is declared as {media[:60]!r}")
    if media.startswith("text/"):
        return text.encode()
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise malformed(
            f"{place}.body", f"a body of {media[:60]!r} must be base64url-encoded."
        ) from None


def _place(number: int) -> str:
    return f"requests[{number - 1}]"


def _is_given(members: Members, name: str) -> bool:
    return name in members and bytes(members[name]) != b"null"


def _text(members: Members, name: str, place: str) -> str | None:
    if not _is_given(members, name):
        return None
    return _decoded(members[name], str, f"{place}.{name}", 'text, such as "1"')


def _check_names(members: Members, known: frozenset[str], place: str) -> None:
    for name in members:
        if name not in known and "@" not in name:
            listed = ", ".join(sorted(known))
            raise malformed(place, f"{name[:40]!r} is unknown here. Known are: {listed}.")


def _decoded(raw: bytes | msgspec.Raw, kind: type[T], place: str, wanted: str) -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError:
        raise malformed(place, f"it must be {wanted}.") from None
    except UnicodeDecodeError:
        raise malformed(place, "it is not UTF-8.") from None
    except msgspec.DecodeError as fault:
        raise malformed(place, f"it is not JSON: {fault}.") from None
    except RecursionError:
        raise malformed(place, "it nests arrays or objects too deeply.") from None
