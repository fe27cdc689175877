"""The search index follows the change log when somebody searches, and costs writes nothing.

A search is exact whatever the index holds: what has changed since is compared record by record.
When that has become much, units of indexing go through the writer one after another, with other
writes between them.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from time import monotonic

from comptoir.edm.model import Company, EntitySet
from comptoir.errors import Refusal

BEHIND = 500
"""How many changes the index of a set may be behind before a search lets it catch up."""

MANY_UNITS = 16
"""Units of indexing after which the statistics of the index are refreshed the first time."""

Lag = Callable[[Company, EntitySet], Awaitable[int]]
"""Gives how many changes the index of a set is behind, maybe after having done a unit."""


class Following:
    """Lets the indexes of the sets that are searched catch up in the background."""

    def __init__(
        self, lag: Lag, unit: Lag, refresh_statistics: Callable[[], Awaitable[None]]
    ) -> None:
        self._lag = lag
        self._unit = unit
        self._refresh_statistics = refresh_statistics
        self._tasks: dict[tuple[str, EntitySet], asyncio.Task[None]] = {}
        self._stopping = False

    async def searched(self, company: Company, entity_set: EntitySet) -> None:
        """Take note of a search; it does not wait for what there is to catch up with."""
        following = (company.id, entity_set)
        if following not in self._tasks and await self._lag(company, entity_set) > BEHIND:
            self._begin(following, company, entity_set)

    def _begin(
        self, following: tuple[str, EntitySet], company: Company, entity_set: EntitySet
    ) -> None:
        if following not in self._tasks and not self._stopping:
            task = asyncio.create_task(self._follow(company, entity_set))
            self._tasks[following] = task
            task.add_done_callback(lambda _: self._tasks.pop(following))

    async def _follow(self, company: Company, entity_set: EntitySet) -> None:
        # nobody waits for the index, and a later search sees to what a refusal leaves
        with suppress(Refusal):
            async with aclosing(self._units(company, entity_set)) as units:
                async for seconds in units:
                    if self._stopping:
                        break
                    # at most half of the writer's time is the index's, the rest everybody else's
                    await asyncio.sleep(seconds)

    async def catch_up(self, company: Company, entity_set: EntitySet) -> None:
        """Index what changed, until nothing is left; raises `Refusal` where a write would."""
        async for _ in self._units(company, entity_set):
            pass

    async def _units(self, company: Company, entity_set: EntitySet) -> AsyncGenerator[float, None]:
        """Index what changed; gives the seconds that each unit took."""
        lag, done = 1, 0
        while lag > 0:
            began = monotonic()
            lag = await self._unit(company, entity_set)
            done += 1
            # each unit looks up the documents that it replaces, slowly by a plan for a small index
            if done >= MANY_UNITS and (lag == 0 or done.bit_count() == 1):
                await self._refresh_statistics()
            yield monotonic() - began

    async def stop(self) -> None:
        """End when the units under way have ended."""
        self._stopping = True
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
