"""Tasks that somebody waits for, and what becomes of them when nobody does any more."""

import asyncio
from typing import TypeVar

T = TypeVar("T")


async def give_up(task: asyncio.Future[T]) -> None:
    """Cancel a task and wait for its end, so that what it holds is free; its outcome is dropped."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        # one that nobody asks for is reported as an error
        task.exception()
