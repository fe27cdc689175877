"""Snapshot connections: they do not map the file, and are closed however their block ends."""

import asyncio
from contextlib import suppress
from pathlib import Path
from threading import enumerate as enumerate_threads

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.sql.prepared import Query
from support.databases import FreshDatabase
from support.event_loop import in_event_loop
from support.stores import opened
from support.waiting import until

ENDLESS = Query(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", ()
)


@in_event_loop
async def test_a_cancelled_snapshot_stops_its_statement_and_ends_its_thread(
    fresh_sqlite: FreshDatabase, tmp_path: Path
) -> None:
    """The thread closes the connection at its end."""
    settings = Settings(database=fresh_sqlite(tmp_path, MODEL))

    def is_reading() -> bool | None:
        return (
            any(each.name.startswith("comptoir-snapshot") for each in enumerate_threads()) or None
        )

    async with opened(settings) as store:

        async def read() -> None:
            async with store.snapshot() as snapshot:
                await snapshot.fetch(ENDLESS)

        reading = asyncio.create_task(read())
        await asyncio.to_thread(until, is_reading, "a thread that reads")
        for _ in range(2):
            reading.cancel()
            await asyncio.sleep(0)
        with suppress(asyncio.CancelledError):
            await reading
        await asyncio.to_thread(until, lambda: not is_reading() or None, "the end of the thread")


@in_event_loop
async def test_a_snapshot_does_not_map_the_file(
    fresh_sqlite: FreshDatabase, tmp_path: Path
) -> None:
    """A dump or a check would keep the whole file in the memory of its process."""
    settings = Settings(database=fresh_sqlite(tmp_path, MODEL))
    async with opened(settings) as store, store.snapshot() as snapshot:
        assert await snapshot.fetch(Query("PRAGMA mmap_size", ())) == [(0,)]
