"""The writer: what has queued up for a company is committed as one transaction.

The company's row is locked first, so that its units are in one order, whichever process or host
runs them; several companies are written at once. No outcome is told, refusals included, before
the transaction in which it was decided has ended.
"""

import asyncio
import random
from collections import deque
from typing import TypeVar

import asyncpg

from comptoir.edm.temporal import INSTANT
from comptoir.errors import KEY_EXISTS, Refusal
from comptoir.sql.service_tables import ServiceStatements
from comptoir.sql.tables import COMPANY_ID, Tables
from comptoir.store import submission
from comptoir.store.ledger import Ledger
from comptoir.store.postgres.connection import Connection
from comptoir.store.postgres.faults import FAULTS, refusal_of
from comptoir.store.postgres.pool import Pool
from comptoir.store.postgres.session import drive, run_query, run_statement
from comptoir.store.submission import Job, Submissions, UnitFactory

ATTEMPTS = 5
"""How often a transaction is tried that others stand in the way of."""

JITTER_SECONDS = 0.02
"""How long the first pause before another try is at most; each further one may be twice that."""

_CONFLICTS = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)


T = TypeVar("T")


class Writer:
    """Takes units of work and runs those of each company one after another."""

    def __init__(
        self,
        pool: Pool,
        tables: Tables,
        statements: ServiceStatements,
        *,
        most_waiting: int,
        lock_seconds: float,
    ) -> None:
        self._pool = pool
        self._tables = tables
        self._statements = statements
        self._begin = (
            f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = "
            f"{max(round(lock_seconds * 1_000), 1)}"
        )
        self._queues: dict[str, deque[Job]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._submissions = Submissions(self._accept, most_waiting)

    async def submit(self, company_id: str, factory: UnitFactory[T], *, alone: bool = False) -> T:
        """Run a unit of work as `Submissions.submit` does."""
        return await self._submissions.submit(company_id, factory, alone=alone)

    async def stop(self) -> None:
        """Commit what waits."""
        await asyncio.gather(*self._tasks)

    def _accept(self, job: Job) -> None:
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
            jobs = _next(queue)
            await self._commit(jobs)
            self._submissions.tell(jobs)
        del self._queues[company_id]

    async def _commit(self, jobs: list[Job]) -> None:
        """Run units in a transaction, and if one of them breaks it, each in one of its own."""
        try:
            fault = await self._run(jobs)
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

    async def _run(self, jobs: list[Job]) -> Exception | None:
        """Run units in a transaction; gives the fault that undid it.

        Raises `Refusal` when the database is at fault, so that no other try would help.
        """
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(random.uniform(0, JITTER_SECONDS * 2**attempt))  # noqa: S311
            async with self._pool.lent() as connection:
                try:
                    return await self._transaction(connection, jobs)
                except asyncpg.UniqueViolationError as fault:
                    await _roll_back(connection)
                    return self._taken(fault) if len(jobs) == 1 else fault
                except _CONFLICTS as fault:
                    await _roll_back(connection)
                    conflict = fault
                except FAULTS as fault:
                    await _roll_back(connection)
                    raise refusal_of(fault) from fault
        raise refusal_of(conflict) from conflict

    async def _transaction(self, connection: Connection, jobs: list[Job]) -> Exception | None:
        await connection.execute(self._begin)
        query = self._statements.ledger.query(jobs[0].company_id)
        rows = await run_query(connection, query)
        # a company that is being created has no ledger yet
        number, at = rows[0] if rows else (0, INSTANT.default)
        ledger = Ledger(jobs[0].company_id, int(number), str(at))
        for job in jobs:
            job.fault = None
            mark = ledger.mark()
            try:
                job.result = await drive(connection, job.factory(ledger))
            except FAULTS:
                raise
            except Exception as fault:  # noqa: BLE001 - it goes to whoever waits for this unit
                # a refusal comes before the first change, unless the unit makes several
                if job.alone or not isinstance(fault, Refusal):
                    await _roll_back(connection)
                    return fault
                job.fault = fault
                ledger.rewind(mark)
        for statement in ledger.closing(self._statements):
            await run_statement(connection, statement)
        await connection.execute("COMMIT")
        return None

    def _taken(self, fault: asyncpg.UniqueViolationError) -> Refusal:
        names = self._tables.names_of_unique(fault.constraint_name or "")
        target = ", ".join(name for name in names if name != COMPANY_ID) or "id"
        return Refusal(
            KEY_EXISTS,
            f"Another record has the same {target}, which must be unique. Send other values.",
            target=target,
        )


def _next(queue: deque[Job]) -> list[Job]:
    """The units that go into the next transaction."""
    jobs = [queue.popleft()]
    while queue and len(jobs) < submission.GROUP and not jobs[0].alone and not queue[0].alone:
        jobs.append(queue.popleft())
    return jobs


async def _roll_back(connection: Connection) -> None:
    """Undo a transaction; a connection with which that is not possible is not used again."""
    try:
        await connection.execute("ROLLBACK")
    except FAULTS:
        connection.terminate()
