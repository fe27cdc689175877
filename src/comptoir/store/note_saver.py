"""Writes what requests have noted in memory, so that no request waits for that."""

import asyncio
from contextlib import suppress
from typing import Protocol

from comptoir.errors import Refusal

SAVE_SECONDS = 1.0
"""Seconds between two looks for notes to write."""

RETRY_SECONDS = 60.0
"""Seconds after which a failed write is repeated."""

STOP_SECONDS = 1.0
"""Seconds that a stop waits for the last notes."""


class Write(Protocol):
    """Writes the notes whose time has come, or all that are left if it `is_last`."""

    async def __call__(self, *, is_last: bool = False) -> None:
        """Raise `Refusal` if that fails; the next call repeats it."""


class NoteSaver:
    """Writes notes when their time has come, and all that is left at a stop."""

    def __init__(self, *writes: Write) -> None:
        self._writes = writes
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to write; the running event loop must run `stop` before the store is closed."""
        self._tasks = [asyncio.create_task(self._save(each)) for each in self._writes]

    async def stop(self) -> None:
        """Write what is left. A store that does not answer ends the write when it is closed."""
        self._stopping.set()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS)

    async def _save(self, write: Write) -> None:
        pause = SAVE_SECONDS
        while not self._stopping.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopping.wait()
            pause = SAVE_SECONDS if await _is_written(write) else RETRY_SECONDS
        await _is_written(write, is_last=True)


async def _is_written(write: Write, *, is_last: bool = False) -> bool:
    # a failed write is logged where it fails, and repeated
    with suppress(Refusal):
        await write(is_last=is_last)
        return True
    return False
