"""Slices of long responses: other tasks run between two of them, but not after the last one."""

import asyncio
from pathlib import Path

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.plan.read import Bounds, PagePlan, all_records
from comptoir.store.store import Slices, SliceScheduler
from support.databases import FreshDatabase
from support.event_loop import in_event_loop
from support.stores import opened


async def sizes_and_turns(slices: Slices) -> list[int | str]:
    """The number of rows of each slice, and `other` for each turn of another task."""
    found: list[int | str] = []

    async def other() -> None:
        while True:
            found.append("other")
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    async for rows in slices:
        found.append(len(rows))
    task.cancel()
    return found


@in_event_loop
async def test_other_tasks_run_between_two_slices() -> None:
    slices = SliceScheduler().sliced([(1,), (2,), (3,)], 2)
    assert await sizes_and_turns(slices) == [2, "other", 1]


@in_event_loop
async def test_a_page_of_one_slice_ends_at_once(
    fresh_sqlite: FreshDatabase, tmp_path: Path
) -> None:
    async with opened(Settings(database=fresh_sqlite(tmp_path, MODEL))) as store:
        await store.create_company("c0ffee00-0000-4000-8000-000000000001", "Coffee")
        plan = PagePlan(all_records(MODEL.by_name["companies"]), Bounds(None), 1)
        assert await sizes_and_turns(store.page(plan)) == [1]
