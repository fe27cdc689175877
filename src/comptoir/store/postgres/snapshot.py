"""Snapshot connections: a read-only transaction, on a connection of its own."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count

from typing_extensions import override

from comptoir.plan.read import Row
from comptoir.sql.prepared import Query
from comptoir.store.postgres.connection import Connection
from comptoir.store.postgres.faults import FAULTS, refusal_of
from comptoir.store.postgres.pool import CLOSING_SECONDS
from comptoir.store.postgres.session import run_query
from comptoir.store.store import SLICE_CHARACTERS, SLICE_ROWS, SnapshotConnection, characters

LONGEST_SECONDS = 600.0
"""Limit of a single statement on a snapshot connection; counting a large table takes long."""

FEW, MANY = 10, 640
"""Rows of the first fetch, and the most of a fetch when rows are small."""

LITTLE, MUCH = SLICE_CHARACTERS // 16, SLICE_CHARACTERS // 4
"""Characters that a fetch should return: between these."""


@asynccontextmanager
async def postgres_snapshot(
    connect: Callable[[], Awaitable[Connection]],
) -> AsyncIterator[SnapshotConnection]:
    """A connection that sees what is committed when the block begins.

    Raises `Refusal` when the database cannot be reached.
    """
    try:
        connection = await connect()
    except FAULTS as fault:
        raise refusal_of(fault) from fault
    snapshot = _PostgresSnapshot(connection)
    try:
        await snapshot.begin()
        yield snapshot
    finally:
        # closing the connection ends the transaction and its cursors
        try:
            await connection.close(timeout=CLOSING_SECONDS)
        except FAULTS:
            connection.terminate()


class _PostgresSnapshot(SnapshotConnection):
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers = count(1)

    async def begin(self) -> None:
        """Fix the view: a transaction sees what is committed at its first read."""
        await self._execute(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
            # the reader may write the rows elsewhere between two statements
            " SET LOCAL idle_in_transaction_session_timeout = 0"
        )
        await self.fetch(Query("SELECT 1", ()))

    @override
    async def fetch(self, query: Query) -> list[Row]:
        try:
            return await run_query(self._connection, query)
        except FAULTS as fault:
            raise refusal_of(fault) from fault

    @override
    async def stream(self, query: Query) -> AsyncGenerator[list[Row], None]:
        # a declared cursor is planned to return its first rows soon
        cursor = f"comptoir_{next(self._numbers)}"
        await self._execute(f"DECLARE {cursor} NO SCROLL CURSOR FOR {query.text}", *query.values)
        size = FEW
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
                if volume > MUCH:
                    size = max(size // 2, 1)
                elif volume < LITTLE:
                    size = min(size * 2, MANY)
            if rows:
                yield rows

    async def _execute(self, text: str, *values: object) -> None:
        try:
            await self._connection.execute(text, *values)
        except FAULTS as fault:
            raise refusal_of(fault) from fault
