"""The writer: what has queued up for a company is committed as one transaction.

So the units of a company are in one order, and several companies are written at once. No outcome
is told, refusals included, before the transaction in which it was decided has ended.
"""

import asyncio
from collections import deque

from typing_extensions import override

from comptoir.errors import UNAVAILABLE, Refusal
from comptoir.store.postgres.transactions import Transactions
from comptoir.store.writer import Job, Writer


class PostgresWriter(Writer):
    """Takes units of work and runs those of each company one after another."""

    def __init__(self, transactions: Transactions, most_waiting: int) -> None:
        super().__init__(most_waiting)
        self._transactions = transactions
        self._queues: dict[str, deque[Job]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @override
    async def give_way(self, seconds: float) -> None:
        # a transaction that waits for the company's lock is next
        await asyncio.sleep(0)

    async def stop(self, seconds: float) -> None:
        """Commit what waits; what is not committed after so many seconds is given up."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late)

    @override
    def _enqueue(self, job: Job) -> None:
        queue = self._queues.get(job.company_id)
        if queue is not None:
            queue.append(job)
            return
        self._queues[job.company_id] = deque((job,))
        task = asyncio.create_task(self._serve(job.company_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, company_id: str) -> None:
        """Commit what waits for a company, until nothing does."""
        queue = self._queues[company_id]
        while queue:
            jobs = self._next(queue)
            try:
                await self._commit(jobs)
            except asyncio.CancelledError:
                jobs += queue
                queue.clear()
                for job in jobs:
                    job.fault = _given_up()
            self._finish(jobs)
        del self._queues[company_id]

    def _next(self, queue: deque[Job]) -> list[Job]:
        """The units that go into the next transaction."""
        jobs = [queue.popleft()]
        while queue and len(jobs) < self.GROUP and not jobs[0].alone and not queue[0].alone:
            jobs.append(queue.popleft())
        return jobs

    async def _commit(self, jobs: list[Job]) -> None:
        """Run units in a transaction, and if one of them breaks it, each in one of its own."""
        try:
            fault = await self._transactions.run(jobs)
        except Exception as raised:  # noqa: BLE001 - else its units wait for ever
            fault = raised
        if fault is None:
            return
        if len(jobs) > 1 and not isinstance(fault, Refusal):
            for job in jobs:
                await self._commit([job])
            return
        for job in jobs:
            job.fault = fault


def _given_up() -> Refusal:
    return Refusal(
        UNAVAILABLE,
        "The service is stopping, and whether the write was done is not known. Read the record "
        "before you send the write again.",
        headers={"Retry-After": "5"},
    )
