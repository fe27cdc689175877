"""The writer of SQLite: one thread that commits the queued units of work as one transaction.

Units that share a transaction have savepoints. A unit that is refused, or whose statement fails by
itself, is rolled back to its own, and the others still commit.
"""

import asyncio
import sqlite3
from contextlib import closing, suppress
from queue import SimpleQueue
from threading import Thread

from typing_extensions import override

from comptoir.errors import Refusal
from comptoir.sql.statements import Statements
from comptoir.store.ledger import Ledger
from comptoir.store.refusals import duplicate
from comptoir.store.sqlite.connection import Connection, is_statement_fault, refusal_of
from comptoir.store.unit import UnitOfWork
from comptoir.store.watermarks import Watermarks
from comptoir.store.writer import NO_COMPANY, Condition, Job, Writer

PAUSE = 1 / 8
"""The seconds that others get to write for each second of a long operation's unit."""


class SqliteWriter(Writer):
    """Runs units of work on one connection, in one thread."""

    def __init__(
        self,
        connection: Connection,
        statements: Statements,
        condition: Condition,
        watermarks: Watermarks,
        most_waiting: int,
    ) -> None:
        super().__init__(most_waiting)
        self._connection = connection
        self._statements = statements
        self._condition = condition
        self._watermarks = watermarks
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = Thread(target=self._serve, name="comptoir-writer", daemon=True)
        self._thread.start()

    @override
    def _enqueue(self, job: Job) -> None:
        self._queue.put(job)

    @override
    async def give_way(self, seconds: float) -> None:
        # a process that waits for the file's lock tries ten times a second
        await asyncio.sleep(seconds * PAUSE)

    async def stop(self) -> None:
        """Commit the queued units, then end the thread, which closes the connection."""
        self._is_stopping = True
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        with closing(self._connection):
            self._run_jobs()

    def _run_jobs(self) -> None:
        is_open = True
        while is_open:
            jobs: list[Job] = []
            job = self._queue.get()
            while job is not None:
                jobs.append(job)
                if len(jobs) == self.GROUP or self._queue.empty():
                    break
                job = self._queue.get()
            is_open = job is not None
            if jobs:
                self._commit(jobs)
                self._loop.call_soon_threadsafe(self._finish, jobs)

    def _commit(self, jobs: list[Job]) -> None:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            ledgers: dict[str, Ledger] = {}
            for job in jobs:
                self._run(job, ledgers, shares=len(jobs) > 1)
            for ledger in ledgers.values():
                for statement in ledger.closing(self._statements.service):
                    connection.run(statement)
            # none is left if a unit that does not share it was rolled back
            connection.commit()
            for ledger in ledgers.values():
                self._condition.committed(ledger)
                ledger.acknowledge()
        except Exception as error:  # noqa: BLE001 - else all later writes wait for ever
            # if that fails too, the database has rolled back by itself or cannot be used
            with suppress(sqlite3.Error):
                connection.rollback()
            outcome = refusal_of(error) if isinstance(error, sqlite3.Error) else error
            if isinstance(outcome, Refusal):
                self._condition.failed(outcome)
            for job in jobs:
                job.fault = outcome

    def _run(self, job: Job, ledgers: dict[str, Ledger], *, shares: bool) -> None:
        connection = self._connection
        ledger = ledgers.get(job.company_id)
        if ledger is None:
            query = self._statements.service.ledger.query(job.company_id)
            rows = [] if job.company_id == NO_COMPANY else connection.run(query)
            ledger = ledgers[job.company_id] = Ledger(job.company_id, rows, self._watermarks)
        unit = UnitOfWork(self._statements, ledger)
        # a savepoint copies each page before its first change, which a unit with many rows notices
        if shares:
            connection.execute("SAVEPOINT unit")
        try:
            job.result = connection.drive(job.work(unit))
        except sqlite3.IntegrityError as error:
            job.fault = duplicate(_columns(error))
        except sqlite3.Error as error:
            # on a full disk, or without the lock, the other units would fail too
            if not is_statement_fault(error):
                raise
            job.fault = refusal_of(error)
        except Exception as error:  # noqa: BLE001 - it goes to the caller of this unit
            job.fault = error
        if job.fault is not None:
            if shares:
                connection.execute("ROLLBACK TO unit")
            else:
                connection.rollback()
            unit.roll_back()
        if shares:
            connection.execute("RELEASE unit")


def _columns(fault: sqlite3.IntegrityError) -> list[str]:
    """The columns in the message of a violated constraint."""
    columns = str(fault).rpartition(":")[2].split(",")
    return [column.rpartition(".")[2].strip() for column in columns]
