"""Units of work on their way to whoever commits them, and their outcomes on the way back."""

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import TypeVar, cast

from comptoir.errors import TOO_MANY_REQUESTS, Refusal
from comptoir.plan.read import Row
from comptoir.plan.write import WritePlan
from comptoir.sql.prepared import Statement
from comptoir.store.ledger import Ledger

GROUP = 256
"""The most units of work in one transaction."""

T = TypeVar("T")
UnitFactory = Callable[[Ledger], Generator[Statement, list[Row], T]]


class Job:
    """A unit of work that waits, the future of whoever waits for it, and its outcome.

    One that is `alone` has its transaction to itself. `plans` are the writes of which it consists,
    if it does, so that a store may read ahead for many units at once.
    """

    __slots__ = ("alone", "company_id", "factory", "fault", "future", "is_told", "plans", "result")

    def __init__(
        self,
        company_id: str,
        factory: UnitFactory[object],
        future: asyncio.Future[None],
        *,
        alone: bool,
        plans: Sequence[WritePlan],
    ) -> None:
        self.company_id = company_id
        self.plans = plans
        self.factory = factory
        self.future = future
        self.alone = alone
        self.result: object = None
        self.fault: BaseException | None = None
        self.is_told = False

    def outcome(self) -> object:
        """The result, once it is told; raises the fault."""
        if self.fault is not None:
            raise self.fault
        return self.result


class Submissions:
    """Hands units of work over, and tells their outcomes, within the event loop."""

    def __init__(self, accept: Callable[[Job], None], most_waiting: int) -> None:
        self._accept = accept
        self._most_waiting = most_waiting
        self._waiting = 0
        self._loop = asyncio.get_running_loop()

    async def submit(
        self,
        company_id: str,
        factory: UnitFactory[T],
        *,
        alone: bool = False,
        plans: Sequence[WritePlan] = (),
    ) -> T:
        """Have a unit of work run and give its result once it is on the disk.

        Raises what the unit raises; `Refusal` 429 when too many wait, 503 when the transaction
        failed. After either, nothing of the unit is stored. A cancellation does not end the wait:
        the outcome is told as it is.
        """
        if self._waiting >= self._most_waiting:
            raise Refusal(
                TOO_MANY_REQUESTS,
                f"{self._waiting} writes are waiting already. Wait a second, then send it again.",
                headers={"Retry-After": "1"},
            )
        job = Job(company_id, factory, self._loop.create_future(), alone=alone, plans=plans)
        self._waiting += 1
        self._accept(job)
        try:
            await job.future
        except asyncio.CancelledError:
            # the unit is not taken back, so whoever asked for it hears of its outcome all the same
            if not job.is_told:
                job.future = self._loop.create_future()
                await job.future
        return cast("T", job.outcome())

    def tell(self, jobs: list[Job]) -> None:
        """Tell the outcomes of units that are done."""
        self._waiting -= len(jobs)
        for job in jobs:
            job.is_told = True
            if not job.future.done():
                job.future.set_result(None)
