"""The connection pool of PostgreSQL: its bound, lost connections, and waits that end in a race."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import cast

import pytest

from comptoir.config import Settings
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import DATABASE_BUSY
from comptoir.store.postgres.connection import Connection, Pool, connect
from comptoir.store.postgres.errors import DRIVER_ERRORS
from support.event_loop import in_event_loop
from support.postgres import Databases, name_of
from support.together import together
from support.waiting import PATIENCE_SECONDS

SECONDS = 0.1


@asynccontextmanager
async def pool_of(url: str, size: int) -> AsyncIterator[Pool]:
    """A pool whose callers wait `SECONDS` for a connection."""
    pool = Pool(
        partial(connect, Settings(database=url), url, seconds=PATIENCE_SECONDS), size, SECONDS
    )
    try:
        yield pool
    finally:
        await pool.close()


@in_event_loop
async def test_a_connection_released_when_the_wait_times_out_is_acquired(postgres_url: str) -> None:
    """A long iteration of the event loop delivers the release and the timeout together."""
    async with pool_of(postgres_url, 1) as pool:
        first = await pool.acquire()
        waiting = asyncio.ensure_future(pool.acquire())
        loop = asyncio.get_running_loop()
        loop.call_later(SECONDS / 2, time.sleep, SECONDS)
        loop.call_later(SECONDS * 0.9, pool.release, first)
        assert await waiting is first
        with pytest.raises(Refusal, match="No connection to the database became free") as refused:
            await pool.acquire()
        assert refused.value.error is DATABASE_BUSY
        assert refused.value.headers == {"Retry-After": "1"}
        pool.release(first)


@in_event_loop
async def test_a_cancelled_wait_passes_the_connection_on(postgres_url: str) -> None:
    async with pool_of(postgres_url, 1) as pool:
        first = await pool.acquire()
        cancelled, waiting = [asyncio.ensure_future(pool.acquire()) for _ in range(2)]
        await asyncio.sleep(0)
        pool.release(first)
        cancelled.cancel()
        assert await waiting is first
        assert cancelled.cancelled()
        pool.release(first)


@in_event_loop
async def test_a_failed_connect_leaves_room_for_another() -> None:
    async def refuse() -> Connection:
        raise ConnectionRefusedError

    pool = Pool(refuse, 1, SECONDS)
    for _ in range(2):
        with pytest.raises(Refusal, match="cannot be reached"):
            await pool.acquire()


class FakeConnection:
    """A connection to nothing."""

    def __init__(self) -> None:
        self._is_closed = False

    def is_closed(self) -> bool:
        return self._is_closed

    def terminate(self) -> None:
        self._is_closed = True


@together("seed", range(10))
def test_cancelled_and_failed_callers_return_their_permits(seed: int) -> None:
    """At any stage: while they wait, connect, or use a connection."""
    chance = random.Random(seed)
    size, used, most_used = 3, 0, 0

    async def pause() -> None:
        await asyncio.sleep(chance.choice((0, 0, 0.001, 0.003)))

    async def open_connection() -> Connection:
        await pause()
        if chance.random() < 0.2:
            raise ConnectionRefusedError
        return cast("Connection", FakeConnection())

    async def use(pool: Pool) -> None:
        nonlocal used, most_used
        async with pool.acquired():
            used += 1
            most_used = max(used, most_used)
            try:
                await pause()
                if chance.random() < 0.2:
                    raise ConnectionResetError
            finally:
                used -= 1

    async def race() -> None:
        pool = Pool(open_connection, size, 0.004)
        tasks = [asyncio.ensure_future(use(pool)) for _ in range(60)]
        for task in tasks:
            await pause()
            if chance.random() < 0.4:
                task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                assert isinstance(task.exception(), Refusal | ConnectionResetError | None)
        held: list[Connection] = []
        while len(held) < size:
            with suppress(Refusal):
                held.append(await pool.acquire())
        assert len({id(each) for each in held}) == size
        with pytest.raises(Refusal, match="No connection to the database became free"):
            await pool.acquire()

    asyncio.run(asyncio.wait_for(race(), PATIENCE_SECONDS))
    assert 0 < most_used <= size


@in_event_loop
async def test_one_lost_connection_drops_all_idle_ones(
    postgres_server: Databases, postgres_url: str
) -> None:
    """After a failover, each of them would fail another request."""
    async with pool_of(postgres_url, 3) as pool:
        connections = [await pool.acquire() for _ in range(3)]
        for each in connections:
            pool.release(each)
        administrator = await postgres_server.administrator(name_of(postgres_url))

        async def lose() -> None:
            async with pool.acquired() as connection:
                pid = connection.get_server_pid()
                await administrator.execute(
                    f"SELECT pg_terminate_backend({pid}, {PATIENCE_SECONDS * 1_000})"
                )
                await connection.execute("SELECT 1")

        with pytest.raises(DRIVER_ERRORS):
            await lose()
        await administrator.close()
        assert all(each.is_closed() for each in connections)
        async with pool.acquired() as connection:
            assert connection not in connections
