"""Reads that take long: known by their shape once they have, and few of them at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from comptoir.errors import TOO_MANY_REQUESTS, Refusal
from comptoir.sql.prepared import SHAPES_KEPT, Query

SLOW_SECONDS = 0.05
"""How long a statement may take before its shape counts as slow."""

QUICK_RUNS = 3
"""How often in a row it must then be quick to count as slow no more."""


class SlowReads:
    """What is slow on one server, and the places where that may run."""

    def __init__(self, places: int, most_waiting: int) -> None:
        self._places = asyncio.Semaphore(places)
        self._most_waiting = most_waiting
        self._waiting = 0
        # their hashes, with how often each was quick since it was slow
        self._shapes: dict[int, int] = {}

    def has(self, query: Query) -> bool:
        """Whether a statement is to be taken for slow."""
        return query.costly or hash(query.text) in self._shapes

    def took(self, query: Query, seconds: float) -> None:
        """Take note of how long a statement took."""
        shape = hash(query.text)
        if seconds > SLOW_SECONDS:
            if len(self._shapes) == SHAPES_KEPT:
                self._shapes.clear()
            self._shapes[shape] = 0
        elif shape in self._shapes:
            # it was the server that had much to do, or the values that were others
            self._shapes[shape] += 1
            if self._shapes[shape] == QUICK_RUNS:
                del self._shapes[shape]

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
