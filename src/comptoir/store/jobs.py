"""The background jobs of a service, which run as long as it does."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager

from comptoir.errors.refusal import Refusal
from comptoir.store.refusals import IS_REPEATED

Job = Coroutine[None, None, None]
"""A job, which runs until it is cancelled."""

_log = logging.getLogger(__name__)


async def every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do some work again and again, with a pause in between, also after it has failed.

    A refusal is logged where it happens. Of failures in a row, only the first one is logged.
    """
    while True:
        try:
            await work()
        except Refusal:
            IS_REPEATED.set(True)
        except Exception:  # noqa: BLE001 - the service goes on, and the cause goes to the log
            if not IS_REPEATED.get():
                _log.exception("a background job failed")
            IS_REPEATED.set(True)
        else:
            IS_REPEATED.set(False)
        await asyncio.sleep(seconds)


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
