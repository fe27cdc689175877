"""The PostgreSQL store: its pools, the check of the database, and the planner's statistics."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import count
from time import time

import asyncpg
from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import Company, Model
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.plan.read import Row
from comptoir.sql.dialects.postgresql import POSTGRESQL
from comptoir.sql.prepared import Query
from comptoir.sql.statements import statements_of
from comptoir.store.control import READ_SECONDS
from comptoir.store.postgres.connection import (
    Connection,
    Pool,
    check_ready,
    close,
    connect,
    run_query,
)
from comptoir.store.postgres.errors import DRIVER_ERRORS, refusal_of
from comptoir.store.postgres.reader import PoolReader, ReadPool, fetch_portion
from comptoir.store.postgres.replica_reads import (
    REACH_SECONDS,
    FallbackReader,
    Replica,
    ReplicaReader,
    System,
    system_of,
)
from comptoir.store.postgres.writer import PostgresWriter
from comptoir.store.refusals import database_failed
from comptoir.store.schema import check_state, state_of
from comptoir.store.store import (
    SLICE_ROWS,
    NoteOutcome,
    Reads,
    Renewed,
    SliceScheduler,
    SnapshotConnection,
    Store,
    StoreLoad,
)
from comptoir.store.urls import redacted

COMMAND_SECONDS = 20.0
"""Seconds after which other statements are cancelled, so that a server that hangs is noticed."""

LONG_COMMAND_SECONDS = 600.0
"""Seconds for a statement that may read a whole table: of a snapshot, or for statistics."""

STOP_SECONDS = 1.0
"""Seconds for which `close` waits for writes; their clients are already disconnected."""

WRITING_SHARE = 4
"""One in this number of connections is reserved for writes."""

READINESS = (
    "SELECT has_table_privilege('companies', 'SELECT'),"
    " current_setting('transaction_read_only') = 'on'"
)
"""Reads nothing of a distributed table, and neither does `state_of`.

On a cluster of Citus, a failed worker makes only its own companies unavailable. If this statement
read a company, all hosts would be unready, and a proxy would exclude them all.
"""

_BEGIN_SNAPSHOT = (
    # sent at once, so that a limit of the database does not end the transaction in between
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
    # the caller may write rows elsewhere between two statements, which takes long
    "SET LOCAL idle_in_transaction_session_timeout = 0;"
    # the first statement takes the snapshot
    "SELECT 1"
)

_log = logging.getLogger(__name__)


class PostgresStore(Store):
    """A store on a PostgreSQL database. The server may start after the service."""

    def __init__(
        self, settings: Settings, model: Model, note_outcome: NoteOutcome, *, is_checked: bool
    ) -> None:
        statements = statements_of(model, POSTGRESQL)
        connecting = partial(connect, settings, settings.database, seconds=settings.connect_seconds)
        self._settings = settings
        self._connect = partial(connecting, command_seconds=COMMAND_SECONDS)
        self._connect_for_long = partial(connecting, command_seconds=LONG_COMMAND_SECONDS)
        self._is_checked = is_checked
        self._checking: asyncio.Task[None] | None = None
        self._note_outcome = note_outcome
        self._name = redacted(settings.database)
        self._cached_system: System | None = None
        writing = max(settings.database_connections // WRITING_SHARE, 1)
        reading = max(settings.database_connections - writing, 1)
        seconds = settings.connect_seconds
        writes = Pool(self._connect_checked, writing, seconds)
        self._reads = ReadPool(self._connect_checked, settings, reading, seconds)
        # a connection of its own, so that reads never delay what is known of clients
        control = ReadPool(self._connect_checked, settings, 1, seconds)
        self._pools: list[Pool] = [writes, self._reads, control]
        self._pool_reader, control_reader = [
            PoolReader(each, statements.reads, SliceScheduler(), settings.scan_seconds)
            for each in (self._reads, control)
        ]
        self._replica: Replica | None = None
        if settings.read_database:
            self._replica = Replica(settings, statements.service.replica_state, self._system)
            self._pools.append(self._replica.pool)
        self._pool_writer = PostgresWriter(writes, settings, statements)
        read_control = partial(control_reader.lookup, seconds=READ_SECONDS)
        super().__init__(statements, self._pool_reader, self._pool_writer, read_control)

    @property
    @override
    def load(self) -> StoreLoad:
        return StoreLoad(
            self._pool_writer.waiting,
            self._reads.slow.load,
            sum(each.in_use for each in self._pools),
            sum(each.idle for each in self._pools),
        )

    @override
    def replicated(self, company: Company, seen: int) -> Reads:
        if self._replica is None:
            return self
        primary = self._pool_reader
        replica = ReplicaReader(self._replica, primary, company, seen)
        reader = FallbackReader(
            replica, primary, partial(self._confirm, company), self._note_outcome
        )
        return Reads(self.statements, reader)

    @override
    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[SnapshotConnection]:
        try:
            connection = await self._connect_for_long()
        except DRIVER_ERRORS as error:
            raise refusal_of(error) from error
        try:
            try:
                await connection.execute(_BEGIN_SNAPSHOT)
            except DRIVER_ERRORS as error:
                raise refusal_of(error) from error
            yield _PostgresSnapshot(connection)
        finally:
            # this ends the transaction and its cursors
            await close(connection)

    async def _confirm(self, company: Company) -> None:
        """Raise `Renewed` unless the company has the same incarnation on the primary."""
        if await self.company(company.id) != company:
            raise Renewed(company.id)

    @override
    async def refresh_statistics(self, tables: Sequence[str]) -> None:
        # a transaction with a conflicting lock analyzes the table too, or is about to change it
        statement = "ANALYZE (SKIP_LOCKED) " + ", ".join(f'"{each}"' for each in tables)
        # after a failure, autovacuum refreshes them
        with suppress(*DRIVER_ERRORS):
            # a connection of its own, so that no request waits for one
            connection = await self._connect_for_long()
            try:
                # outside a transaction, so that a table is locked only while it is analyzed
                await connection.execute(statement)
                await close(connection)
            finally:
                connection.terminate()

    @override
    async def check(self) -> None:
        state = await self.read(state_of("postgresql"))
        try:
            check_state(state, self._name)
        except OperatorError as error:
            raise _not_ready(error) from error
        ((may_read, is_read_only),) = await self._pool_reader.lookup(Query(READINESS, ()))
        if not may_read:
            raise refusal_of(
                asyncpg.InsufficientPrivilegeError("permission denied for table companies")
            )
        self.condition.read_only_at = time() if is_read_only else 0.0
        self.condition.note_catalog([state.catalog or ""], self.statements.model.source)

    async def _connect_checked(self) -> Connection:
        """Open a connection; checks server and schema first, until a check has succeeded.

        Concurrent callers share a check, so its failure is logged once. Raises `DRIVER_ERRORS`, and
        `Refusal` (503) if the check fails.
        """
        if not self._is_checked:
            if self._checking is None:
                self._checking = asyncio.create_task(self._check_ready())
                # asyncio would report an exception that no caller retrieves
                self._checking.add_done_callback(lambda task: task.cancelled() or task.exception())
            await asyncio.shield(self._checking)
        return await self._connect()

    async def _check_ready(self) -> None:
        try:
            await check_ready(self._settings, _log.warning)
            self._is_checked = True
        except OperatorError as error:
            if isinstance(error.__cause__, DRIVER_ERRORS):
                raise refusal_of(error.__cause__) from error
            raise _not_ready(error) from error
        finally:
            self._checking = None

    async def _system(self) -> System | None:
        """The system of the primary, or None while that is unreachable."""
        if self._cached_system is None:
            with suppress(Refusal, *DRIVER_ERRORS):
                async with asyncio.timeout(REACH_SECONDS), self._reads.acquired() as connection:
                    self._cached_system = await system_of(connection)
        return self._cached_system

    @override
    async def close(self) -> None:
        await self._pool_writer.stop(STOP_SECONDS)
        await asyncio.gather(*[each.close() for each in self._pools])


def _not_ready(error: OperatorError) -> Refusal:
    """503 for an error that the operator must fix; logs it."""
    _log.error("%s", error)
    return database_failed(rows.UNFIT_DATABASE)


class _PostgresSnapshot(SnapshotConnection):
    """A read-only transaction with the view of the database at its start."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers = count(1)

    @override
    async def fetch(self, query: Query) -> list[Row]:
        try:
            return await run_query(self._connection, query)
        except DRIVER_ERRORS as error:
            raise refusal_of(error) from error

    @override
    async def stream(self, query: Query) -> AsyncGenerator[list[Row], None]:
        # the planner optimizes a declared cursor for its first rows
        cursor = f"comptoir_{next(self._numbers)}"
        await self.fetch(Query(f"DECLARE {cursor} NO SCROLL CURSOR FOR {query.text}", query.values))

        async def fetch(number: int) -> list[Row]:
            return await self.fetch(Query(f"FETCH {number} FROM {cursor}", ()))

        is_last = False
        while not is_last:
            rows, is_last = await fetch_portion(fetch, SLICE_ROWS)
            if rows:
                yield rows
