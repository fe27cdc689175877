"""One moment of a PostgreSQL database: a transaction that reads, on a connection of its own."""

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
from comptoir.store.snapshot import SLICE_CHARACTERS, SLICE_ROWS, Moment, characters

LONGEST_SECONDS = 600.0
"""How long a single statement of a snapshot may take: counting a large table takes its time."""

FEW, MANY = 10, 640
"""How many rows are fetched at first, and at most when they are small."""

LITTLE, MUCH = SLICE_CHARACTERS // 16, SLICE_CHARACTERS // 4
"""How much text one fetch should bring: between these."""


@asynccontextmanager
async def postgres_moment(connect: Callable[[], Awaitable[Connection]]) -> AsyncIterator[Moment]:
    """What is committed when the block begins, on a connection of its own.

    Raises `Refusal` when the database cannot be reached.
    """
    try:
        connection = await connect()
    except FAULTS as fault:
        raise refusal_of(fault) from fault
    moment = _PostgresMoment(connection)
    try:
        await moment.begin()
        yield moment
    finally:
        # what only read needs no end, and with the connection go its cursors
        try:
            await connection.close(timeout=CLOSING_SECONDS)
        except FAULTS:
            connection.terminate()


class _PostgresMoment(Moment):
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers = count(1)

    async def begin(self) -> None:
        """Fix the moment: a transaction sees what is committed when it first reads."""
        await self._execute(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
            # whoever reads takes the time that writing elsewhere takes
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
        # declared, so that the plan is one that gives its first rows soon
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
