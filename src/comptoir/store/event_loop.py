"""Sharing the event loop: slices of long responses, and cancellation of tasks."""

import asyncio
from collections.abc import AsyncGenerator
from time import monotonic
from typing import TypeVar

from comptoir.plan.read import Row

SLICE = 25
"""The most records of a slice, whose work runs without yielding to the event loop."""

JSON_SLICE = 256
"""The most records of a slice of JSON, which needs no encoding."""

SHARED_JSON_SLICE = 48
"""The most records of a slice of JSON while others read by key."""

SHARED_SECONDS = 0.02
"""Seconds for which a client's read by key makes slices shorter."""

Slices = AsyncGenerator[list[Row], None]
"""Rows in slices. The consumer closes the generator, so that its producer ends at once."""

T = TypeVar("T")


class SliceScheduler:
    """Lets one slice run per iteration of the event loop, however many responses are long."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._shared_until = 0.0

    def note_read_by_key(self) -> None:
        """Make slices of JSON shorter for a moment, because a client reads by key."""
        self._shared_until = monotonic() + SHARED_SECONDS

    def records_of_slice(self, most: int) -> int:
        """The records of the next slice, of which there may be `most`."""
        if most > SHARED_JSON_SLICE and monotonic() < self._shared_until:
            return SHARED_JSON_SLICE
        return most

    async def yield_to_loop(self) -> None:
        """Wait until other tasks have run, and other responses a slice each."""
        async with self._lock:
            await asyncio.sleep(0)

    async def sliced(self, rows: list[Row], size: int = SLICE) -> Slices:
        """Split rows into slices, and yield to the event loop between them.

        Slices are removed from `rows`, so that rows already sent to a slow client are freed.
        """
        rows.reverse()
        while rows:
            some = rows[: -size - 1 : -1]
            del rows[-size:]
            yield some
            if rows:
                await self.yield_to_loop()


async def cancel_and_wait(task: asyncio.Future[T]) -> None:
    """Cancel a task and wait until it has ended and freed its resources; drop its outcome."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        # asyncio reports an exception that nobody retrieves
        task.exception()
