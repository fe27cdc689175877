"""Answers to a batch in JSON (OData JSON Format 4.01, section 19.5)."""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from comptoir.response.answer import Answer, Pieces
from comptoir.response.batch.reply import GroupReply, Replies, Reply, pieces, whole

_encode = msgspec.json.encode


async def documents(replies: Replies) -> Pieces:
    """The body: an object with `responses`, each written when its request was done.

    The answers of a group carry its name; a group without one, a change set, is given one.
    """
    yield b'{"responses":['
    separator = b""
    unnamed = 0
    async with aclosing(replies):
        async for reply in replies:
            group: str | None = None
            members: Sequence[Reply]
            if isinstance(reply, GroupReply):
                unnamed += reply.name is None
                group, members = reply.name or f"changeset-{unnamed}", reply.replies
            else:
                members = (reply,)
            for member in members:
                yield separator
                separator = b","
                async with aclosing(_written(member, group)) as written:
                    async for piece in written:
                        yield piece
    yield b"]}"


async def _written(reply: Reply, group: str | None) -> Pieces:
    answer = reply.answer
    headers: dict[str, str] = {}
    for name, value in answer.headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    members: dict[str, str | int | dict[str, str]] = {}
    if reply.id is not None:
        members["id"] = reply.id
    if group is not None:
        members["atomicityGroup"] = group
    members["status"] = answer.status
    members["headers"] = headers
    head = _encode(members)[:-1]
    if answer.body == b"":
        yield head + b"}"
        return
    yield head + b',"body":'
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media == "application/json" or media.endswith("+json"):
        async with aclosing(pieces(answer)) as body:
            async for piece in body:
                yield piece
    else:
        yield await _as_text(answer, media)
    yield b"}"


async def _as_text(answer: Answer, media: str) -> bytes:
    content = await whole(answer)
    if media.startswith("text/"):
        return _encode(content.decode("utf-8", "replace"))
    return _encode(urlsafe_b64encode(content).rstrip(b"=").decode())
