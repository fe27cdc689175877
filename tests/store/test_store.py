"""A store: slices of long responses, snapshots on SQLite, and what is asked after its end."""

import asyncio
from contextlib import suppress
from threading import enumerate as enumerate_threads
from uuid import uuid4

import pytest

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.errors.refusal import Refusal
from comptoir.plan.read import Bounds, PagePlan, all_records
from comptoir.sql.prepared import Query
from comptoir.store.store import Slices, SliceScheduler
from support.databases import ON_SQLITE
from support.event_loop import in_event_loop
from support.stores import opened
from support.waiting import PATIENCE_SECONDS, until


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


@ON_SQLITE
@in_event_loop
async def test_a_page_of_one_slice_ends_at_once(settings: Settings) -> None:
    async with opened(settings) as store:
        await store.create_company("c0ffee00-0000-4000-8000-000000000001", "Coffee")
        plan = PagePlan(all_records(MODEL.by_name["companies"]), Bounds(None), 1)
        assert await sizes_and_turns(store.page(plan)) == [1]


ENDLESS = Query(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", ()
)


@ON_SQLITE
@in_event_loop
async def test_a_cancelled_snapshot_stops_its_statement_and_ends_its_thread(
    settings: Settings,
) -> None:
    """Whether or not the thread has begun the statement; it closes the connection at its end."""

    def has_ended() -> bool | None:
        names = [each.name for each in enumerate_threads()]
        return not any(name.startswith("comptoir-snapshot") for name in names) or None

    async with opened(settings) as store:

        async def read(begins: asyncio.Event) -> None:
            async with store.snapshot() as snapshot:
                begins.set()
                await snapshot.fetch(ENDLESS)

        for _ in range(50):
            begins = asyncio.Event()
            reading = asyncio.create_task(read(begins))
            await begins.wait()
            for _ in range(2):
                reading.cancel()
                await asyncio.sleep(0)
            with suppress(asyncio.CancelledError):
                await reading
            await asyncio.to_thread(until, has_ended, "the end of the thread")


@ON_SQLITE
@in_event_loop
async def test_a_snapshot_does_not_map_the_file(settings: Settings) -> None:
    """A dump or a check would keep the whole file in the memory of its process."""
    async with opened(settings) as store, store.snapshot() as snapshot:
        assert await snapshot.fetch(Query("PRAGMA mmap_size", ())) == [(0,)]


def test_a_write_to_a_closed_store_is_refused(settings: Settings) -> None:
    """Nothing would run it, and its caller would wait without an end."""

    async def write() -> None:
        store = open_store(settings)
        writing = asyncio.ensure_future(store.create_company(str(uuid4()), "A"))
        await asyncio.sleep(0)
        await store.close()
        await writing
        async with asyncio.timeout(PATIENCE_SECONDS):
            await store.create_company(str(uuid4()), "B")

    with pytest.raises(Refusal, match="stop") as refused:
        asyncio.run(write())

    assert refused.value.error.code == "Internal_Unavailable"
