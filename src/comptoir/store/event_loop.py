"""Sharing the event loop: slices of long responses, flushes, and cancellation of tasks."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from time import monotonic
from typing import TypeVar

from comptoir.errors.refusal import Refusal
from comptoir.plan.read import Row

SLICE = 25
"""The most records of a slice, whose work runs without yielding to the event loop."""

JSON_SLICE = 256
"""The most records of a slice of JSON, which needs no encoding."""

SHARED_JSON_SLICE = 48
"""The most records of a slice of JSON while others read by key."""

SHARED_SECONDS = 0.02
"""Seconds for which a client's read by key makes slices shorter."""

RETRY_SECONDS = 60.0
"""Seconds after which a failed flush is repeated."""

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


class BackgroundFlusher:
    """Flushes records from memory, so that no request waits for that."""

    def __init__(self, write: Callable[[], Awaitable[None]], seconds: float) -> None:
        """`write` is called every `seconds`, and raises `Refusal` if it must be repeated."""
        self._write = write
        self._seconds = seconds
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to flush; the running event loop must run `stop`."""
        self._task = asyncio.create_task(self._run())

    async def stop(self, seconds: float | None = None) -> None:
        """Flush what is left, but wait for that no longer than `seconds`."""
        self._stopping.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=seconds)

    async def _run(self) -> None:
        pause = self._seconds
        while not self._stopping.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopping.wait()
            pause = self._seconds if await self._is_written() else RETRY_SECONDS
        # what was noted while the write before was under way
        await self._is_written()

    async def _is_written(self) -> bool:
        # a failed write is logged where it fails
        with suppress(Refusal):
            await self._write()
            return True
        return False


async def cancel_and_wait(task: asyncio.Future[T]) -> None:
    """Cancel a task and wait until it has ended and freed its resources; drop its outcome."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        # asyncio reports an exception that nobody retrieves
        task.exception()
