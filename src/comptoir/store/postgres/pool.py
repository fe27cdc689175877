"""A pool of connections: opened when they are needed, kept for the next one, bounded in number."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from comptoir.errors import DATABASE_BUSY, Refusal
from comptoir.store.postgres.connection import Connection
from comptoir.store.postgres.faults import FAULTS, is_cut, refusal_of

CLOSING_SECONDS = 0.5
"""How long a connection may take to say goodbye before it is cut."""


class Pool:
    """Lends connections. One that was lost is not lent again, and another takes its place."""

    def __init__(
        self, connect: Callable[[], Awaitable[Connection]], most: int, seconds: float
    ) -> None:
        self._connect = connect
        self._most = most
        self._seconds = seconds
        self._open = 0
        self._idle: list[Connection] = []
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Connection]:
        """A connection of one's own for a while.

        Raises `Refusal` (503) when the database cannot be reached, or none gets free in time.
        """
        connection = await self.take()
        try:
            yield connection
        except FAULTS as fault:
            if is_cut(fault):
                self.cut(connection)
            raise
        finally:
            self.give_back(connection)

    async def take(self) -> Connection:
        """A connection, to be given back; raises as `lent` does."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._open -= 1
        if self._open < self._most:
            return await self._opened()
        return await self._handed() or await self.take()

    def give_back(self, connection: Connection) -> None:
        """Let others have a connection."""
        if connection.is_closed():
            self._open -= 1
            self._hand(None)
        elif not self._hand(connection):
            self._idle.append(connection)

    def cut(self, connection: Connection) -> None:
        """Drop a connection that was lost, and the idle ones, which were lost with it."""
        for each in (connection, *self._idle):
            each.terminate()

    async def close(self) -> None:
        """Close the connections, all of which have been given back."""
        await asyncio.gather(*map(_close, self._idle))
        self._open -= len(self._idle)
        self._idle.clear()

    async def _opened(self) -> Connection:
        self._open += 1
        connection: Connection | None = None
        try:
            connection = await self._connect()
        except FAULTS as fault:
            raise refusal_of(fault) from fault
        finally:
            if connection is None:
                self._open -= 1
                self._hand(None)
        return connection

    async def _handed(self) -> "Connection | None":
        """A connection from somebody who gives it back; None when one may be opened instead."""
        turn: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(self._seconds):
                return await turn
        except TimeoutError:
            if _is_handed(turn):
                return turn.result()
            raise Refusal(
                DATABASE_BUSY,
                f"All {self._most} connections to the database are in use. Try again in a moment.",
                headers={"Retry-After": "1"},
            ) from None
        except asyncio.CancelledError:
            if _is_handed(turn):
                self._pass_on(turn.result())
            raise

    def _pass_on(self, handed: "Connection | None") -> None:
        if handed is None:
            self._hand(None)
        else:
            self.give_back(handed)

    def _hand(self, connection: "Connection | None") -> bool:
        """Hand a connection, or the place of one, to who has waited longest; False for nobody."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(connection)
                return True
        return False


def _is_handed(turn: "asyncio.Future[Connection | None]") -> bool:
    """Whether something was handed over at the very moment at which the wait for it ended."""
    return turn.done() and not turn.cancelled()


async def _close(connection: Connection) -> None:
    try:
        await connection.close(timeout=CLOSING_SECONDS)
    except FAULTS:
        connection.terminate()
