"""Sharing the event loop: slices of long responses, and the end of tasks."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TypeVar

from comptoir.plan.read import Row

SLICE = 25
"""The most records that one slice of a response holds the event loop for."""

Slices = AsyncGenerator[list[Row], None]
"""Rows in slices. The consumer closes the generator, so that its producer ends at once."""

T = TypeVar("T")


class SliceScheduler:
    """Lets one slice run per iteration of the event loop, however many responses are long."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def yield_to_loop(self) -> None:
        """Wait until the event loop has done what is due, and other responses their slice."""
        async with self._lock:
            await asyncio.sleep(0)

    async def sliced(self, rows: list[Row]) -> Slices:
        """Split rows into slices, and yield to the event loop after each.

        Slices are removed from `rows`, so that rows already sent to a slow client are freed.
        """
        rows.reverse()
        while rows:
            some = rows[: -SLICE - 1 : -1]
            del rows[-SLICE:]
            yield some
            await self.yield_to_loop()


async def cancel_and_wait(task: asyncio.Future[T]) -> None:
    """Cancel a task and wait for its end, when its resources are free; drop its outcome."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        # asyncio reports an exception that nobody retrieves
        task.exception()
