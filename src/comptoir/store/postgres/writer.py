"""The writer: commits the waiting units of a company as one transaction.

The transaction locks the company's row first, so units of one company run one after another, and
units of several companies concurrently. A transaction that conflicts is repeated. If the connection
is lost during COMMIT, the change log shows on another connection whether it was committed.
"""

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

import asyncpg
from typing_extensions import override

from comptoir.config import Settings
from comptoir.errors import refusal_rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.read import Row
from comptoir.sql.prepared import BulkCopy, BulkQuery, ManyQueries, Statement, Value
from comptoir.sql.statements import Statements
from comptoir.store.ledger import Change, Ledger
from comptoir.store.postgres.connection import Connection, Pool, run_query
from comptoir.store.postgres.errors import (
    DRIVER_ERRORS,
    DriverError,
    is_lost,
    is_unanswered,
    refusal_of,
    request_refusal,
    violated_constraint,
)
from comptoir.store.postgres.reader import roll_back
from comptoir.store.refusals import duplicate
from comptoir.store.unit import UnitOfWork, drive
from comptoir.store.writer import NO_COMPANY, Job, Writer
from comptoir.store.writes import prefetch

ATTEMPTS = 5
"""Attempts at a transaction that conflicts with others."""

JITTER_SECONDS = 0.02
"""The pause before attempt n, counted from 0, is random: up to this times 2ⁿ seconds."""

COPY_ROWS = 10
"""The fewest rows for which COPY is faster than INSERT."""

ARRAY_ROWS = 50
"""The fewest rows for which one statement with arrays as parameters is faster."""

_CONFLICTS = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)


class _InDoubt(Exception):  # noqa: N818 - the transaction may have been committed
    """The connection was lost during COMMIT."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.ledger = ledger


class _NotBegun(Exception):  # noqa: N818 - another connection is tried
    """The connection was lost before the transaction began."""

    def __init__(self, cause: DriverError) -> None:
        super().__init__()
        self.cause = cause


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
        for statement, rows in delayed:
            bulk = statement.bulk
            if isinstance(bulk, BulkCopy) and len(rows) >= COPY_ROWS:
                await self._connection.copy_records_to_table(
                    bulk.table, records=rows, columns=bulk.columns
                )
            elif isinstance(bulk, BulkQuery) and len(rows) >= ARRAY_ROWS and bulk.accepts(rows):
                # a generic plan from the start of a load is slow when the table has grown
                await self._connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")
                await run_query(self._connection, bulk.query(rows))
            else:
                await self._connection.executemany(statement.text, rows)


class PostgresWriter(Writer):
    """Queues units of work by company; a task for each company runs its queue.

    A transaction waits up to the setting `lock_seconds` for a lock.
    """

    def __init__(self, pool: Pool, settings: Settings, statements: Statements) -> None:
        super().__init__(settings, statements)
        self._pool = pool
        self._begin = (
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = "
            f"{max(round(settings.lock_seconds * 1_000), 1)}"
        )
        self._queues: dict[str, deque[Job]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @override
    async def give_way(self, seconds: float) -> None:
        # PostgreSQL grants the company's lock in the order of requests
        await asyncio.sleep(0)

    async def stop(self, seconds: float) -> None:
        """Commit the waiting units; after `seconds`, fail the rest with 503."""
        self._is_stopping = True
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
        """Commit the units of a company until its queue is empty."""
        queue = self._queues[company_id]
        while queue:
            jobs = [queue.popleft()]
            while queue and len(jobs) < self.GROUP and not (jobs[0].alone or queue[0].alone):
                jobs.append(queue.popleft())
            try:
                await self._commit(jobs)
            except asyncio.CancelledError:
                jobs += queue
                queue.clear()
                for job in jobs:
                    job.error = refusal_rows.STOPPING_IN_DOUBT()
            self._finish(jobs)
        del self._queues[company_id]

    async def _commit(self, jobs: list[Job]) -> None:
        """Run units in a transaction, or each in its own if one of them breaks it."""
        try:
            error = await self._attempts(jobs)
        except Exception as raised:  # noqa: BLE001 - otherwise its units wait forever
            error = raised
        if error is None:
            return
        if len(jobs) > 1 and not isinstance(error, Refusal):
            for job in jobs:
                await self._commit([job])
            return
        for job in jobs:
            job.error = error

    async def _attempts(self, jobs: list[Job]) -> Exception | None:
        """Run units in a transaction; returns the error of a unit that rolled it back.

        Raises `Refusal` for an error of the database; running the units singly would not help.
        """
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(random.uniform(0, JITTER_SECONDS * 2**attempt))  # noqa: S311
            async with self._pool.acquired() as connection:
                try:
                    return await self._transaction(connection, jobs)
                except asyncpg.UniqueViolationError as error:
                    await roll_back(connection)
                    if len(jobs) > 1:
                        return error
                    names = self._statements.tables.names_of_unique(violated_constraint(error))
                    return duplicate(names)
                except _CONFLICTS as error:
                    await roll_back(connection)
                    conflict: DriverError = error
                except _NotBegun as lost:
                    self._pool.drop(connection)
                    conflict = lost.cause
                except _InDoubt as doubt:
                    self._pool.drop(connection)
                    in_doubt = doubt
                    break
                except DRIVER_ERRORS as error:
                    if is_lost(error):
                        self._pool.drop(connection)
                    elif isinstance(error, TimeoutError):
                        # a rollback would wait for the server that hangs
                        connection.terminate()
                    await roll_back(connection)
                    if len(jobs) > 1 and request_refusal(error):
                        # the error of one unit must not fail the others
                        return error
                    refusal = refusal_of(error)
                    self.condition.failed(refusal)
                    raise refusal from error
        else:
            raise refusal_of(conflict) from conflict
        await self._resolve(in_doubt)
        return None

    async def _transaction(self, connection: Connection, jobs: list[Job]) -> Exception | None:
        try:
            await connection.execute(self._begin)
        except DRIVER_ERRORS as error:
            if is_lost(error):
                raise _NotBegun(error) from error
            raise
        session = DatabaseSession(connection)
        ledger = await self._open_ledger(session, jobs[0].company_id)
        plans = [plan for job in jobs for plan in job.plans]
        if len(plans) > 1:
            await drive(prefetch(plans, UnitOfWork(self._statements, ledger)), session.run)
        for job in jobs:
            job.error = None
            unit = UnitOfWork(self._statements, ledger)
            try:
                job.result = await drive(job.work(unit), session.run)
            except DRIVER_ERRORS:
                raise
            except Exception as error:  # noqa: BLE001 - it is the outcome of this unit
                # a unit that shares its transaction is only refused before its first change
                if job.alone or not isinstance(error, Refusal):
                    await roll_back(connection)
                    return error
                job.error = error
                unit.roll_back()
        for statement in ledger.closing(self._statements.service):
            await session.run(statement)
        await session.flush()
        try:
            await connection.execute("COMMIT")
        except DRIVER_ERRORS as error:
            if is_unanswered(error):
                raise _InDoubt(ledger) from error
            raise
        self._note_commit(ledger)
        return None

    async def _open_ledger(self, session: DatabaseSession, company_id: str) -> Ledger:
        query = self._statements.service.ledger.query(company_id)
        rows = [] if company_id == NO_COMPANY else await session.run(query)
        return self._ledger(company_id, rows)

    async def _resolve(self, doubt: _InDoubt) -> None:
        """Return if a transaction was committed; raises `Refusal` if not, or if that is unknown."""
        ledger, outcome = doubt.ledger, refusal_rows.LOST_IN_DOUBT
        if ledger.last is not None:
            with suppress(Refusal, *DRIVER_ERRORS):
                if await self._is_logged(ledger.company_id, ledger.last):
                    self._note_commit(ledger)
                    return
                outcome = refusal_rows.ROLLED_BACK
        raise outcome() from doubt

    async def _is_logged(self, company_id: str, last: Change) -> bool:
        async with self._pool.acquired() as connection:
            try:
                await connection.execute(self._begin)
                # wait for the lock, which the transaction in doubt holds until its end
                session = DatabaseSession(connection)
                await self._open_ledger(session, company_id)
                query = self._statements.service.changes.query(company_id, last.number - 1, 1)
                rows = await session.run(query)
            finally:
                await roll_back(connection)
        return [Change(*row) for row in rows] == [last]  # type: ignore[arg-type]
