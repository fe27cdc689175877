"""Transactions of units of work: the company's row is locked first, and told last is the outcome.

A transaction that others stood in the way of is tried again. When the connection is lost while it
is being committed, the change log tells on another connection whether it was.
"""

import asyncio
import random

import asyncpg

from comptoir.errors import DATABASE_UNREACHABLE, KEY_EXISTS, Refusal
from comptoir.sql.statements import Statements
from comptoir.sql.tables import COMPANY_ID
from comptoir.store.ledger import Change, Ledger
from comptoir.store.postgres.connection import Connection
from comptoir.store.postgres.faults import (
    FAULTS,
    Fault,
    is_cut,
    is_lost,
    is_of_request,
    refusal_of,
    violated,
)
from comptoir.store.postgres.pool import Pool
from comptoir.store.postgres.session import Session, roll_back
from comptoir.store.prefetch import prefetch
from comptoir.store.unit import UnitOfWork
from comptoir.store.watermarks import Watermarks
from comptoir.store.writer import Condition, Job

ATTEMPTS = 5
"""How often a transaction is tried that others stand in the way of."""

JITTER_SECONDS = 0.02
"""How long the first pause before another try is at most; each further one may be twice that."""

_CONFLICTS = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)


class _InDoubt(Exception):  # noqa: N818 - whether it is an error is what is in doubt
    """The connection was lost when a transaction with these changes was being committed."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.ledger = ledger


class _NotBegun(Exception):  # noqa: N818 - another connection is tried
    """The connection was lost before the transaction began."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault


class Transactions:
    """Runs units of one company in a transaction."""

    def __init__(
        self,
        pool: Pool,
        statements: Statements,
        condition: Condition,
        watermarks: Watermarks,
        *,
        lock_seconds: float,
    ) -> None:
        self._pool = pool
        self._statements = statements
        self._condition = condition
        self._watermarks = watermarks
        self._begin = (
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = "
            f"{max(round(lock_seconds * 1_000), 1)}"
        )

    async def run(self, jobs: list[Job]) -> Exception | None:
        """Run units; gives the fault of one of them that undid the transaction.

        Raises `Refusal` when the database is at fault, so that no other try would help.
        """
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(random.uniform(0, JITTER_SECONDS * 2**attempt))  # noqa: S311
            async with self._pool.lent() as connection:
                try:
                    return await self._transaction(connection, jobs)
                except asyncpg.UniqueViolationError as fault:
                    await roll_back(connection)
                    return self._taken(fault) if len(jobs) == 1 else fault
                except _CONFLICTS as fault:
                    await roll_back(connection)
                    conflict: Fault = fault
                except _NotBegun as lost:
                    self._pool.cut(connection)
                    conflict = lost.fault
                except _InDoubt as doubt:
                    self._pool.cut(connection)
                    in_doubt = doubt
                    break
                except FAULTS as fault:
                    if is_cut(fault):
                        self._pool.cut(connection)
                    elif isinstance(fault, TimeoutError):
                        # a server that hangs would not roll back either
                        connection.terminate()
                    await roll_back(connection)
                    if is_of_request(fault) and len(jobs) > 1:
                        # one unit's own fault, which is no matter of its neighbours
                        return fault
                    refusal = refusal_of(fault)
                    self._condition.failed(refusal)
                    raise refusal from fault
        else:
            raise refusal_of(conflict) from conflict
        await self._settle(in_doubt)
        self._condition.committed(in_doubt.ledger)
        return None

    async def _transaction(self, connection: Connection, jobs: list[Job]) -> Exception | None:
        try:
            await connection.execute(self._begin)
        except FAULTS as fault:
            if is_cut(fault):
                raise _NotBegun(fault) from fault
            raise
        session = Session(connection)
        ledger = await self._open_ledger(session, jobs[0].company_id)
        plans = [plan for job in jobs for plan in job.plans]
        if len(plans) > 1:
            await session.drive(prefetch(plans, UnitOfWork(self._statements, ledger)))
        for job in jobs:
            job.fault = None
            unit = UnitOfWork(self._statements, ledger)
            try:
                job.result = await session.drive(job.work(unit))
            except FAULTS:
                raise
            except Exception as fault:  # noqa: BLE001 - it goes to whoever waits for this unit
                # a refusal comes before the first change, unless the unit makes several
                if job.alone or not isinstance(fault, Refusal):
                    await roll_back(connection)
                    return fault
                job.fault = fault
                unit.roll_back()
        for statement in ledger.closing(self._statements.service):
            await session.run(statement)
        await session.flush()
        try:
            await connection.execute("COMMIT")
        except FAULTS as fault:
            if is_lost(fault):
                raise _InDoubt(ledger) from fault
            raise
        self._condition.committed(ledger)
        ledger.acknowledge()
        return None

    async def _open_ledger(self, session: Session, company_id: str) -> Ledger:
        rows = await session.run(self._statements.service.ledger.query(company_id))
        return Ledger(company_id, rows, self._watermarks)

    async def _settle(self, doubt: _InDoubt) -> None:
        """Return when a transaction was committed; raises `Refusal` when not, or not known."""
        last = doubt.ledger.last
        if last is not None:
            try:
                if await self._is_logged(doubt.ledger.company_id, last):
                    doubt.ledger.acknowledge()
                    return
            except (Refusal, *FAULTS):
                last = None
        if last is not None:
            raise Refusal(
                DATABASE_UNREACHABLE,
                "The connection to the database was lost, and nothing was changed. Try again in a "
                "moment.",
                headers={"Retry-After": "1"},
            ) from doubt
        raise Refusal(
            DATABASE_UNREACHABLE,
            "The connection to the database was lost while the write was being committed, and "
            "whether it was is not known. Read the record before you send the write again.",
            headers={"Retry-After": "5"},
        ) from doubt

    async def _is_logged(self, company_id: str, last: Change) -> bool:
        async with self._pool.lent() as connection:
            try:
                await connection.execute(self._begin)
                # the lock is free when the transaction in doubt has ended, in whatever way
                session = Session(connection)
                await self._open_ledger(session, company_id)
                query = self._statements.service.changes.query(company_id, last.number - 1, 1)
                rows = await session.run(query)
            finally:
                await roll_back(connection)
        return [Change(*row) for row in rows] == [last]  # type: ignore[arg-type]

    def _taken(self, fault: asyncpg.UniqueViolationError) -> Refusal:
        names = self._statements.tables.names_of_unique(violated(fault))
        target = ", ".join(name for name in names if name != COMPANY_ID) or "id"
        return Refusal(
            KEY_EXISTS,
            f"Another record has the same {target}, which must be unique. Send other values.",
            target=target,
        )
