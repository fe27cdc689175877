"""The one writer: a thread that commits what has queued up as one transaction.

Each unit of work has a savepoint of its own, so a refused one leaves no trace while its
neighbours commit. No outcome is told, refusals included, before the transaction in which it was
decided has ended: a client never acts on what a failed commit takes back.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

from comptoir.errors import Refusal
from comptoir.plan.write import WritePlan
from comptoir.sql.service_tables import ServiceStatements
from comptoir.store import submission
from comptoir.store.condition import Condition
from comptoir.store.ledger import Ledger
from comptoir.store.refusals import duplicate
from comptoir.store.sqlite.connection import refusal_of
from comptoir.store.sqlite.session import drive, run_statement
from comptoir.store.submission import Job, Submissions, UnitFactory
from comptoir.store.watermarks import Watermarks

_log = logging.getLogger(__name__)


PAUSE = 1 / 8
"""How long others have the file to themselves, for each second that long work had it."""

T = TypeVar("T")


class Writer:
    """Takes units of work from the event loop and runs them on one connection, in one thread."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        statements: ServiceStatements,
        condition: Condition,
        watermarks: Watermarks,
        most_waiting: int,
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._condition = condition
        self._watermarks = watermarks
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._submissions = Submissions(self._queue.put, most_waiting)
        self._thread = Thread(target=self._serve, name="comptoir-writer", daemon=True)
        self._thread.start()

    async def submit(
        self,
        company_id: str,
        factory: UnitFactory[T],
        *,
        alone: bool = False,
        plans: Sequence[WritePlan] = (),
    ) -> T:
        """Run a unit of work as `Submissions.submit` does; each has a savepoint, `alone` or not."""
        return await self._submissions.submit(company_id, factory, alone=alone, plans=plans)

    async def give_way(self, seconds: float) -> None:
        """Let other processes write, after a unit that took so many seconds.

        Who waits for the file's lock looks for it ten times a second, and finds it taken but for
        this pause.
        """
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
                if len(jobs) == submission.GROUP or self._queue.empty():
                    break
                waiting = self._queue.get()
            goes_on = waiting is not None
            if jobs:
                self._commit(jobs)
                self._loop.call_soon_threadsafe(self._submissions.tell, jobs)

    def _commit(self, jobs: list[Job]) -> None:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            ledgers: dict[str, Ledger] = {}
            for job in jobs:
                self._run(job, ledgers)
            for ledger in ledgers.values():
                for statement in ledger.closing(self._statements):
                    run_statement(connection, statement)
            connection.execute("COMMIT")
            for ledger in ledgers.values():
                self._condition.stored(ledger)
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
        mark = ledger.mark()
        connection.execute("SAVEPOINT unit")
        try:
            job.result = drive(connection, job.factory(ledger))
        except sqlite3.IntegrityError as fault:
            job.fault = _taken(fault)
        except sqlite3.Error:
            raise
        except Exception as fault:  # noqa: BLE001 - it goes to whoever waits for this unit
            # its neighbours in the transaction have no part in it
            job.fault = fault
        if job.fault is not None:
            connection.execute("ROLLBACK TO unit")
            ledger.rewind(mark)
        connection.execute("RELEASE unit")

    def _open_ledger(self, company_id: str) -> Ledger:
        prepared = self._statements.ledger
        rows = run_statement(self._connection, prepared.query(company_id))
        return Ledger(company_id, rows, self._watermarks)


def _taken(fault: sqlite3.IntegrityError) -> Refusal:
    columns = str(fault).rpartition(":")[2].split(",")
    return duplicate(column.rpartition(".")[2].strip() for column in columns)
