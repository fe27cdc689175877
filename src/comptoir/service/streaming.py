"""Pages as they are written: slice by slice, with a link to what follows."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Protocol

import msgspec

from comptoir.errors import Refusal
from comptoir.plan.deltas import Delta
from comptoir.plan.read import Row
from comptoir.request.options import continued
from comptoir.response.collections import CollectionWriter
from comptoir.response.response import Header, Pieces, Response
from comptoir.service.expanding import Expanding
from comptoir.store.event_loop import Slices

PIECE = 25
"""How many records with related ones are encoded in a turn of the event loop."""


class Paged(Protocol):
    """A page of anything: how many rows it holds, and what follows a row."""

    @property
    def size(self) -> int:
        """How many rows the page holds."""

    def token_behind(self, row: Row, shown: int) -> str:
        """The skip token for the page behind this one, which showed so many and ended in `row`."""


class Streamed(msgspec.Struct):
    """What writes a page: its collection, what gives related records, and what follows it."""

    writer: CollectionWriter
    expander: Expanding | None
    following: "Following"

    async def answer(
        self,
        headers: list[Header],
        begun: bytes,
        first: Sequence[Row],
        blocks: Slices,
    ) -> Response:
        """The answer that begins with `begun`: whole when `first` is all, streamed otherwise."""
        second = await anext(blocks, None)
        if second is None:
            return Response(
                200, headers, b"".join([begun, *await self._first(first), self._tail()])
            )
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(aclosing(blocks))
            pieces = [begun, *await self._first(first)]
            # from here on the answer closes them
            opened.pop_all()
        return Response(200, headers, self._written(pieces, second, blocks))

    async def _first(self, rows: Sequence[Row]) -> list[bytes]:
        """The first rows as bytes: where they cannot be written, the answer is a refusal."""
        if self.expander is None:
            return [self._piece(rows)]
        return [piece async for piece in self._pieces(rows, self.expander)]

    def _tail(self) -> bytes:
        return self.writer.tail(self.following.link, self.following.delta_link)

    def _piece(self, rows: Sequence[Row]) -> bytes:
        """Some rows of a page as bytes."""
        fitting = self.following.fitting(rows)
        written = self.writer.slice(self.following.shown(fitting))
        self.following.pass_by(fitting, rows)
        return written

    async def _pieces(self, rows: Sequence[Row], expander: Expanding) -> Pieces:
        """Some records with related ones, in pieces that a turn of the event loop can write."""
        fitting = self.following.fitting(rows)
        shown = self.following.shown(fitting)
        extras = await expander.extras(shown)
        for start in range(0, len(shown), PIECE):
            end = start + PIECE
            yield self.writer.slice(shown[start:end], extras[start:end])
            await asyncio.sleep(0)
        self.following.pass_by(fitting, rows)

    async def _written(
        self, begun: Sequence[bytes], second: Sequence[Row], blocks: Slices
    ) -> Pieces:
        """A page as it is written: what has begun, the blocks that follow, its tail."""
        async with aclosing(blocks):
            for piece in begun:
                yield piece
            try:
                rows: Sequence[Row] | None = second
                while rows is not None:
                    if self.expander is not None and self.expander.is_spent:
                        self.following.end_here()
                        break
                    if self.expander is None:
                        yield self._piece(rows)
                    else:
                        async with aclosing(self._pieces(rows, self.expander)) as pieces:
                            async for piece in pieces:
                                yield piece
                    rows = await anext(blocks, None)
            except Refusal:
                # the status has gone out: a page may be short, and who follows its link is told why
                self.following.end_here()
        yield self._tail()


async def gathered(slices: Slices, size: int) -> Slices:
    """The same records in blocks of a size, which are expanded at once."""
    block: list[Row] = []
    async with aclosing(slices):
        async for rows in slices:
            block += rows
            while len(block) >= size:
                yield block[:size]
                del block[:size]
    if block:
        yield block


class Following:
    """Cuts the records of a page at its size, and makes the link to the next page.

    `address` is the URL of the collection, and `query` the query string of the page.
    """

    def __init__(
        self,
        address: str,
        query: str,
        page: Paged,
        delta: Delta | None = None,
        token: str | None = None,
    ) -> None:
        self.link: str | None = None
        self._address = address
        self._query = query
        self._page = page
        self._delta = delta
        self._tokens = () if token is None else (("$deltatoken", token),)
        self._seen = 0
        self._end: Row | None = None

    @property
    def delta_link(self) -> str | None:
        """The link to the changes since the client began to read, if they are tracked."""
        if not self._tokens:
            return None
        return f"{self._address}?{continued(self._query, *self._tokens)}"

    def fitting(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Those of some records for which the page has room."""
        return rows[: self._page.size - self._seen]

    def shown(self, fitting: Sequence[Row]) -> Sequence[Row]:
        """Those of them that are shown: what changed meanwhile is told of by the delta link."""
        if self._delta is None:
            return fitting
        return [row for row in fitting if int(row[0]) <= self._delta.since]

    def pass_by(self, fitting: Sequence[Row], rows: Sequence[Row]) -> None:
        """Note those of some records that are written; the others show that a page follows."""
        if fitting:
            self._seen += len(fitting)
            self._end = fitting[-1]
        if len(rows) > len(fitting):
            self.end_here()

    def end_here(self) -> None:
        """Let the next page follow the records that were written."""
        if self._end is not None:
            token = self._page.token_behind(self._end, self._seen)
            query = continued(self._query, ("$skiptoken", token), *self._tokens)
            self.link = f"{self._address}?{query}"
