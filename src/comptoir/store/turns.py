"""Turns of the event loop: long answers take them one after another, one slice each."""

import asyncio
from collections.abc import AsyncGenerator

from comptoir.plan.read import Row

SLICE = 25
"""Records per turn of the event loop."""

Slices = AsyncGenerator[list[Row], None]
"""Rows, slice by slice. Their reader closes it, so that what gives them ends at once."""


class Turns:
    """However many pages are being written, a turn of the event loop holds one slice of them."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def next(self) -> None:
        """Wait for a turn of one's own, behind whatever the event loop has to do by then."""
        async with self._lock:
            await asyncio.sleep(0)

    async def sliced(self, rows: list[Row]) -> Slices:
        """Rows that have been read, in slices; between two slices others have their turn.

        They are taken off the list, so that what a slow client has been sent is not kept.
        """
        rows.reverse()
        while rows:
            some = rows[: -SLICE - 1 : -1]
            del rows[-SLICE:]
            yield some
            await self.next()
