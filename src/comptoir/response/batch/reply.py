"""What a batch is answered with: an answer to each request, some of them in groups."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import msgspec

from comptoir.response.answer import Answer, Pieces


class Reply(msgspec.Struct, frozen=True):
    """The answer to one request, with the request's id if it has one."""

    id: str | None
    answer: Answer


class GroupReply(msgspec.Struct, frozen=True):
    """The answers to the requests of an atomic group, in their order.

    `refused_at` is the place among them of the one because of which none was done; None when all
    were done.
    """

    name: str | None
    replies: Sequence[Reply]
    refused_at: int | None = None


Replies = AsyncGenerator[Reply | GroupReply, None]


async def pieces(answer: Answer) -> Pieces:
    """The body of an answer."""
    if isinstance(answer.body, bytes):
        yield answer.body
        return
    async with aclosing(answer.body) as body:
        async for piece in body:
            yield piece


async def whole(answer: Answer) -> bytes:
    """The body of an answer that must be at hand before it can be written."""
    return b"".join([piece async for piece in pieces(answer)])


async def gathered(written: Pieces, least: int) -> Pieces:
    """The same bytes in pieces of at least some size, since every piece costs a system call."""
    waiting: list[bytes] = []
    size = 0
    async with aclosing(written):
        async for piece in written:
            waiting.append(piece)
            size += len(piece)
            if size >= least:
                yield b"".join(waiting)
                waiting, size = [], 0
    yield b"".join(waiting)
