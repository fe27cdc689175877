"""Runs statements on a connection, and units of work within a transaction."""

from collections.abc import Generator
from typing import TypeVar, cast

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


async def run_statement(connection: Connection, statement: Statement) -> list[Row]:
    """Run a statement of a unit of work."""
    if isinstance(statement, ManyQueries):
        await connection.executemany(statement.text, statement.rows)
        return []
    return await run_query(connection, statement)


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


async def drive(connection: Connection, unit: Generator[Statement, list[Row], T]) -> T:
    """Run a unit to its end: each statement that it yields, its rows sent back."""
    try:
        statement = next(unit)
        while True:
            statement = unit.send(await run_statement(connection, statement))
    except StopIteration as end:
        return cast("T", end.value)
