"""Scanning threads: their limits, and reads that are cancelled."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from comptoir.errors import TOO_MANY_REQUESTS, UNAVAILABLE, Refusal
from comptoir.sql.prepared import Query
from comptoir.store.sqlite.connection import Connection, connect
from comptoir.store.sqlite.reader import Scans

ENDLESS = Query(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", ()
)
SHORT = Query("SELECT 1", ())


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with ExitStack() as opened:
        for writes in (True, False):
            connecting = connect(tmp_path / "file", writes=writes, lock_seconds=1)
            connection = opened.enter_context(closing(connecting))
        yield connection


def test_a_read_that_is_cancelled_twice_frees_its_thread(connection: Connection) -> None:
    async def rows() -> object:
        scans = Scans([connection], most_waiting=1, seconds=60)
        endless = asyncio.create_task(scans.run(ENDLESS))
        await asyncio.sleep(0.05)
        for _ in range(2):
            endless.cancel()
            await asyncio.sleep(0)
        assert isinstance((await asyncio.gather(endless, return_exceptions=True))[0], BaseException)
        while True:
            try:
                found = await scans.run(SHORT)
                break
            except Refusal:
                # the thread has not ended yet
                await asyncio.sleep(0.01)
        await scans.stop()
        return found

    assert asyncio.run(rows()) == [(1,)]


def test_the_number_of_waiting_reads_is_limited(connection: Connection) -> None:
    async def rows() -> object:
        scans = Scans([connection], most_waiting=2, seconds=60)
        endless = [asyncio.create_task(scans.run(ENDLESS)) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(Refusal) as refused:
            await scans.run(SHORT)
        assert refused.value.error is TOO_MANY_REQUESTS
        for each in endless:
            each.cancel()
        await asyncio.wait(endless)
        found = await asyncio.gather(*[scans.run(SHORT) for _ in range(2)])
        await scans.stop()
        return found

    assert asyncio.run(rows()) == [[(1,)]] * 2


def test_a_read_ends_after_its_time(connection: Connection) -> None:
    async def rows() -> object:
        scans = Scans([connection], most_waiting=1, seconds=0.05)
        with pytest.raises(Refusal) as refused:
            await scans.run(ENDLESS)
        assert refused.value.error is UNAVAILABLE
        found = await scans.run(SHORT)
        await scans.stop()
        return found

    assert asyncio.run(rows()) == [(1,)]
