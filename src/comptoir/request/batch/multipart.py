"""Batches in multipart/mixed (OData Protocol 4.01, 11.7.7; RFC 2046, section 5.1).

What clients send differs in its details, so lines may end in CRLF or LF, and what says nothing is
passed over: preambles, epilogues, blank lines before a request, a missing blank line at its end.
The standard library's reader of mail decodes and copies every part, and repairs what is broken
instead of saying so.
"""

import re
from collections.abc import Iterator

from comptoir.errors import BAD_REQUEST, UNSUPPORTED_MEDIA_TYPE, Refusal
from comptoir.request.batch.address import Roots, parse_address
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
from comptoir.request.headers import Headers, combined, elements

MULTIPART = "multipart/mixed"
_LONGEST_BOUNDARY = 200
_UNENCODED = ("", "binary", "8bit", "7bit")
_BLANK_LINES = re.compile(rb"[\r\n]*+")
_VERSION = re.compile(rb"HTTP/\d(?:\.\d)?")
_BODY = "The body"


def boundary_of(content_type: str) -> str:
    """The boundary that a Content-Type declares; `Refusal` (400, 415) unless it is multipart."""
    declared = elements(content_type)
    boundary = dict(declared[0].parameters).get("boundary", "") if declared else ""
    if not declared or declared[0].name != MULTIPART:
        raise Refusal(
            UNSUPPORTED_MEDIA_TYPE,
            f"A batch is application/json or {MULTIPART}, but Content-Type is "
            f"{content_type[:80]!r}.",
            target="Content-Type",
        )
    if not boundary or len(boundary) > _LONGEST_BOUNDARY or not boundary.isascii():
        raise Refusal(
            BAD_REQUEST,
            f"Content-Type must name the boundary: {MULTIPART}; boundary=batch_1.",
            target="Content-Type",
        )
    return boundary


def parse_multipart(body: bytes, boundary: str, limits: BatchLimits, roots: Roots) -> Batch:
    """Read a batch; raises `Refusal` with the part at fault."""
    reader = _Reader(limits, roots)
    return checked(list(reader.items(body, boundary)))


class _Reader:
    """Reads the parts of one batch, and counts its requests."""

    def __init__(self, limits: BatchLimits, roots: Roots) -> None:
        self._limits = limits
        self._roots = roots
        self._requests = 0
        self._change_sets = 0
        self._ids: set[str] = set()

    def items(self, body: bytes, boundary: str) -> Iterator[Item]:
        for number, content in enumerate(self._contents(body, boundary, _BODY), 1):
            place = f"part {number}"
            headers, start = self._fields(content, 0, place)
            declared = headers.get(b"content-type", b"").decode("latin-1")
            if declared.lstrip().lower().startswith("multipart/"):
                yield self._change_set(content[start:], declared, place)
            else:
                yield self._part(content, headers, start, place, self._ids)

    def _change_set(self, content: bytes, declared: str, place: str) -> Group:
        self._change_sets += 1
        if self._change_sets > self._limits.requests:
            raise too_many(self._limits.requests)
        try:
            boundary = boundary_of(declared)
        except Refusal as refusal:
            raise malformed(place, refusal.message) from None
        parts: list[Part] = []
        # clients number the requests of each change set anew
        ids: set[str] = set()
        for number, inner in enumerate(self._contents(content, boundary, place), 1):
            inner_place = f"{place}.{number}"
            headers, start = self._fields(inner, 0, inner_place)
            if headers.get(b"content-type", b"").lower().startswith(b"multipart/"):
                raise malformed(inner_place, "a change set must not hold a change set.")
            part = self._part(inner, headers, start, inner_place, ids)
            if part.method == "GET":
                raise malformed(
                    inner_place, "a change set must not hold a GET. Send it before or behind."
                )
            parts.append(part)
        return Group(None, tuple(parts))

    def _part(self, content: bytes, mime: Headers, start: int, place: str, ids: set[str]) -> Part:
        self._requests += 1
        if self._requests > self._limits.requests:
            raise too_many(self._limits.requests)
        kind = mime.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/http":
            raise malformed(place, "its Content-Type must be application/http.")
        encoding = mime.get(b"content-transfer-encoding", b"").decode("latin-1").lower()
        if encoding not in _UNENCODED:
            raise unsupported(place, f"Content-Transfer-Encoding {encoding[:40]!r}")
        blank = _BLANK_LINES.match(content, start)
        line, start = _line(content, start if blank is None else blank.end())
        check_url_size(len(line), self._limits, place)
        method, url = _request_line(line, place)
        headers, start = self._fields(content, start, place)
        if b"transfer-encoding" in headers:
            raise unsupported(place, "Transfer-Encoding in a batch")
        body = _body(content, start, headers, place)
        content_id = mime.get(b"content-id", headers.get(b"content-id"))
        part_id = None
        if content_id is not None:
            part_id = read_id(content_id.decode("latin-1"), place)
            if part_id in ids:
                raise malformed(place, f"another request has the Content-ID {part_id!r} too.")
            ids.add(part_id)
        address = parse_address(url, self._roots, place)
        body = check_body(method, body, place)
        return Part(self._requests, place, part_id, method, address, headers, body)

    def _contents(self, body: bytes, boundary: str, place: str) -> Iterator[bytes]:
        """The parts between boundaries, each with the line end that belongs to the next one."""
        delimiter = re.compile(
            rb"\n--" + re.escape(boundary.encode()) + rb"(--)?[ \t]*+\r?(?:\n|\Z)"
        )
        # a delimiter that begins a body has no line end before it
        text = b"\n" + body
        position, begins = 0, -1
        while True:
            # the line end of one delimiter may be the beginning of the next
            match = delimiter.search(text, position)
            if match is None:
                raise malformed(
                    place,
                    f"the boundary --{boundary[:70]}-- that closes it is missing."
                    if begins >= 0
                    else f"it holds no part: the boundary --{boundary[:70]} is missing.",
                )
            if begins >= 0:
                yield text[begins : match.start() + 1]
            if match[1]:
                return
            begins = match.end()
            position = begins - 1

    def _fields(self, content: bytes, start: int, place: str) -> tuple[Headers, int]:
        """The headers that begin at an offset, and the offset behind their blank line."""
        limit = self._limits.header_bytes
        pairs: list[tuple[bytes, list[bytes]]] = []
        position = start
        while position < len(content):
            line, position = _line(content, position)
            if not line:
                break
            if position - start > limit or len(pairs) >= MOST_FIELDS:
                raise head_too_large(place, limit, MOST_FIELDS)
            name, colon, value = line.partition(b":")
            if line[:1] in b" \t" and pairs:
                # it continues the line before (RFC 5322, 2.2.3)
                name, value = pairs[-1][0], line
            elif not colon:
                shown = line[:40].decode("latin-1")
                raise malformed(place, f"{shown!r} is no header. Write it as Name: value.")
            else:
                name = name.strip().lower()
                pairs.append((name, []))
            check_header(name, value.strip(), place)
            pairs[-1][1].append(value.strip())
        return combined([(name, b" ".join(values)) for name, values in pairs]), position


def _line(content: bytes, start: int) -> tuple[bytes, int]:
    """The line that begins at an offset, without its end, and the offset of the next one."""
    end = content.find(b"\n", start)
    if end < 0:
        return content[start:], len(content)
    return content[start:end].removesuffix(b"\r"), end + 1


def _request_line(line: bytes, place: str) -> tuple[str, str]:
    method, _, rest = line.strip().partition(b" ")
    url, _, version = rest.strip().rpartition(b" ")
    if _VERSION.fullmatch(version) is None:
        # the standard's own examples leave the version out
        url = rest.strip()
    if not method or not url:
        raise malformed(place, "it must begin with a line such as GET contactsExt HTTP/1.1.")
    try:
        return read_method(method.decode("latin-1"), place), url.strip().decode()
    except UnicodeDecodeError:
        raise malformed(place, "its URL is not UTF-8.") from None


def _body(content: bytes, start: int, headers: Headers, place: str) -> bytes:
    whole = content[start:]
    # the line end before a boundary belongs to the boundary
    body = whole.removesuffix(b"\n").removesuffix(b"\r")
    declared = headers.get(b"content-length")
    if declared is None:
        return body
    if not declared.isdigit() or len(declared) > 12 or int(declared) > len(whole):
        raise malformed(
            place, f"its Content-Length does not fit its body of {len(body)} bytes. Leave it out."
        )
    length = int(declared)
    if whole[length:].strip():
        raise malformed(
            place, f"its body is longer than its Content-Length of {length} bytes. Leave it out."
        )
    return whole[:length]
