"""Runs statements on a connection, and units of work within a transaction."""

from collections.abc import Generator, Sequence
from typing import TypeVar, cast

from comptoir.edm.primitive import Stored
from comptoir.plan.read import Row
from comptoir.sql.prepared import ManyQueries, Query, Statement
from comptoir.store.postgres.connection import Connection

FETCHED = 50
"""How many rows of a portion are fetched at once."""

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
        self._waiting: list[tuple[str, list[Sequence[Stored | None]]]] = []

    async def run(self, statement: Statement) -> list[Row]:
        """The rows of a statement, which sees what those before it did."""
        if isinstance(statement, ManyQueries):
            if not self._waiting or self._waiting[-1][0] != statement.text:
                self._waiting.append((statement.text, []))
            self._waiting[-1][1].extend(statement.rows)
            return []
        if self._waiting:
            await self.flush()
        return await run_query(self._connection, statement)

    async def flush(self) -> None:
        """Run what waits, in order."""
        waiting, self._waiting = self._waiting, []
        for text, rows in waiting:
            await self._connection.executemany(text, rows)

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
    async with connection.transaction(readonly=True):
        cursor = await connection.cursor(query.text, *query.values, timeout=seconds)
        while left > 0:
            some = await cursor.fetch(FETCHED, timeout=seconds)
            if not some:
                return rows, True
            rows += map(tuple, some)
            left -= sum(len(value) for row in some for value in row if isinstance(value, str))
    return rows, False
