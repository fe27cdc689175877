"""The PostgreSQL store: connections to read on and connections to write on, each in a pool."""

import asyncio
from functools import partial

from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.sql.statements import postgres_statements
from comptoir.store.postgres.connection import connect
from comptoir.store.postgres.gate import Gate
from comptoir.store.postgres.moment import LONGEST_SECONDS, postgres_moment
from comptoir.store.postgres.pool import Pool
from comptoir.store.postgres.reader import Reader
from comptoir.store.postgres.transactions import Transactions
from comptoir.store.postgres.writer import Writer
from comptoir.store.store import StatementStore

COMMAND_SECONDS = 60.0
"""How long a statement may take that has no limit of its own: a database that hangs is told."""

LAST_SECONDS = 1.0
"""How long a stop waits for writes whose answers nobody waits for any more."""

WRITING_SHARE = 4
"""One connection of so many is kept for writes."""


class PostgresStore(StatementStore):
    """Implements `Store` on a PostgreSQL database. To be used within one running event loop.

    Connections are opened when they are needed, so that it need not be there yet.
    """

    def __init__(self, settings: Settings, model: Model) -> None:
        statements = postgres_statements(model)
        connecting = partial(connect, settings, settings.database, seconds=settings.connect_seconds)
        opened = Gate(settings, partial(connecting, command_seconds=COMMAND_SECONDS))
        writing = max(settings.database_connections // WRITING_SHARE, 1)
        reading = max(settings.database_connections - writing, 1)
        self._reads = Pool(opened, reading, settings.connect_seconds)
        self._writes = Pool(opened, writing, settings.connect_seconds)
        reader = Reader(
            self._reads,
            statements.reads,
            slow=max(reading // 2, 1),
            most_waiting=settings.queued_scans,
            seconds=settings.scan_seconds,
        )
        transactions = Transactions(self._writes, statements, lock_seconds=settings.lock_seconds)
        self._pool_writer = Writer(transactions, settings.queued_writes)
        patient = partial(connecting, command_seconds=LONGEST_SECONDS)
        open_moment = partial(postgres_moment, patient)
        super().__init__(statements, reader, self._pool_writer, open_moment)

    @override
    async def close(self) -> None:
        # units of indexing end with the writer, which waits for none when the database hangs
        await asyncio.gather(self._following.stop(), self._pool_writer.stop(LAST_SECONDS))
        await asyncio.gather(self._reads.close(), self._writes.close())
