"""Notes of an exchange until it ends: references to what exists anyway."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import NamedTuple

from starlette.types import Scope
from typing_extensions import override

from comptoir.auth import Principal
from comptoir.errors.refusal import (
    OAuthRefusal,
    Refusal,
)
from comptoir.http.exchange import ClientDisconnectedError, Notes
from comptoir.request.batch.tree import Batch, Part
from comptoir.response.batch import Replies, Reply
from comptoir.response.response import Header, Pieces, Response
from comptoir.service import Request

_PARTS_TOGETHER = 8
"""The limit of the parts of a batch together, in limits of a body."""


class NotedBody:
    """A body: its beginning, up to a limit, and its length."""

    __slots__ = ("content", "length", "limit")

    def __init__(self, limit: int) -> None:
        self.content = b""
        self.length = 0
        self.limit = limit

    def add(self, piece: bytes) -> None:
        """Note a piece of the body."""
        missing = self.limit - len(self.content)
        if missing > 0:
            self.content += piece if len(piece) <= missing else piece[:missing]
        self.length += len(piece)


class Answered:
    """A response, of whose body at most `limit` bytes are noted."""

    __slots__ = ("body", "headers", "refusal", "status")

    def __init__(self, response: Response, limit: int) -> None:
        self.status = response.status
        self.headers: Sequence[Header] = response.headers
        self.refusal: Refusal | None = response.refusal
        self.body = NotedBody(limit)
        if isinstance(response.body, bytes):
            self.body.add(response.body)
        else:
            response.body = self._passing(response.body)

    async def _passing(self, pieces: Pieces) -> AsyncGenerator[bytes, None]:
        async with aclosing(pieces):
            async for piece in pieces:
                self.body.add(piece)
                yield piece


class CapturedPart(NamedTuple):
    """A request of a batch, and its response."""

    part: Part
    answered: Answered


class Capture(Notes):
    """Notes of an exchange; of each body at most `limit` bytes, and 0 for none.

    `denial` is the error of the token endpoint that it got. `unread` reads the body until that was
    begun; None if it must not be read.
    """

    __slots__ = (
        "answered",
        "body",
        "denial",
        "headers",
        "is_batch",
        "limit",
        "parts",
        "path",
        "principal",
        "unread",
    )

    def __init__(self, scope: Scope, limit: int) -> None:
        self.path: bytes = scope["raw_path"]
        self.headers: Sequence[Header] = scope["headers"]
        self.limit = limit
        self.principal: Principal | None = None
        self.body: bytes | None = None
        self.answered: Answered | None = None
        self.denial: OAuthRefusal | None = None
        self.unread: Callable[[], Awaitable[bytes]] | None = None
        self.is_batch = False
        self.parts: list[CapturedPart] = []

    @override
    def note_request(self, request: Request) -> None:
        self.principal = request.principal
        if self.limit:
            # the server answers the first read with 100 Continue
            self.unread = None if b"expect" in request.headers else request.read_body
            request.read_body = partial(self._reading, request.read_body)

    async def _reading(self, read: Callable[[], Awaitable[bytes]]) -> bytes:
        self.unread = None
        self.body = await read()
        return self.body

    @override
    async def note_refusal(self) -> None:
        if self.unread is not None:
            self.body = await _arrived(self.unread)

    @override
    def note_denial(self, refusal: OAuthRefusal) -> None:
        self.denial = refusal

    def note_response(self, response: Response) -> None:
        """Note the response, and its body while it is sent."""
        self.answered = Answered(response, 0 if self.is_batch else self.limit)

    @override
    def noting(self, batch: Batch, replies: Replies) -> Replies:
        # they are noted instead of the body of the batch's response
        self.is_batch = True
        return self._noting(list(batch.parts), replies)

    async def _noting(self, parts: Sequence[Part], replies: Replies) -> Replies:
        limit = min(self.limit, _PARTS_TOGETHER * self.limit // max(len(parts), 1))
        async with aclosing(replies):
            async for reply in replies:
                members: Sequence[Reply] = (reply,) if isinstance(reply, Reply) else reply.replies
                for part, member in zip(parts[len(self.parts) :], members, strict=False):
                    self.parts.append(CapturedPart(part, Answered(member.response, limit)))
                yield reply

    @property
    def size(self) -> int:
        """About the bytes of the bodies that are noted."""
        found = [self.answered, *(each.answered for each in self.parts)]
        sent = [self.body or b"", *(each.part.body for each in self.parts)]
        return sum(map(len, sent)) + sum(len(each.body.content) for each in found if each)


async def _arrived(read_body: Callable[[], Awaitable[bytes]]) -> bytes | None:
    """The body of a refused request, for which it does not wait; None if not all has arrived."""
    with suppress(Refusal, ClientDisconnectedError, TimeoutError):
        async with asyncio.timeout(0):
            return await read_body()
    return None
