"""Writes what requests have noted in memory, so that no request waits for that."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from comptoir.errors.refusal import Refusal

SAVE_SECONDS = 1.0
"""Seconds between two looks for notes to write."""

RETRY_SECONDS = 60.0
"""Seconds after which a failed write is repeated."""

STOP_SECONDS = 1.0
"""Seconds that a stop waits for the last notes."""


class NoteSaver:
    """Writes notes each second, and what is left at a stop."""

    def __init__(self, write: Callable[[], Awaitable[None]]) -> None:
        """`write` raises `Refusal` if that fails; the next call repeats it."""
        self._write = write
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to write; the running event loop must run `stop` before the store is closed."""
        self._task = asyncio.create_task(self._save())

    async def stop(self) -> None:
        """Write what is left. A store that does not answer ends the write when it is closed."""
        self._stopping.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=STOP_SECONDS)

    async def _save(self) -> None:
        pause = SAVE_SECONDS
        while not self._stopping.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopping.wait()
            pause = SAVE_SECONDS if await self._is_written() else RETRY_SECONDS
        # what was noted while the write before was under way
        await self._is_written()

    async def _is_written(self) -> bool:
        # a failed write is logged where it fails, and repeated
        with suppress(Refusal):
            await self._write()
            return True
        return False
