"""Sharing the event loop: slices of long responses, and cancellation of tasks."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TypeVar

from comptoir.plan.read import Row

SLICE = 25
"""The most records of a slice, whose work runs without yielding to the event loop."""

Slices = AsyncGenerator[list[Row], None]
"""Rows in slices. The consumer closes the generator, so that its producer ends at once."""

T = TypeVar("T")


class SliceScheduler:
    """Lets one slice run per iteration of the event loop, however many responses are long."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def yield_to_loop(self) -> None:
        """Wait until other tasks have run, and other responses a slice each."""
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
    """Cancel a task and wait until it has ended and freed its resources; drop its outcome."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        # asyncio reports an exception that nobody retrieves
        task.exception()
