"""Runs statements on a connection, and units of work within a transaction."""

import asyncio
from collections.abc import Generator, Sequence
from typing import TypeVar, cast

from comptoir.plan.read import Row
from comptoir.sql.prepared import Copying, ManyQueries, Query, Staging, Statement, Value
from comptoir.store.postgres.connection import Connection
from comptoir.store.postgres.faults import FAULTS

FETCHED = 50
"""How many rows of a portion are fetched at once."""

COPIED = 10
"""From how many rows on it pays to stream them into a table."""

STAGED = 50
"""From how many rows on it pays to stage them, for a plan of its own."""

T = TypeVar("T")


async def run_query(
    connection: Connection, query: Query, seconds: float | None = None
) -> list[Row]:
    """All rows of a statement, which is cancelled after so many seconds."""
    records = await connection.fetch(query.text, *query.values, timeout=seconds)
    return list(map(tuple, records))


class Session:
    """Runs the statements of a transaction; what gives no rows waits for the next that does.

    So many changes of one form go to the database at once. What is wrong with one of them is raised
    when they go.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: list[tuple[ManyQueries, list[Sequence[Value]]]] = []

    async def run(self, statement: Statement) -> list[Row]:
        """The rows of a statement, which sees what those before it did."""
        if isinstance(statement, ManyQueries):
            if not self._waiting or self._waiting[-1][0].text != statement.text:
                self._waiting.append((statement, []))
            self._waiting[-1][1].extend(statement.rows)
            return []
        if self._waiting:
            await self.flush()
        return await run_query(self._connection, statement)

    async def flush(self) -> None:
        """Run what waits, in order."""
        waiting, self._waiting = self._waiting, []
        for first, rows in waiting:
            await _run_many(self._connection, first, rows)

    async def drive(self, unit: Generator[Statement, list[Row], T]) -> T:
        """Run a unit to its end: each statement that it yields, its rows sent back."""
        try:
            statement = next(unit)
            while True:
                statement = unit.send(await self.run(statement))
        except StopIteration as end:
            return cast("T", end.value)


async def run_portion(
    connection: Connection, query: Query, characters: int, seconds: float
) -> tuple[list[Row], bool]:
    """The first rows of a statement, about so many characters, and whether they are all."""
    rows: list[Row] = []
    left = characters
    try:
        # asyncpg's own transaction stays with the connection when it is cancelled as it begins
        await connection.execute("BEGIN READ ONLY")
        cursor = await connection.cursor(query.text, *query.values, timeout=seconds)
        while left > 0:
            some = await cursor.fetch(FETCHED, timeout=seconds)
            if not some:
                return rows, True
            rows += map(tuple, some)
            left -= sum(len(value) for row in some for value in row if isinstance(value, str))
    finally:
        await roll_back(connection)
    return rows, False


async def roll_back(connection: Connection) -> None:
    """End a transaction; a connection with which that is not possible is not used again."""
    if connection.is_closed():
        return
    try:
        await connection.execute("ROLLBACK")
    except FAULTS:
        connection.terminate()
    except asyncio.CancelledError:
        connection.terminate()
        raise


async def _run_many(
    connection: Connection, statement: ManyQueries, rows: Sequence[Sequence[Value]]
) -> None:
    """Run a statement with rows of values."""
    together = statement.together
    if isinstance(together, Copying) and len(rows) >= COPIED:
        await connection.copy_records_to_table(
            together.table, records=rows, columns=together.columns
        )
    elif isinstance(together, Staging) and len(rows) >= STAGED and together.takes(rows):
        # a plan that was made before a load would not do for the table as it is behind it
        await connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        await run_query(connection, together.query(rows))
    else:
        await connection.executemany(statement.text, rows)
