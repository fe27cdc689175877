"""The background jobs of a service, which run as long as it does."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from comptoir.errors.refusal import Refusal
from comptoir.store.refusals import IS_REPEATED

Job = Coroutine[None, None, None]
"""A job, which runs until it is cancelled."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


async def every(
    seconds: float,
    work: Callable[[], Awaitable[bool | None]],
    wake: asyncio.Event | None = None,
    *,
    at_once: bool = True,
) -> None:
    """Do some work again and again, with a pause in between, also after it has failed.

    A refusal is logged where it happens, and so is the failure of work that returns False. Of
    failures in a row, only the first one is logged. `wake` ends a pause. Unless `at_once`, a pause
    comes first.
    """
    wake = wake or asyncio.Event()
    if not at_once:
        await _pause(seconds, wake)
    while True:
        try:
            IS_REPEATED.set(await work() is False)
        except Refusal:
            IS_REPEATED.set(True)
        except Exception:  # noqa: BLE001 - the service goes on, and the cause goes to the log
            if not IS_REPEATED.get():
                _log.exception("a background job failed")
            IS_REPEATED.set(True)
        # a write that the cancellation has reached returned its outcome instead
        if is_cancelled():
            return
        await _pause(seconds, wake)


async def _pause(seconds: float, wake: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wake.wait()
    wake.clear()


@asynccontextmanager
async def running(jobs: Iterable[Job]) -> AsyncIterator[None]:
    """Run jobs, and cancel them at the end; a `TaskGroup` would wrap an error of the block."""
    tasks = [asyncio.create_task(each) for each in jobs]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def is_cancelled() -> bool:
    """Whether the current task was cancelled, also if it goes on to finish what it has begun."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def cancel_and_wait(task: asyncio.Future[T]) -> None:
    """Cancel a task and wait until it has ended and freed its resources; drop its outcome."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        # asyncio reports an exception that nobody retrieves
        task.exception()
