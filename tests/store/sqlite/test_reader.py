"""Reads that leave the event loop, the limits of scanning threads, and cancelled reads."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.errors import TOO_MANY_REQUESTS, UNAVAILABLE, Refusal
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Query
from comptoir.sql.statements import statements_of
from comptoir.store.sqlite import reader as sqlite_reader
from comptoir.store.sqlite.connection import Connection, connect
from comptoir.store.sqlite.reader import Scans, SqliteReader
from comptoir.store.store import always_connected

ENDLESS = Query(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", ()
)
SHORT = Query("SELECT 1", ())
MANY_STEPS = Query(ENDLESS.text.replace(") SELECT", " LIMIT 300000) SELECT"), ())


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


def in_event_loop(path: Path, queries: Sequence[Query]) -> list[str]:
    """The queries that a reader begins in the event loop, as it reads them one after another."""
    begun: list[str] = []

    async def read() -> None:
        with closing(connect(path, writes=True, lock_seconds=1)):
            first, second, third = [connect(path, writes=False, lock_seconds=1) for _ in range(3)]
        first.set_trace_callback(begun.append)
        scans = Scans([third], most_waiting=1, seconds=60)
        reader = SqliteReader(first, second, statements_of(MODEL, SQLITE).reads, scans)
        for query in queries:
            assert len(await reader.rows(query, always_connected)) == 1
        await scans.stop()
        reader.stop()

    asyncio.run(read())
    return [text for text in begun if "SELECT" in text]


def test_short_reads_run_in_the_event_loop(tmp_path: Path) -> None:
    assert in_event_loop(tmp_path / "file", [SHORT, SHORT]) == [SHORT.text] * 2


@pytest.mark.parametrize(
    "query",
    [Query("SELECT 1", (), costly=True), Query("SELECT ?", ("a" * 3_000,))],
    ids=["costly", "long text"],
)
def test_reads_with_long_steps_run_on_a_thread(query: Query, tmp_path: Path) -> None:
    assert in_event_loop(tmp_path / "file", [query]) == []


def test_a_read_with_many_steps_leaves_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps are counted, and the next one like it starts on a thread."""
    monkeypatch.setattr(sqlite_reader, "SECONDS", 60.0)
    assert in_event_loop(tmp_path / "file", [MANY_STEPS] * 2) == [MANY_STEPS.text]


def test_a_read_that_takes_long_leaves_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps may be few, and so the next one may be short."""
    monkeypatch.setattr(sqlite_reader, "BUDGET", 1_000_000)
    scanned: list[Query] = []
    run = Scans.run

    def scan(scans: Scans, query: Query) -> object:
        scanned.append(query)
        return run(scans, query)

    monkeypatch.setattr(Scans, "run", scan)
    assert len(in_event_loop(tmp_path / "file", [MANY_STEPS] * 2)) == 2
    assert scanned == [MANY_STEPS] * 2
