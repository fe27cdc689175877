"""The requests of a batch, in either format (OData Protocol 4.01, section 11.7)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote, unquote

import msgspec

from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Fact, Refusal, RefusalRow
from comptoir.request.headers import Headers
from comptoir.request.path import WRITE_METHODS

BATCH = "$batch"
BODY = "The body"
"""The place of an error that is not in a single request."""

METHODS = WRITE_METHODS | {"GET"}
MOST_FIELDS = 100
"""Headers of a part."""

_ORIGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^/?]*)(.*)", re.DOTALL)
_REFERENCE = re.compile(r"\$([\w.~-]+)", re.ASCII)
_VALUE = re.compile(r"(?<![/\w])\$([\w.~-]+)", re.ASCII)
_SYSTEM_RESOURCES = frozenset({BATCH, "$crossjoin", "$all", "$entity", "$root", "$id", "$metadata"})
_DEFAULT_PORTS = ("http://", ":80"), ("https://", ":443")
_PLAIN = re.compile(r"[\x21-\x7e]*")
# printable ASCII remains as it is; the rest is encoded as UTF-8
_UNENCODED = "".join(map(chr, range(0x21, 0x7F)))

_LONGEST_ID = 200
_ID = re.compile(r"[\x20-\x7e]+")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_TAG_REFERENCE = re.compile(rb"\s*\$([\w.~-]+)\s*")
_BODILESS = frozenset({"GET", "DELETE"})


class Address(msgspec.Struct, frozen=True):
    """The percent-encoded path below the base path, and the query, of a request.

    With a `reference`, the id of an earlier request, `path` continues that request's record.
    """

    path: str
    query: str
    reference: str | None = None


class Roots(msgspec.Struct, frozen=True):
    """The URLs of this service.

    `origins` are scheme and authority, as `origin` returns them; `base_paths` are the prefixes of
    paths; `root` is the service root of the batch, below the base path: empty, or `/companies(…)`.
    """

    origins: frozenset[str]
    base_paths: tuple[str, ...]
    root: str


def origin(url: str) -> str:
    """Normalized scheme and authority of an absolute URL; empty for another URL."""
    match = _ORIGIN.fullmatch(url)
    if match is None:
        return ""
    lowered: str = match[1].lower()
    for scheme, port in _DEFAULT_PORTS:
        if lowered.startswith(scheme):
            return lowered.removesuffix(port)
    return lowered


class Condition(msgspec.Struct, frozen=True):
    """The text of an `if`, and the ids of the requests whose outcomes it depends on."""

    text: str
    ids: frozenset[str]


class BatchLimits(msgspec.Struct, frozen=True):
    """The limits of a batch.

    `requests` is their number, `header_bytes` the size of the headers of each, and of its URL.
    `change_set` is the number of requests in each change set. `ids`: each request in JSON has one.
    `merge`: a request may have the method MERGE, and is refused when it is executed.
    """

    requests: int
    header_bytes: int
    change_set: int
    ids: bool
    merge: bool


class Part(msgspec.Struct, frozen=True):
    """One request of a batch. `place` is its name in messages: `requests[2]`, `part 3.1`.

    `number` counts the requests of the batch from 1. `depends_on` has ids of requests and names of
    groups that must have succeeded before, unless there is a `condition`.
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
    """Requests that are executed atomically: an atomicity group or a change set."""

    name: str | None
    parts: tuple[Part, ...]


Item = Part | Group


class Batch(msgspec.Struct, frozen=True):
    """A batch whose ids and dependencies are valid."""

    items: tuple[Item, ...]

    @property
    def parts(self) -> Iterator[Part]:
        """All requests, in their order."""
        for item in self.items:
            yield from item.parts if isinstance(item, Group) else (item,)


def refuse_part(row: RefusalRow, target: str, /, **facts: Fact) -> Refusal:
    """The refusal of a batch; `target` names the part of it."""
    place = "the body" if target == BODY else target
    return row(target, more={**facts, "place": place})


def not_supported(construct: str, place: str) -> Refusal:
    """501: valid OData that is not supported in a batch."""
    return refuse_part(rows.BATCH_NOT_SUPPORTED, place, construct=construct)


def head_too_large(place: str, limit: int) -> Refusal:
    """431: a part with more headers, or a longer URL, than the limits allow."""
    return refuse_part(rows.LARGE_HEADERS_IN_BATCH, place, limit=limit, fields=MOST_FIELDS)


def referenced_tag(headers: Headers, name: bytes) -> str | None:
    """The id of the request whose ETag the header `name` refers to: `$<id>`, unquoted."""
    match = _TAG_REFERENCE.fullmatch(headers.get(name, b""))
    return None if match is None else match[1].decode()


def read_method(text: str, limits: BatchLimits, place: str) -> str:
    """The method of a request, in upper case."""
    method = text.upper()
    if method not in METHODS and not (limits.merge and method == "MERGE"):
        methods = ", ".join(sorted(METHODS))
        raise refuse_part(rows.BATCH_METHOD, place, method=text, methods=methods)
    return method


def read_id(text: str, place: str) -> str:
    """The id of a request or the name of a group: printable ASCII, since responses repeat it."""
    if len(text) > _LONGEST_ID or _ID.fullmatch(text) is None:
        raise refuse_part(rows.BATCH_ID, place, id=text, longest=_LONGEST_ID)
    return text


def check_header(name: bytes, value: bytes, place: str) -> None:
    """Raise `Refusal` (400) for a header that HTTP does not allow."""
    if _NAME.fullmatch(name) is None or _CONTROL.search(value) is not None:
        raise refuse_part(rows.BATCH_HEADER, place, header=name.decode("latin-1"))


def check_url_size(size: int, limits: BatchLimits, place: str) -> None:
    """Raise `Refusal` (431) for a URL that is longer than all headers may be.

    The limit of a URL applies later, when the request is executed.
    """
    if size > limits.header_bytes:
        raise head_too_large(place, limits.header_bytes)


def check_body(method: str, body: bytes | None, place: str) -> bytes:
    """The body of a request, which may be empty; `Refusal` (400) if the method has no body."""
    if body is not None and method in _BODILESS and body.strip():
        raise refuse_part(rows.BODY_IN_BATCH, place, method=method)
    return body or b""


def checked(items: Sequence[Item]) -> Batch:
    """A batch of these items; `Refusal` (400, 501) for a reference to a later or unknown id."""
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
    conditions = frozenset[str]() if part.condition is None else part.condition.ids
    for wanted in (part.address.reference, *tags, *part.depends_on, *conditions):
        if wanted is not None and wanted not in before and wanted not in within:
            raise refuse_part(rows.LATER_ID, part.place, id=wanted)
    value = referenced_values(part.address.query, before | within)
    constructs = [
        *(
            f"The ETag ${tag} of a request of the same atomic group"
            for tag in tags
            if tag in within
        ),
        *(f"'if' on ${each}, a request of the same atomic group," for each in conditions & within),
        *([] if value is None else [f"{value}, a value of another response,"]),
    ]
    if constructs:
        raise not_supported(constructs[0], part.place)


def parse_address(url: str, roots: Roots, place: str) -> Address:
    """The address of a URL: relative to the service root, an absolute path or an absolute URL.

    An absolute path without a base path begins at the service root, as some clients write it.
    Raises `Refusal` (400) for the URL of another service, a malformed URL, and a nested batch.
    """
    text = url if _PLAIN.fullmatch(url) else quote(url, safe=_UNENCODED)
    if "#" in text:
        raise refuse_part(rows.HASH_IN_URL, place)
    if text.startswith("//"):
        raise refuse_part(rows.TWO_SLASHES, place)
    path, _, query = _below_base(text, roots, place).partition("?")
    inner = path.removeprefix(roots.root) if _is_below(path, roots.root) else path
    first, slash, rest = inner.removeprefix("/").partition("/")
    if unquote(inner).rstrip("/").endswith("/" + BATCH):
        raise refuse_part(rows.BATCH_IN_BATCH, place)
    match = _REFERENCE.fullmatch(unquote(first))
    if match is None or match[0] in _SYSTEM_RESOURCES:
        return Address(path, query)
    return Address(slash + rest, query, match[1])


def referenced_values(query: str, ids: Iterable[str]) -> str | None:
    """The first `$<id>` of another request in the values of a query string."""
    known = frozenset(ids)
    for option in query.split("&"):
        value = unquote(option.partition("=")[2].replace("+", " "))
        outside_quotes = "".join(value.split("'")[::2])
        for match in _VALUE.finditer(outside_quotes):
            if match[1] in known:
                return match[0]
    return None


def _below_base(text: str, roots: Roots, place: str) -> str:
    match = _ORIGIN.fullmatch(text)
    if match is not None:
        if origin(text) in roots.origins:
            for base in roots.base_paths:
                if _is_below(match[2], base):
                    return match[2].removeprefix(base)
        raise refuse_part(rows.OTHER_SERVICE, place, url=text)
    if text.startswith("/"):
        for base in roots.base_paths:
            if _is_below(text, base):
                return text.removeprefix(base)
        if roots.root and _is_below(text, roots.root):
            return text
        return roots.root + text
    return f"{roots.root}/{text}"


def _is_below(path: str, base: str) -> bool:
    return path.startswith(base) and path[len(base) : len(base) + 1] in ("", "/", "?")
