"""Answers to a batch as multipart/mixed (OData Protocol 4.01, 11.7.7.6; RFC 2046, section 5.1).

Clients cut these bodies apart with string functions of their own. So lines end in CRLF, the last
boundary too, and boundaries stand unquoted at the end of their Content-Type.
"""

from collections.abc import Sequence
from contextlib import aclosing
from http import HTTPStatus
from secrets import token_hex

from comptoir.response.answer import Pieces
from comptoir.response.batch.reply import GroupReply, Replies, Reply, pieces

MEDIA_TYPE = b"multipart/mixed; boundary="

_SPELLED = {
    b"etag": b"ETag",
    b"odata-version": b"OData-Version",
    b"odata-entityid": b"OData-EntityId",
    b"www-authenticate": b"WWW-Authenticate",
}
_PART = b"Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"


def new_boundary(what: str) -> bytes:
    """A boundary that no other body has."""
    return f"{what}_{token_hex(16)}".encode()


async def multipart(replies: Replies, boundary: bytes, *, nested: bool) -> Pieces:
    """The body: a part for each answer, written when its request was done.

    `nested` puts the answers of a group into a multipart of their own, or gives one part for a
    group that was refused, as change sets are answered; otherwise all are parts alike, as the
    groups of a JSON batch are.
    """
    opening = b"--" + boundary + b"\r\n"
    async with aclosing(replies):
        async for reply in replies:
            async with aclosing(_written(reply, opening, nested=nested)) as written:
                async for piece in written:
                    yield piece
    yield b"--" + boundary + b"--\r\n"


def _written(reply: Reply | GroupReply, opening: bytes, *, nested: bool) -> Pieces:
    if isinstance(reply, Reply):
        return _parts((reply,), opening)
    if not nested:
        return _parts(reply.replies, opening)
    if reply.refused_at is not None:
        return _parts((reply.replies[reply.refused_at],), opening)
    return _change_set(reply, opening)


async def _change_set(group: GroupReply, opening: bytes) -> Pieces:
    yield opening
    boundary = new_boundary("changesetresponse")
    yield b"Content-Type: " + MEDIA_TYPE + boundary + b"\r\n\r\n"
    async with aclosing(_parts(group.replies, b"--" + boundary + b"\r\n")) as written:
        async for piece in written:
            yield piece
    yield b"--" + boundary + b"--\r\n"


async def _parts(members: Sequence[Reply], opening: bytes) -> Pieces:
    for member in members:
        yield opening
        async with aclosing(_part(member)) as written:
            async for piece in written:
                yield piece


async def _part(reply: Reply) -> Pieces:
    answer = reply.answer
    head = [_PART]
    if reply.id is not None:
        head.append(b"Content-ID: %s\r\n" % reply.id.encode())
    head.append(b"\r\nHTTP/1.1 %d %s\r\n" % (answer.status, _phrase(answer.status)))
    for name, value in answer.headers:
        head.append(b"%s: %s\r\n" % (_SPELLED.get(name, name.title()), value))
    if isinstance(answer.body, bytes) and answer.status not in (204, 304):
        head.append(b"Content-Length: %d\r\n" % len(answer.body))
    head.append(b"\r\n")
    yield b"".join(head)
    async with aclosing(pieces(answer)) as body:
        async for piece in body:
            yield piece
    yield b"\r\n"


def _phrase(status: int) -> bytes:
    return HTTPStatus(status).phrase.encode()
