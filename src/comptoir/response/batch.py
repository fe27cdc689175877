"""The response to a batch, as JSON or as multipart/mixed, written while its requests run."""

from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from http import HTTPStatus
from itertools import chain, count, repeat
from secrets import token_hex

import msgspec

from comptoir.response.response import Pieces, Response, whole_body

_encode = msgspec.json.encode

MULTIPART = b"multipart/mixed; boundary="
"""The media type of a multipart body, to which the boundary is appended without quotes."""

_HEADER_NAMES = {
    b"etag": b"ETag",
    b"odata-version": b"OData-Version",
    b"odata-entityid": b"OData-EntityId",
    b"www-authenticate": b"WWW-Authenticate",
}
_PART = b"Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"


class Reply(msgspec.Struct, frozen=True):
    """The response to one request of a batch, with the request's id if it has one."""

    id: str | None
    response: Response


class GroupReply(msgspec.Struct, frozen=True):
    """The responses to the requests of an atomic group, in their order.

    `refused_at` is the index of the request that made the group fail; None if the group succeeded.
    """

    name: str | None
    replies: Sequence[Reply]
    refused_at: int | None = None


Replies = AsyncGenerator[Reply | GroupReply, None]


_Parts = Iterator[bytes | Pieces]
"""What is written for a reply: bytes, and the bodies of responses."""


def json_body(replies: Replies, *, null_ids: bool) -> Pieces:
    """The body in JSON (OData JSON Format 4.01, section 19.5).

    The responses of a group carry its name; an unnamed group, a change set, gets a name. The
    response to a request without an id has none either, or null.
    """
    separators = chain([b""], repeat(b","))
    unnamed = count(1)

    def members(reply: Reply | GroupReply) -> _Parts:
        if isinstance(reply, Reply):
            yield next(separators)
            yield from _json_member(reply, None, null_ids=null_ids)
            return
        group = f"changeset-{next(unnamed)}" if reply.name is None else reply.name
        for member in reply.replies:
            yield next(separators)
            yield from _json_member(member, group, null_ids=null_ids)

    return _written(b'{"responses":[', replies, members, b"]}")


async def _written(
    opening: bytes, replies: Replies, parts: Callable[[Reply | GroupReply], _Parts], closing: bytes
) -> Pieces:
    yield opening
    async with aclosing(replies):
        async for reply in replies:
            for part in parts(reply):
                if isinstance(part, bytes):
                    yield part
                    continue
                async with aclosing(part) as pieces:
                    async for piece in pieces:
                        yield piece
    yield closing


def _json_member(reply: Reply, group: str | None, *, null_ids: bool) -> _Parts:
    response = reply.response
    headers: dict[str, str] = {}
    for name, value in response.headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    members: dict[str, str | int | dict[str, str] | None] = {}
    if reply.id is not None or null_ids:
        members["id"] = reply.id
    if group is not None:
        members["atomicityGroup"] = group
    members["status"] = response.status
    members["headers"] = headers
    yield _encode(members)[:-1]
    if response.body != b"":
        yield b',"body":'
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = media == "application/json" or media.endswith("+json")
        yield response.body if is_json else _text_of(response, media)
    yield b"}"


async def _text_of(response: Response, media: str) -> Pieces:
    """A body that is not JSON as a string in JSON."""
    content = await whole_body(response)
    if media.startswith("text/"):
        yield _encode(content.decode("utf-8", "replace"))
    else:
        yield _encode(urlsafe_b64encode(content).rstrip(b"=").decode())


def new_boundary(prefix: str) -> bytes:
    """A random boundary."""
    return f"{prefix}_{token_hex(16)}".encode()


def multipart_body(replies: Replies, boundary: bytes, *, nested: bool) -> Pieces:
    """The body in multipart/mixed (OData Protocol 4.01, 11.7.7.6; RFC 2046, section 5.1).

    `nested` puts the responses of a group into a multipart of their own, and writes one part for
    a group that failed, as the response to a change set requires. Otherwise each response is a
    part of the same multipart, as for the groups of a JSON batch.

    Some clients split the body at its lines, so every line ends in CRLF, the last boundary too.
    """
    members = partial(_multipart_member, b"--" + boundary + b"\r\n", nested=nested)
    return _written(b"", replies, members, b"--" + boundary + b"--\r\n")


def _multipart_member(opening: bytes, reply: Reply | GroupReply, *, nested: bool) -> _Parts:
    members = (reply,) if isinstance(reply, Reply) else reply.replies
    closing = b""
    if nested and isinstance(reply, GroupReply):
        if reply.refused_at is not None:
            members = (reply.replies[reply.refused_at],)
        else:
            boundary = new_boundary("changesetresponse")
            yield opening + b"Content-Type: " + MULTIPART + boundary + b"\r\n\r\n"
            opening, closing = b"--" + boundary + b"\r\n", b"--" + boundary + b"--\r\n"
    for member in members:
        response = member.response
        head = [opening, _PART]
        if member.id is not None:
            head.append(b"Content-ID: %s\r\n" % member.id.encode())
        phrase = HTTPStatus(response.status).phrase.encode()
        head.append(b"\r\nHTTP/1.1 %d %s\r\n" % (response.status, phrase))
        for name, value in response.headers:
            head.append(b"%s: %s\r\n" % (_HEADER_NAMES.get(name, name.title()), value))
        if isinstance(response.body, bytes) and response.status not in (204, 304):
            head.append(b"Content-Length: %d\r\n" % len(response.body))
        yield b"".join([*head, b"\r\n"])
        yield response.body
        yield b"\r\n"
    yield closing


async def coalesced(body: Pieces, least: int) -> Pieces:
    """The same bytes in pieces of at least `least` bytes, since each piece costs a system call."""
    waiting: list[bytes] = []
    size = 0
    async with aclosing(body):
        async for piece in body:
            waiting.append(piece)
            size += len(piece)
            if size >= least:
                yield b"".join(waiting)
                waiting, size = [], 0
    yield b"".join(waiting)
