"""Reads that leave the event loop, the limits of scanning threads, and cancelled reads."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import DATABASE_BUSY, UNAVAILABLE
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Query
from comptoir.sql.statements import statements_of
from comptoir.store.fair_queue import CLIENT
from comptoir.store.sqlite import reader as sqlite_reader
from comptoir.store.sqlite.connection import Connection, connect
from comptoir.store.sqlite.reader import Scans, SqliteReader
from support.event_loop import in_event_loop

ENDLESS = Query(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", ()
)
SHORT = Query("SELECT 1", ())
MANY_STEPS = Query(ENDLESS.text.replace(") SELECT", " LIMIT 100000) SELECT"), ())


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with ExitStack() as opened:
        for writes in (True, False):
            connecting = connect(tmp_path / "file", writes=writes, lock_seconds=1)
            connection = opened.enter_context(closing(connecting))
        yield connection


async def allowed(scans: Scans, query: Query) -> object:
    """The rows of a query, as soon as it is not refused."""
    while True:
        with suppress(Refusal):
            return await scans.run(query)
        await asyncio.sleep(0.01)


@in_event_loop
async def test_a_read_that_is_cancelled_twice_frees_its_thread(connection: Connection) -> None:
    scans = Scans([connection], most_reads=1, seconds=60)
    endless = asyncio.create_task(scans.run(ENDLESS))
    await asyncio.sleep(0.05)
    for _ in range(2):
        endless.cancel()
        await asyncio.sleep(0)
    assert isinstance((await asyncio.gather(endless, return_exceptions=True))[0], BaseException)
    # the thread may not have ended yet
    assert await allowed(scans, SHORT) == [(1,)]
    await scans.stop()


@in_event_loop
async def test_the_number_of_waiting_reads_is_limited(connection: Connection) -> None:
    scans = Scans([connection], most_reads=4, seconds=60)
    endless = [asyncio.create_task(scans.run(ENDLESS)) for _ in range(2)]
    await asyncio.sleep(0.05)
    with pytest.raises(Refusal) as refused:
        await scans.run(SHORT)
    assert refused.value.error is DATABASE_BUSY
    for each in endless:
        each.cancel()
    await asyncio.wait(endless)
    assert await asyncio.gather(*[scans.run(SHORT) for _ in range(2)]) == [[(1,)]] * 2
    await scans.stop()


@in_event_loop
async def test_a_read_ends_after_its_time(connection: Connection) -> None:
    scans = Scans([connection], most_reads=1, seconds=0.05)
    with pytest.raises(Refusal) as refused:
        await scans.run(ENDLESS)
    assert refused.value.error is UNAVAILABLE
    # a slow machine may need that time for the short read too
    assert await allowed(scans, SHORT) == [(1,)]
    await scans.stop()


@asynccontextmanager
async def opened_reader(path: Path, begun: list[str]) -> AsyncIterator[SqliteReader]:
    """A reader that appends to `begun` what it begins in the event loop."""
    with ExitStack() as opened:
        _, first, second, last = [
            opened.enter_context(closing(connect(path, writes=not number, lock_seconds=1)))
            for number in range(4)
        ]

        def note(_: object, statement: str, __: object) -> bool:
            begun.append(statement)
            return True

        first.set_exec_trace(note)
        scans = Scans([last], most_reads=20, seconds=60)
        reader = SqliteReader(first, second, statements_of(MODEL, SQLITE).reads, scans)
        yield reader
        await scans.stop()
        reader.stop()


def begun_in_event_loop(path: Path, queries: Sequence[Query]) -> list[str]:
    """The queries that a reader begins in the event loop, as it reads them one after another."""
    begun: list[str] = []

    async def read() -> None:
        async with opened_reader(path, begun) as reader:
            for query in queries:
                assert len(await reader.rows(query)) == 1

    asyncio.run(read())
    return [text for text in begun if "SELECT" in text]


def test_short_reads_run_in_the_event_loop(tmp_path: Path) -> None:
    assert begun_in_event_loop(tmp_path / "file", [SHORT, SHORT]) == [SHORT.text] * 2


@pytest.mark.parametrize(
    "query",
    [Query("SELECT 1", (), costly=True), Query("SELECT ?", ("a" * 3_000,))],
    ids=["costly", "long text"],
)
def test_reads_with_long_steps_run_on_a_thread(query: Query, tmp_path: Path) -> None:
    assert begun_in_event_loop(tmp_path / "file", [query]) == []


def test_a_read_with_many_steps_leaves_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps are counted, and the next one like it starts on a thread."""
    monkeypatch.setattr(sqlite_reader, "SECONDS", 60.0)
    assert begun_in_event_loop(tmp_path / "file", [MANY_STEPS] * 2) == [MANY_STEPS.text]


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
    assert len(begun_in_event_loop(tmp_path / "file", [MANY_STEPS] * 2)) == 2
    assert scanned == [MANY_STEPS] * 2


def test_statements_of_one_client_are_stopped_in_different_iterations(tmp_path: Path) -> None:
    """Other clients read in between; the budgets of many statements would add up."""
    begun: list[str] = []

    async def read(reader: SqliteReader, party: str, number: int) -> None:
        CLIENT.set(party)
        shape = Query(MANY_STEPS.text.replace("100000", f"{100_000 + number}"), ())
        await reader.rows(shape)

    async def short(reader: SqliteReader) -> None:
        CLIENT.set("another")
        await reader.rows(SHORT)

    async def run() -> None:
        async with opened_reader(tmp_path / "file", begun) as reader:
            await asyncio.gather(*(read(reader, "a", n) for n in range(3)), short(reader))

    asyncio.run(run())

    assert [SHORT.text == text for text in begun if "SELECT" in text] == [False, True, False, False]
