"""Snapshot connections: they do not map the file, and are closed however their block ends."""

import asyncio
import sqlite3
from contextlib import suppress
from pathlib import Path

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.sql.prepared import Query
from comptoir.store.sqlite.connection import Connection, connect
from comptoir.store.sqlite.store import sqlite_snapshot
from support.databases import FreshDatabase
from support.event_loop import in_event_loop
from support.stores import opened

ENDLESS = Query(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", ()
)


def is_closed(connection: Connection) -> bool:
    try:
        connection.total_changes  # noqa: B018 - raises after the end
    except sqlite3.ProgrammingError:
        return True
    return False


def test_a_cancelled_snapshot_stops_its_statement_and_is_closed(tmp_path: Path) -> None:
    connection = connect(tmp_path / "file", writes=True, lock_seconds=1)

    async def read() -> None:
        async with sqlite_snapshot(lambda: connection) as snapshot:
            await snapshot.fetch(ENDLESS)

    async def cancelled() -> None:
        reading = asyncio.create_task(read())
        await asyncio.sleep(0.05)
        for _ in range(2):
            reading.cancel()
            await asyncio.sleep(0)
        with suppress(asyncio.CancelledError):
            await reading

    # the end of the event loop waits for the thread that closes the connection
    asyncio.run(cancelled())
    assert is_closed(connection)


@in_event_loop
async def test_a_snapshot_does_not_map_the_file(
    fresh_sqlite: FreshDatabase, tmp_path: Path
) -> None:
    """A dump or a check would keep the whole file in the memory of its process."""
    settings = Settings(database=fresh_sqlite(tmp_path, MODEL))
    async with opened(settings) as store, store.snapshot() as snapshot:
        assert await snapshot.fetch(Query("PRAGMA mmap_size", ())) == [(0,)]
