"""Connections are lent to one at a time, and none is lost."""

import asyncio
import time
from functools import partial

import pytest

from comptoir.config import Settings
from comptoir.errors import Refusal
from comptoir.store.postgres.connection import connect
from comptoir.store.postgres.pool import Pool
from support.postgres import Databases

SECONDS = 0.1


def test_what_is_handed_over_when_a_wait_ends_is_lent(
    postgres_server: Databases, postgres_url: str
) -> None:
    """In a turn of the loop that took long, both come at once: the connection, and the end."""

    async def wait_too_long() -> None:
        connecting = partial(connect, Settings(database=postgres_url), postgres_url, seconds=10)
        pool = Pool(connecting, 1, SECONDS)
        first = await pool.take()
        waiting = asyncio.ensure_future(pool.take())
        loop = asyncio.get_running_loop()
        loop.call_later(SECONDS / 2, time.sleep, SECONDS)
        loop.call_later(SECONDS * 0.9, pool.give_back, first)
        assert await waiting is first
        with pytest.raises(Refusal, match="All 1 connections"):
            await pool.take()
        pool.give_back(first)
        await pool.close()

    asyncio.run(wait_too_long())
