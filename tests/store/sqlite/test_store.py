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
    """Whether or not the thread has begun the statement; it closes the connection at its end."""
    settings = Settings(database=fresh_sqlite(tmp_path, MODEL))

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


@in_event_loop
async def test_a_snapshot_does_not_map_the_file(
    fresh_sqlite: FreshDatabase, tmp_path: Path
) -> None:
    """A dump or a check would keep the whole file in the memory of its process."""
    settings = Settings(database=fresh_sqlite(tmp_path, MODEL))
    async with opened(settings) as store, store.snapshot() as snapshot:
        assert await snapshot.fetch(Query("PRAGMA mmap_size", ())) == [(0,)]
