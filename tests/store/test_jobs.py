"""Background jobs go on after failures, and log the first of several."""

import asyncio
from collections.abc import Callable

import pytest

from comptoir.errors import refusal_rows as rows
from comptoir.store.jobs import every, running
from support.waiting import PATIENCE_SECONDS


def fail() -> bool | None:
    raise OSError("it has failed")


def refuse_it() -> bool | None:
    raise rows.UNANSWERED()


@pytest.mark.parametrize(
    ("outcome", "logged"), [(fail, 2), (refuse_it, 0), (lambda: False, 0)], ids=["fails", "", "no"]
)
def test_a_job_goes_on(
    outcome: Callable[[], bool | None], logged: int, caplog: pytest.LogCaptureFixture
) -> None:
    """It fails twice, succeeds, and fails again."""
    done: list[int] = []
    woken, fourth = asyncio.Event(), asyncio.Event()

    async def work() -> bool | None:
        done.append(len(done))
        (woken if len(done) < 4 else fourth).set()
        return None if len(done) == 3 else outcome()

    async def run() -> None:
        async with running([every(PATIENCE_SECONDS, work, woken)]):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await fourth.wait()
            await asyncio.sleep(0)

    asyncio.run(run())
    assert caplog.text.count("a background job failed") == logged
