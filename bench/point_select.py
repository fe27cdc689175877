"""A round trip: a point select by the bare driver on one connection."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from time import perf_counter, process_time

import asyncpg
import uvloop
from own_postgres import OwnPostgres

_AT_ONCE = 100
"""Selects between two reads of the clock."""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """The cost of a select in µs: elapsed time, CPU of the client, CPU of the database."""

    waited: float
    client: float
    database: float


def round_trip(
    postgres: OwnPostgres, url: str, statement: str, values: Sequence[Sequence[str]], seconds: float
) -> RoundTrip:
    """Measure a prepared statement for `seconds`, with each of `values` in turn."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measured(postgres, url, statement, values, seconds))


async def _measured(
    postgres: OwnPostgres, url: str, statement: str, values: Sequence[Sequence[str]], seconds: float
) -> RoundTrip:
    connection = await asyncpg.connect(url)
    try:
        prepared = await connection.prepare(statement)
        asked = cycle(values)
        count, began, used, served = -_AT_ONCE, 0.0, 0.0, 0.0
        while count <= 0 or perf_counter() - began < seconds:
            if count == 0:
                began, used, served = perf_counter(), process_time(), postgres.cpu_seconds
            for each in islice(asked, _AT_ONCE):
                await prepared.fetch(*each)
            count += _AT_ONCE
        waited, used = perf_counter() - began, process_time() - used
        served = postgres.cpu_seconds - served
        return RoundTrip(*(each / count * 1e6 for each in (waited, used, served)))
    finally:
        await connection.close()
