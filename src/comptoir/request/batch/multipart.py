"""Batches in multipart/mixed (OData Protocol 4.01, 11.7.7; RFC 2046, section 5.1).

Clients differ in details, so lines may end in CRLF or LF. Preambles, epilogues, blank lines before
a request and a missing blank line at its end are ignored. The standard library's mail parser is not
used: it decodes and copies every part, and repairs errors silently.
"""

import re
from collections.abc import Iterator

from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.errors.refusal import Refusal
from comptoir.request.batch import tree
from comptoir.request.headers import Headers, combined, elements

MULTIPART = "multipart/mixed"
_LONGEST_BOUNDARY = 200
_UNENCODED = ("", "binary", "8bit", "7bit")
_BLANK_LINES = re.compile(rb"[\r\n]*+")
_VERSION = re.compile(rb"HTTP/\d(?:\.\d)?")


def boundary_of(content_type: str) -> str:
    """The boundary in a Content-Type; `Refusal` (400, 415) unless it is multipart."""
    declared = elements(content_type)
    boundary = dict(declared[0].parameters).get("boundary", "") if declared else ""
    if not declared or declared[0].name != MULTIPART:
        raise rows.NOT_A_BATCH_TYPE("Content-Type", value=content_type)
    if not boundary or len(boundary) > _LONGEST_BOUNDARY or not boundary.isascii():
        raise rows.BOUNDARY("Content-Type")
    return boundary


def parse_multipart(
    body: bytes, boundary: str, limits: tree.BatchLimits, roots: tree.Roots
) -> tree.Batch:
    """The batch in a body; raises `Refusal` with the place of an error."""
    reader = _Reader(limits, roots)
    return tree.checked(list(reader.items(body, boundary)))


class _Reader:
    """Reads the parts of one batch, and counts its requests."""

    def __init__(self, limits: tree.BatchLimits, roots: tree.Roots) -> None:
        self._limits = limits
        self._roots = roots
        self._requests = 0
        self._change_sets = 0
        self._ids: set[str] = set()

    def items(self, body: bytes, boundary: str) -> Iterator[tree.Item]:
        for number, content in enumerate(self._contents(body, boundary, tree.BODY), 1):
            place = f"part {number}"
            headers, start = self._fields(content, 0, place)
            declared = headers.get(b"content-type", b"").decode("latin-1")
            if declared.lstrip().lower().startswith("multipart/"):
                yield self._change_set(content[start:], declared, place)
            else:
                yield self._part(content, headers, start, place, self._ids)

    def _change_set(self, content: bytes, declared: str, place: str) -> tree.Group:
        self._change_sets += 1
        if self._change_sets > self._limits.requests:
            raise rows.LONG_BATCH(limit=self._limits.requests)
        try:
            boundary = boundary_of(declared)
        except Refusal as refusal:
            problem, remedy = refusal.problem, refusal.remedy
            raise tree.refuse_part(
                rows.INNER_BOUNDARY, place, problem=problem, remedy=remedy
            ) from None
        parts: list[tree.Part] = []
        # clients number the requests of each change set from 1
        ids: set[str] = set()
        for number, inner in enumerate(self._contents(content, boundary, place), 1):
            inner_place = f"{place}.{number}"
            headers, start = self._fields(inner, 0, inner_place)
            if headers.get(b"content-type", b"").lower().startswith(b"multipart/"):
                raise tree.refuse_part(rows.CHANGE_SET_IN_CHANGE_SET, inner_place)
            part = self._part(inner, headers, start, inner_place, ids)
            if part.method == "GET":
                raise tree.refuse_part(rows.GET_IN_CHANGE_SET, inner_place)
            parts.append(part)
            if len(parts) > self._limits.change_set:
                construct = "A change set of several requests"
                raise tree.refuse_part(rows.LONG_CHANGE_SET, place, construct=construct)
        return tree.Group(None, tuple(parts))

    def _part(
        self, content: bytes, mime: Headers, start: int, place: str, ids: set[str]
    ) -> tree.Part:
        self._requests += 1
        if self._requests > self._limits.requests:
            raise rows.LONG_BATCH(limit=self._limits.requests)
        media = mime.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if media != b"application/http":
            raise tree.refuse_part(rows.PART_TYPE, place)
        encoding = mime.get(b"content-transfer-encoding", b"").decode("latin-1").lower()
        if encoding not in _UNENCODED:
            raise tree.not_supported(f"Content-Transfer-Encoding {quoted(encoding)}", place)
        blank = _BLANK_LINES.match(content, start)
        line, start = _line(content, start if blank is None else blank.end())
        tree.check_url_size(len(line), self._limits, place)
        method, url = _request_line(line, self._limits, place)
        headers, start = self._fields(content, start, place)
        if b"transfer-encoding" in headers:
            raise tree.not_supported("Transfer-Encoding in a batch", place)
        body = _body(content, start, headers, place)
        content_id = mime.get(b"content-id", headers.get(b"content-id"))
        part_id = None
        if content_id is not None:
            part_id = tree.read_id(content_id.decode("latin-1"), place)
            if part_id in ids:
                raise tree.refuse_part(rows.BATCH_ID_TWICE, place, id=part_id)
            ids.add(part_id)
        address = tree.parse_address(url, self._roots, place)
        body = tree.check_body(method, body, place)
        return tree.Part(self._requests, place, part_id, method, address, headers, body)

    def _contents(self, body: bytes, boundary: str, place: str) -> Iterator[bytes]:
        """The parts between boundaries, each with the line end of the next boundary."""
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
                end = "--" if begins >= 0 else ""
                raise tree.refuse_part(rows.NO_BOUNDARY, place, boundary=boundary, end=end)
            if begins >= 0:
                yield text[begins : match.start() + 1]
            if match[1]:
                return
            begins = match.end()
            position = begins - 1

    def _fields(self, content: bytes, start: int, place: str) -> tuple[Headers, int]:
        """The headers from an offset on, and the offset after their blank line."""
        limit = self._limits.header_bytes
        pairs: list[tuple[bytes, list[bytes]]] = []
        position = start
        while position < len(content):
            line, position = _line(content, position)
            if not line:
                break
            if position - start > limit or len(pairs) >= tree.MOST_FIELDS:
                raise tree.head_too_large(place, limit)
            name, colon, value = line.partition(b":")
            if line[:1] in b" \t" and pairs:
                # it continues the line before (RFC 5322, 2.2.3)
                name, value = pairs[-1][0], line
            elif not colon:
                raise tree.refuse_part(rows.NO_COLON, place, header=line.decode("latin-1"))
            else:
                name = name.strip().lower()
                pairs.append((name, []))
            tree.check_header(name, value.strip(), place)
            pairs[-1][1].append(value.strip())
        return combined([(name, b" ".join(values)) for name, values in pairs]), position


def _line(content: bytes, start: int) -> tuple[bytes, int]:
    """The line from an offset on, without its end, and the offset of the next line."""
    end = content.find(b"\n", start)
    if end < 0:
        return content[start:], len(content)
    return content[start:end].removesuffix(b"\r"), end + 1


def _request_line(line: bytes, limits: tree.BatchLimits, place: str) -> tuple[str, str]:
    method, _, rest = line.strip().partition(b" ")
    url, _, version = rest.strip().rpartition(b" ")
    if _VERSION.fullmatch(version) is None:
        # the examples of the standard omit the version
        url = rest.strip()
    if not method or not url:
        raise tree.refuse_part(rows.REQUEST_LINE, place)
    try:
        return tree.read_method(method.decode("latin-1"), limits, place), url.strip().decode()
    except UnicodeDecodeError:
        raise tree.refuse_part(rows.URL_NOT_UTF_8, place) from None


def _body(content: bytes, start: int, headers: Headers, place: str) -> bytes:
    whole = content[start:]
    # the line end before a boundary belongs to the boundary
    body = whole.removesuffix(b"\n").removesuffix(b"\r")
    declared = headers.get(b"content-length")
    if declared is None:
        return body
    length = int(declared) if declared.isdigit() and len(declared) <= 12 else -1
    if not 0 <= length <= len(whole) or whole[length:].strip():
        raise tree.refuse_part(rows.CONTENT_LENGTH, place, length=len(body))
    return whole[:length]
