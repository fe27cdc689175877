"""Reads that take long: known by their shape once they have, and few of them at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from comptoir.errors import TOO_MANY_REQUESTS, Refusal
from comptoir.sql.prepared import SHAPES_KEPT, Query


class SlowReads:
    """What is slow on one server, and the places where that may run."""

    def __init__(self, places: int, most_waiting: int) -> None:
        self._places = asyncio.Semaphore(places)
        self._most_waiting = most_waiting
        self._waiting = 0
        self._shapes: set[int] = set()

    def has(self, query: Query) -> bool:
        """Whether a statement is to be taken for slow."""
        return query.costly or hash(query.text) in self._shapes

    def note(self, query: Query) -> None:
        """Take a statement for slow from now on."""
        if len(self._shapes) == SHAPES_KEPT:
            self._shapes.clear()
        self._shapes.add(hash(query.text))

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """One of the few places for slow reads; raises `Refusal` (429) when too many wait."""
        if self._waiting >= self._most_waiting:
            raise Refusal(
                TOO_MANY_REQUESTS,
                f"{self._waiting} long reads are waiting already. Wait, then ask again.",
                headers={"Retry-After": "5"},
            )
        self._waiting += 1
        try:
            async with self._places:
                yield
        finally:
            self._waiting -= 1
