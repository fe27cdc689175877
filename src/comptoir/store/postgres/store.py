"""The PostgreSQL store: connections to read on and connections to write on, each in a pool."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial

from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import Company, Model
from comptoir.errors import OperatorError, Refusal
from comptoir.sql.dialects.postgresql import POSTGRESQL
from comptoir.sql.statements import statements_of
from comptoir.store.event_loop import SliceScheduler
from comptoir.store.postgres.connection import connect
from comptoir.store.postgres.faults import FAULTS, refusal_of
from comptoir.store.postgres.gate import Gate, unfit
from comptoir.store.postgres.near import NearReader, NearReads, ReplicaReader
from comptoir.store.postgres.pool import Pool
from comptoir.store.postgres.reader import Reader
from comptoir.store.postgres.readiness import READINESS, check_readiness
from comptoir.store.postgres.replica import REACH_SECONDS, Replica, System, system_of
from comptoir.store.postgres.slow import SlowReads
from comptoir.store.postgres.snapshot import LONGEST_SECONDS, postgres_snapshot
from comptoir.store.postgres.statistics import Statistics
from comptoir.store.postgres.transactions import Transactions
from comptoir.store.postgres.writer import PostgresWriter
from comptoir.store.store import Noted, Reads, Renewed, SnapshotConnection, Store
from comptoir.store.urls import shown
from comptoir.store.watermarks import Watermarks
from comptoir.store.writer import Condition

COMMAND_SECONDS = 20.0
"""How long a statement may take that has no limit of its own: a database that hangs is told."""

LAST_SECONDS = 1.0
"""How long a stop waits for writes whose answers nobody waits for any more."""

WRITING_SHARE = 4
"""One connection of so many is kept for writes."""


class PostgresStore(Store):
    """Implements `Store` on a PostgreSQL database. To be used within one running event loop.

    Connections are opened when they are needed, so that it need not be there yet.
    """

    def __init__(self, settings: Settings, model: Model, noted: Noted) -> None:
        statements = statements_of(model, POSTGRESQL)
        connecting = partial(connect, settings, settings.database, seconds=settings.connect_seconds)
        opened = Gate(settings, partial(connecting, command_seconds=COMMAND_SECONDS))
        self._noted = noted
        self._name = shown(settings.database)
        self._known_system: System | None = None
        writing = max(settings.database_connections // WRITING_SHARE, 1)
        reading = max(settings.database_connections - writing, 1)
        self._reads = Pool(opened, reading, settings.connect_seconds)
        self._writes = Pool(opened, writing, settings.connect_seconds)
        slow = SlowReads(max(reading // 2, 1), settings.queued_scans)
        self._pool_reader = Reader(
            self._reads, statements.reads, slow, SliceScheduler(), settings.scan_seconds
        )
        self._replica: Replica | None = None
        if settings.read_database:
            self._replica = Replica(settings, statements.service.standing, self._system)
        condition, watermarks = Condition(), Watermarks()
        transactions = Transactions(
            self._writes,
            statements,
            condition,
            watermarks,
            lock_seconds=settings.lock_seconds,
        )
        self._pool_writer = PostgresWriter(transactions, settings.queued_writes)
        patient = partial(connecting, command_seconds=LONGEST_SECONDS)
        self._statistics = Statistics(patient)
        self._connect_patiently = patient
        super().__init__(statements, self._pool_reader, self._pool_writer, condition, watermarks)

    @override
    def replicated(self, company: Company, seen: int) -> Reads:
        if self._replica is None:
            return self
        primary = self._pool_reader
        nearest = ReplicaReader(self._replica, primary, company, seen)
        near = NearReader(nearest, primary, partial(self._confirm, company), self._noted)
        return NearReads(self._statements, near, self._indexing.note_search)

    @override
    def snapshot(self) -> AbstractAsyncContextManager[SnapshotConnection]:
        return postgres_snapshot(self._connect_patiently)

    async def _confirm(self, company: Company) -> None:
        """Raise `Renewed` unless the primary has a company, and under the same incarnation."""
        if await self.company(company.id) != company:
            raise Renewed(company.id)

    @override
    async def refresh_statistics(self, tables: Sequence[str]) -> None:
        await self._statistics.refresh(tables)

    @override
    async def check(self) -> None:
        (row,) = await self._pool_reader.lookup(READINESS)
        try:
            check_readiness(row, self._name)
        except OperatorError as fault:
            raise unfit(fault) from fault
        except FAULTS as fault:
            raise refusal_of(fault) from fault

    async def _system(self) -> System | None:
        """The system of the primary, which stays the same; None when it cannot be known now."""
        if self._known_system is None:
            with suppress(Refusal, *FAULTS):
                async with asyncio.timeout(REACH_SECONDS), self._reads.lent() as connection:
                    self._known_system = await system_of(connection)
        return self._known_system

    @override
    async def close(self) -> None:
        # units of indexing end with the writer, which waits for none when the database hangs
        await asyncio.gather(
            self._indexing.stop(), self._statistics.stop(), self._pool_writer.stop(LAST_SECONDS)
        )
        pools = [self._reads, self._writes]
        if self._replica is not None:
            pools.append(self._replica.pool)
        await asyncio.gather(*[each.close() for each in pools])
