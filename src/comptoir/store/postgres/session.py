"""Statements on a connection: units of work, portions of a result, snapshots."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import TypeVar

from typing_extensions import override

from comptoir.plan.read import Row
from comptoir.sql.prepared import BulkCopy, BulkQuery, ManyQueries, Query, Statement, Value
from comptoir.store.postgres.connection import Connection, close
from comptoir.store.postgres.errors import DRIVER_ERRORS, refusal_of
from comptoir.store.store import SLICE_CHARACTERS, SLICE_ROWS, SnapshotConnection, characters

FETCH_ROWS = 50
"""Rows of one fetch by `run_portion`."""

COPY_ROWS = 10
"""The fewest rows for which COPY is faster than INSERT."""

ARRAY_ROWS = 50
"""The fewest rows for which one statement with arrays as parameters is faster."""

FIRST_FETCH, LARGEST_FETCH = 10, 640
"""Rows of the first fetch of a snapshot, and the most rows of a fetch."""

FEWEST_CHARACTERS, MOST_CHARACTERS = SLICE_CHARACTERS // 16, SLICE_CHARACTERS // 4
"""Characters that a fetch should return; the next one has more or fewer rows otherwise."""

_BEGIN_SNAPSHOT = (
    # sent at once, so that a limit of the database does not end the transaction in between
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
    # the caller may write rows elsewhere between two statements, which takes long
    "SET LOCAL idle_in_transaction_session_timeout = 0;"
    # the first statement takes the snapshot
    "SELECT 1"
)

T = TypeVar("T")


async def run_query(
    connection: Connection, query: Query, seconds: float | None = None
) -> list[Row]:
    """All rows of a statement, which is cancelled after `seconds`."""
    records = await connection.fetch(query.text, *query.values, timeout=seconds)
    return list(map(tuple, records))


class DatabaseSession:
    """Runs the statements of a transaction.

    Statements that return no rows are delayed until the next one that does. Consecutive ones with
    the same text are sent together; their exceptions are raised then.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._delayed: list[tuple[ManyQueries, list[Sequence[Value]]]] = []

    async def run(self, statement: Statement) -> list[Row]:
        """The rows of a statement, which sees the effects of the previous ones."""
        if isinstance(statement, ManyQueries):
            if not self._delayed or self._delayed[-1][0].text != statement.text:
                self._delayed.append((statement, []))
            self._delayed[-1][1].extend(statement.rows)
            return []
        if self._delayed:
            await self.flush()
        return await run_query(self._connection, statement)

    async def flush(self) -> None:
        """Run the delayed statements in order."""
        delayed, self._delayed = self._delayed, []
        for first, rows in delayed:
            await _run_many(self._connection, first, rows)


async def run_portion(
    connection: Connection, query: Query, most_characters: int, seconds: float
) -> tuple[list[Row], bool]:
    """The first rows of a statement, and whether they are all; about `most_characters` of text."""
    rows: list[Row] = []
    left = most_characters
    try:
        # asyncpg's own transaction remains open when it is cancelled during BEGIN
        await connection.execute("BEGIN READ ONLY")
        cursor = await connection.cursor(query.text, *query.values, timeout=seconds)
        while left > 0:
            some = await cursor.fetch(FETCH_ROWS, timeout=seconds)
            if not some:
                return rows, True
            fetched: list[Row] = list(map(tuple, some))
            rows += fetched
            left -= characters(fetched)
    finally:
        await roll_back(connection)
    return rows, False


async def roll_back(connection: Connection) -> None:
    """End a transaction, or terminate the connection if that fails."""
    if connection.is_closed():
        return
    try:
        await connection.execute("ROLLBACK")
    except DRIVER_ERRORS:
        connection.terminate()
    except asyncio.CancelledError:
        connection.terminate()
        raise


async def _run_many(
    connection: Connection, statement: ManyQueries, rows: Sequence[Sequence[Value]]
) -> None:
    bulk = statement.bulk
    if isinstance(bulk, BulkCopy) and len(rows) >= COPY_ROWS:
        await connection.copy_records_to_table(bulk.table, records=rows, columns=bulk.columns)
    elif isinstance(bulk, BulkQuery) and len(rows) >= ARRAY_ROWS and bulk.accepts(rows):
        # a generic plan from the start of a load is slow when the table has grown
        await connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        await run_query(connection, bulk.query(rows))
    else:
        await connection.executemany(statement.text, rows)


@asynccontextmanager
async def postgres_snapshot(
    connect: Callable[[], Awaitable[Connection]],
) -> AsyncIterator[SnapshotConnection]:
    """A read-only transaction with the view of the database at the start of the block.

    It uses a connection of its own. Raises `Refusal` if the database is unreachable.
    """
    try:
        connection = await connect()
    except DRIVER_ERRORS as error:
        raise refusal_of(error) from error
    try:
        try:
            await connection.execute(_BEGIN_SNAPSHOT)
        except DRIVER_ERRORS as error:
            raise refusal_of(error) from error
        yield _PostgresSnapshot(connection)
    finally:
        # this ends the transaction and its cursors
        await close(connection)


class _PostgresSnapshot(SnapshotConnection):
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers = count(1)

    @override
    async def fetch(self, query: Query) -> list[Row]:
        try:
            return await run_query(self._connection, query)
        except DRIVER_ERRORS as error:
            raise refusal_of(error) from error

    @override
    async def stream(self, query: Query) -> AsyncGenerator[list[Row], None]:
        # the planner optimizes a declared cursor for its first rows
        cursor = f"comptoir_{next(self._numbers)}"
        await self.fetch(Query(f"DECLARE {cursor} NO SCROLL CURSOR FOR {query.text}", query.values))
        size = FIRST_FETCH
        ended = False
        while not ended:
            rows: list[Row] = []
            left = SLICE_CHARACTERS
            while left > 0 and len(rows) < SLICE_ROWS and not ended:
                wanted = min(size, SLICE_ROWS - len(rows))
                some = await self.fetch(Query(f"FETCH {wanted} FROM {cursor}", ()))
                ended = len(some) < wanted
                rows += some
                volume = characters(some)
                left -= volume
                if volume > MOST_CHARACTERS:
                    size = max(size // 2, 1)
                elif volume < FEWEST_CHARACTERS:
                    size = min(size * 2, LARGEST_FETCH)
            if rows:
                yield rows
