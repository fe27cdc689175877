"""The one writer: a thread that commits what has queued up as one transaction.

Each unit of work has a savepoint of its own, so a refused one leaves no trace while its
neighbours commit. No outcome is told, refusals included, before the transaction in which it was
decided has ended: a client never acts on what a failed commit takes back.
"""

import asyncio
import logging
import sqlite3
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

from typing_extensions import override

from comptoir.errors import KEY_EXISTS, Refusal
from comptoir.sql.statements import Statements
from comptoir.sql.tables import COMPANY_ID
from comptoir.store.ledger import Ledger
from comptoir.store.sqlite.connection import refusal_of
from comptoir.store.sqlite.session import drive, run_statement
from comptoir.store.unit import UnitOfWork
from comptoir.store.watermarks import Watermarks
from comptoir.store.writer import Condition, Job, Writer

_log = logging.getLogger(__name__)


PAUSE = 1 / 8
"""The share of a long operation's time after which it leaves the file to other processes."""


class SqliteWriter(Writer):
    """Runs units of work on one connection, in one thread."""

    def __init__(
        self,
        connection: sqlite3.Connection,
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
        """Commit what waits, then end the thread and close the connection."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self._connection.close()

    def _serve(self) -> None:
        goes_on = True
        while goes_on:
            jobs: list[Job] = []
            waiting = self._queue.get()
            while waiting is not None:
                jobs.append(waiting)
                if len(jobs) == self.GROUP or self._queue.empty():
                    break
                waiting = self._queue.get()
            goes_on = waiting is not None
            if jobs:
                self._commit(jobs)
                self._loop.call_soon_threadsafe(self._finish, jobs)

    def _commit(self, jobs: list[Job]) -> None:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            ledgers: dict[str, Ledger] = {}
            for job in jobs:
                self._run(job, ledgers)
            for ledger in ledgers.values():
                for statement in ledger.closing(self._statements.service):
                    run_statement(connection, statement)
            connection.execute("COMMIT")
            for ledger in ledgers.values():
                self._condition.committed(ledger)
                ledger.acknowledge()
        except Exception as fault:  # noqa: BLE001 - else all later writes wait for ever
            # where even that fails, the database has rolled back by itself or is beyond help
            with suppress(sqlite3.Error):
                connection.rollback()
            told = refusal_of(fault) if isinstance(fault, sqlite3.Error) else fault
            if isinstance(told, Refusal):
                self._condition.failed(told)
            for job in jobs:
                job.fault = told

    def _run(self, job: Job, ledgers: dict[str, Ledger]) -> None:
        connection = self._connection
        ledger = ledgers.get(job.company_id)
        if ledger is None:
            ledger = ledgers[job.company_id] = self._open_ledger(job.company_id)
        unit = UnitOfWork(self._statements, ledger)
        connection.execute("SAVEPOINT unit")
        try:
            job.result = drive(connection, job.work(unit))
        except sqlite3.IntegrityError as fault:
            job.fault = _taken(fault)
        except sqlite3.Error:
            raise
        except Exception as fault:  # noqa: BLE001 - it goes to whoever waits for this unit
            # its neighbours in the transaction have no part in it
            job.fault = fault
        if job.fault is not None:
            connection.execute("ROLLBACK TO unit")
            unit.roll_back()
        connection.execute("RELEASE unit")

    def _open_ledger(self, company_id: str) -> Ledger:
        prepared = self._statements.service.ledger
        rows = run_statement(self._connection, prepared.query(company_id))
        return Ledger(company_id, rows, self._watermarks)


def _taken(fault: sqlite3.IntegrityError) -> Refusal:
    columns = str(fault).rpartition(":")[2].split(",")
    names = [column.rpartition(".")[2].strip() for column in columns]
    target = ", ".join(name for name in names if name != COMPANY_ID) or "id"
    return Refusal(
        KEY_EXISTS,
        f"Another record has the same {target}, which must be unique. Send other values.",
        target=target,
    )
