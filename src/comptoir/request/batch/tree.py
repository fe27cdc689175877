"""What a batch holds, in whichever format it was sent (OData Protocol 4.01, section 11.7)."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from comptoir.request.batch.address import Address, referenced_values
from comptoir.request.batch.condition import Condition, ids_in
from comptoir.request.batch.faults import head_too_large, malformed, unsupported
from comptoir.request.headers import Headers

METHODS = frozenset({"GET", "POST", "PATCH", "PUT", "DELETE"})
MOST_FIELDS = 100
"""The most headers of a part."""

_LONGEST_ID = 200
_ID = re.compile(r"[\x20-\x7e]+")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_TAG_REFERENCE = re.compile(rb"\s*\$([\w.~-]+)\s*")
_BODILESS = frozenset({"GET", "DELETE"})


class BatchLimits(msgspec.Struct, frozen=True):
    """How much a batch may hold: requests, and bytes of the headers of each, its URL alike."""

    requests: int
    header_bytes: int


class Part(msgspec.Struct, frozen=True):
    """One request of a batch. `place` names it in messages: `requests[2]`, `part 3.1`.

    `number` counts the requests of the batch from 1.
    `depends_on` holds ids of requests and names of groups that must have been done before, unless
    there is a `condition`.
    """

    number: int
    place: str
    id: str | None
    method: str
    address: Address
    headers: Headers
    body: bytes
    depends_on: tuple[str, ...] = ()
    condition: Condition | None = None


class Group(msgspec.Struct, frozen=True):
    """Requests that are done together or not at all: an atomicity group, a change set."""

    name: str | None
    parts: tuple[Part, ...]


Item = Part | Group


class Batch(msgspec.Struct, frozen=True):
    """A batch whose ids and dependencies are in order."""

    items: tuple[Item, ...]

    @property
    def parts(self) -> Iterator[Part]:
        """All requests, in their order."""
        for item in self.items:
            yield from item.parts if isinstance(item, Group) else (item,)


def referenced_tag(headers: Headers, name: bytes) -> str | None:
    """The request whose entity tag `If-Match` or `If-None-Match` refers to: `$<id>`, unquoted."""
    match = _TAG_REFERENCE.fullmatch(headers.get(name, b""))
    return None if match is None else match[1].decode()


def read_method(text: str, place: str) -> str:
    """The method of a request, in upper case."""
    method = text.upper()
    if method not in METHODS:
        allowed = ", ".join(sorted(METHODS))
        raise malformed(place, f"its method {text[:20]!r} must be one of {allowed}.")
    return method


def read_id(text: str, place: str) -> str:
    """The id of a request or the name of a group: printable ASCII, since answers repeat it."""
    if len(text) > _LONGEST_ID or _ID.fullmatch(text) is None:
        raise malformed(
            place, f"its id must be 1 to {_LONGEST_ID} printable ASCII characters, such as 1."
        )
    return text


def check_header(name: bytes, value: bytes, place: str) -> None:
    """Raise `Refusal` (400) for a header that could not be sent by itself."""
    if _NAME.fullmatch(name) is None or _CONTROL.search(value) is not None:
        shown = name[:40].decode("latin-1")
        raise malformed(place, f"its header {shown!r} is malformed. Write it as Name: value.")


def check_url_size(size: int, limits: BatchLimits, place: str) -> None:
    """Raise `Refusal` (431) for a URL that is longer than all headers may be.

    One that is merely too long for a URL is refused by itself when its turn comes.
    """
    if size > limits.header_bytes:
        raise head_too_large(place, limits.header_bytes, MOST_FIELDS)


def check_body(method: str, body: bytes | None, place: str) -> bytes:
    """The body of a request, empty when it has none; `Refusal` (400) where none may be."""
    if body is not None and method in _BODILESS and body.strip():
        raise malformed(place, f"a {method} has no body. Leave it out.")
    return body or b""


def checked(items: Sequence[Item]) -> Batch:
    """A batch of these items; `Refusal` (400, 501) unless what they refer to stands before them."""
    before: set[str] = set()
    for item in items:
        within: set[str] = set()
        for part in item.parts if isinstance(item, Group) else (item,):
            _check_references(part, before, within)
            if part.id is not None:
                within.add(part.id)
        before |= within
        if isinstance(item, Group) and item.name is not None:
            before.add(item.name)
    return Batch(tuple(items))


def _check_references(part: Part, before: set[str], within: set[str]) -> None:
    tags = [referenced_tag(part.headers, name) for name in (b"if-match", b"if-none-match")]
    conditions = frozenset() if part.condition is None else ids_in(part.condition)
    for wanted in (part.address.reference, *tags, *part.depends_on, *conditions):
        if wanted is not None and wanted not in before and wanted not in within:
            raise malformed(
                part.place,
                f"it refers to {wanted[:40]!r}, but no request before it has that id.",
            )
    for tag in tags:
        if tag in within:
            raise unsupported(
                part.place, f"${tag} as the entity tag of a request of the same atomic group"
            )
    for each in conditions & within:
        raise unsupported(part.place, f"an if on ${each}, a request of the same atomic group,")
    value = referenced_values(part.address.query, before | within)
    if value is not None:
        raise unsupported(part.place, f"{value}, a value of another answer,")
