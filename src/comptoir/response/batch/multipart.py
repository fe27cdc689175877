"""Answers to a batch as multipart/mixed (OData Protocol 4.01, 11.7.7.6; RFC 2046, section 5.1).

Clients cut these bodies apart with string functions of their own. So lines end in CRLF, the last
boundary too, and boundaries stand unquoted at the end of their Content-Type.
"""

from collections.abc import AsyncIterator
from http import HTTPStatus
from secrets import token_hex

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


async def multipart(replies: Replies, boundary: bytes, *, nested: bool) -> AsyncIterator[bytes]:
    """The body: a part for each answer, written when its request was done.

    `nested` puts the answers of a group into a multipart of their own, or gives one part for a
    group that was refused, as change sets are answered; otherwise all are parts alike, as the
    groups of a JSON batch are.
    """
    opening = b"--" + boundary + b"\r\n"
    async for reply in replies:
        if isinstance(reply, Reply):
            members = [reply]
        elif not nested:
            members = list(reply.replies)
        elif reply.refused_at is not None:
            members = [reply.replies[reply.refused_at]]
        else:
            yield opening
            async for piece in _change_set(reply):
                yield piece
            continue
        for member in members:
            yield opening
            async for piece in _part(member):
                yield piece
    yield b"--" + boundary + b"--\r\n"


async def _change_set(group: GroupReply) -> AsyncIterator[bytes]:
    boundary = new_boundary("changesetresponse")
    yield b"Content-Type: " + MEDIA_TYPE + boundary + b"\r\n\r\n"
    for reply in group.replies:
        yield b"--" + boundary + b"\r\n"
        async for piece in _part(reply):
            yield piece
    yield b"--" + boundary + b"--\r\n"


async def _part(reply: Reply) -> AsyncIterator[bytes]:
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
    async for piece in pieces(answer):
        yield piece
    yield b"\r\n"


def _phrase(status: int) -> bytes:
    return HTTPStatus(status).phrase.encode()
