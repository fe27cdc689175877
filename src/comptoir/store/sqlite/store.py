"""The SQLite store: a reader in the event loop, a writer thread, scan threads, and snapshots."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

import apsw
from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.errors.refusal import Refusal
from comptoir.plan.read import Row
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Query
from comptoir.sql.statements import Statements, statements_of
from comptoir.store.control import READ_SECONDS
from comptoir.store.ledger import Ledger
from comptoir.store.refusals import duplicate
from comptoir.store.sqlite.connection import (
    Connection,
    Portion,
    connect,
    database_path,
    execute_alone,
    is_statement_error,
    is_writable,
    refusal_of,
)
from comptoir.store.sqlite.reader import INTERRUPT_SECONDS, Scans, SqliteReader
from comptoir.store.store import SLICE_CHARACTERS, SLICE_ROWS, SnapshotConnection, Store, StoreLoad
from comptoir.store.unit import UnitOfWork
from comptoir.store.writer import NO_COMPANY, Job, Writer

PAUSE = 1 / 8
"""The seconds that others get to write for each second of a long operation's unit."""


class SqliteWriter(Writer):
    """Runs units of work on one connection, in one thread."""

    def __init__(
        self, connection: Connection, settings: Settings, statements: Statements, folder: Path
    ) -> None:
        super().__init__(settings, statements, folder)
        # the writer waits by itself
        connection.execute("PRAGMA busy_timeout=0")
        self._connection = connection
        self._lock_seconds = settings.lock_seconds
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = Thread(target=self._serve, name="comptoir-writer", daemon=True)
        self._thread.start()

    @override
    def _enqueue(self, job: Job) -> None:
        self._queue.put(job)

    @override
    async def give_way(self, seconds: float) -> None:
        # a process that waits for the file's lock asks for it every few milliseconds
        await asyncio.sleep(seconds * PAUSE)

    async def stop(self) -> None:
        """Commit the queued units, then end the thread."""
        self._is_stopping = True
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
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
            execute_alone(connection, "BEGIN IMMEDIATE", self._lock_seconds)
            ledgers: dict[str, Ledger] = {}
            for job in jobs:
                self._run(job, ledgers, shares=len(jobs) > 1)
            for ledger in ledgers.values():
                for statement in ledger.closing(self._statements.service):
                    connection.run(statement)
            # none is left if a unit that does not share it was rolled back
            connection.commit()
            for ledger in ledgers.values():
                self._note_commit(ledger)
        except Exception as error:  # noqa: BLE001 - else all later writes wait for ever
            # if that fails too, the database has rolled back by itself or cannot be used
            with suppress(apsw.Error):
                connection.roll_back()
            outcome = refusal_of(error) if isinstance(error, apsw.Error) else error
            if isinstance(outcome, Refusal):
                self.condition.failed(outcome)
            for job in jobs:
                job.error = outcome

    def _run(self, job: Job, ledgers: dict[str, Ledger], *, shares: bool) -> None:
        connection = self._connection
        ledger = ledgers.get(job.company_id)
        if ledger is None:
            query = self._statements.service.ledger.query(job.company_id)
            rows = [] if job.company_id == NO_COMPANY else connection.run(query)
            ledger = ledgers[job.company_id] = self._ledger(job.company_id, rows)
        unit = UnitOfWork(self._statements, ledger)
        # a savepoint copies each page before its first change, which a unit with many rows notices
        if shares:
            connection.execute("SAVEPOINT unit")
        try:
            job.result = connection.drive(job.work(unit))
        except apsw.ConstraintError as error:
            job.error = duplicate(_columns(error))
        except apsw.Error as error:
            # on a full disk, or without the lock, the other units would fail too
            if not is_statement_error(error):
                raise
            job.error = refusal_of(error)
        except Exception as error:  # noqa: BLE001 - it goes to the caller of this unit
            job.error = error
        if job.error is not None:
            if shares:
                connection.execute("ROLLBACK TO unit")
            else:
                connection.roll_back()
            unit.roll_back()
        if shares:
            connection.execute("RELEASE unit")


def _columns(error: apsw.ConstraintError) -> list[str]:
    """The columns in the message of a violated constraint."""
    columns = str(error).rpartition(":")[2].split(",")
    return [column.rpartition(".")[2].strip() for column in columns]


MANY_WRITES: Mapping[str, int] = {"cache_size": -65_536, "wal_autocheckpoint": 4_000}
"""The writer's settings for long operations: the pages that 2,000 records change fit into the cache
(in KiB), and fewer checkpoints (in pages) copy the same page again."""

MOST_CONTROL_READS = 20
"""The most long reads of the control tables that wait or run."""

T = TypeVar("T")


class SqliteStore(Store):
    """Implements `Store` on one file. Raises `OperatorError` if the file cannot be opened."""

    def __init__(self, settings: Settings, model: Model, *, writes_many: bool = False) -> None:
        path = database_path(settings.database)
        statements = statements_of(model, SQLITE)
        connecting = partial(connect, path, lock_seconds=settings.lock_seconds)
        self._open_walking = partial(connecting, writes=False, maps=False)
        with ExitStack() as opened:
            writes = not settings.refuses_writes or is_writable(path)
            writing = opened.enter_context(closing(connecting(writes=writes)))
            for name, value in MANY_WRITES.items() if writes_many else ():
                writing.execute(f"PRAGMA {name}={value}")
            walking = opened.enter_context(closing(self._open_walking()))
            first = opened.enter_context(closing(connecting(writes=False)))
            # the others are for few requests
            second, *others = (
                opened.enter_context(closing(connecting(writes=False, reads=False)))
                for _ in range(1 + settings.scan_threads)
            )
            self._scans = Scans(
                others, most_reads=settings.queued_scans, seconds=settings.scan_seconds
            )
            self._file_reader = SqliteReader(first, walking, statements.reads, self._scans)
            # a thread of their own, so that scans never delay what is known of clients
            self._control_scans = Scans(
                [second], most_reads=MOST_CONTROL_READS, seconds=READ_SECONDS
            )
            folder = path.absolute().parent
            self._file_writer = SqliteWriter(writing, settings, statements, folder)
            self._connections = opened.pop_all()
        read_control = partial(self._file_reader.lookup, scans=self._control_scans)
        super().__init__(statements, self._file_reader, self._file_writer, read_control)

    @property
    @override
    def load(self) -> StoreLoad:
        return StoreLoad(self._file_writer.waiting, self._scans.load)

    @override
    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[SnapshotConnection]:
        snapshot = _SqliteSnapshot(self._open_walking())
        try:
            await snapshot.fetch(Query("BEGIN", ()))
            # a transaction sees what is committed at its first read
            await snapshot.fetch(Query("SELECT count(*) FROM sqlite_master", ()))
            yield snapshot
        finally:
            # cancelling the caller again must not drop work that its thread has not begun
            await asyncio.shield(asyncio.to_thread(snapshot.close))

    @override
    async def close(self) -> None:
        await self._file_writer.stop()
        await self._scans.stop()
        await self._control_scans.stop()
        self._file_reader.stop()
        self._connections.close()


class _SqliteSnapshot(SnapshotConnection):
    """A read transaction, on a connection and a thread of its own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="comptoir-snapshot")

    @override
    async def fetch(self, query: Query) -> list[Row]:
        return await self._run(lambda: self._connection.run(query))

    @override
    async def stream(self, query: Query) -> AsyncGenerator[list[Row], None]:
        cursor = await self._run(lambda: self._connection.execute(query.text, query.values))
        portion = Portion(SLICE_CHARACTERS, SLICE_ROWS)
        while rows := await self._run(lambda: portion.fetch(cursor)):
            yield rows

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except apsw.Error as error:
            raise refusal_of(error) from error

    def close(self) -> None:
        """Close the connection, and stop the statement that may still run after a cancellation."""
        last = self._thread.submit(bool)
        # a statement that has not begun does not notice a stop
        while wait([last], timeout=INTERRUPT_SECONDS).not_done:
            self._connection.stop()
        self._connection.close()
        self._thread.shutdown()
