"""A replica: a standby that follows the database by streaming replication, for reads that may lag.

Nothing is taken on trust. Before each statement, on the same connection, the server says whether
it is a standby still and how far it is with the company: it may have been promoted, hang, or be
another one of several behind the same URL.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from time import monotonic

import asyncpg
from asyncpg.transaction import Transaction

from comptoir.config import Settings
from comptoir.edm.model import Company
from comptoir.errors import OperatorError, Refusal
from comptoir.sql.prepared import Prepared
from comptoir.store.postgres.connection import Connection, check_server, connect
from comptoir.store.postgres.faults import FAULTS, Fault, is_cut, operator_error_of, words
from comptoir.store.postgres.pool import Pool
from comptoir.store.postgres.session import run_query
from comptoir.store.postgres.slow import SlowReads
from comptoir.store.urls import shown

REACH_SECONDS = 1.0
"""How long a replica may take to take a connection, or to say how far it is."""

PAUSE_SECONDS = 5.0
"""How long reads stay away from a replica that cannot be used, until one of them tries it."""

SERVED, BEHIND, FAILED, PAUSED = "replica", "behind", "failed", "paused"
"""What becomes of a read that a replica may answer."""

_log = logging.getLogger(__name__)


class Unserved(Exception):  # noqa: N818 - the primary answers instead
    """A replica does not answer a read: it is `BEHIND`, it `FAILED`, or reads have `PAUSED`."""

    def __init__(self, outcome: str) -> None:
        super().__init__(outcome)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class System:
    """What a server and its standbys have in common; no identifier when the server keeps it."""

    identifier: int | None
    database: str


async def system_of(connection: Connection) -> System:
    """The system at the other end of a connection; raises `FAULTS`."""
    database = str(await connection.fetchval("SELECT current_database()"))
    try:
        found = await connection.fetchval("SELECT system_identifier FROM pg_control_system()")
    except asyncpg.InsufficientPrivilegeError:
        found = None
    return System(found, database)


async def check_standby(connection: Connection, url: str, primary: System | None) -> None:
    """Raise `OperatorError` unless a server is a standby of the primary, as far as that is known.

    Raises `FAULTS` too.
    """
    await check_server(connection, url, writes=False)
    if not await connection.fetchval("SELECT pg_is_in_recovery()"):
        raise OperatorError(
            f"{shown(url)} is no standby: nothing keeps it up to date. Name one that follows the "
            "database by streaming replication, or leave read_database out."
        )
    system = await system_of(connection)
    if primary is None or system == primary:
        return
    if system.database != primary.database:
        raise OperatorError(
            f"{shown(url)} is the database {system.database}, not {primary.database} as on the "
            "primary. Correct the name in the URL."
        )
    if None not in (system.identifier, primary.identifier):
        raise OperatorError(
            f"{shown(url)} is a standby of another server than the database's. Name one of its own."
        )


async def check_replica(settings: Settings) -> None:
    """Raise `OperatorError` when the replica of the settings is none of their database.

    `UnreachableError` when it may be later. A primary that cannot be reached tells nothing.
    """
    url = settings.read_database
    primary: System | None = None
    with suppress(*FAULTS):
        async with _connected(settings, settings.database) as connection:
            primary = await system_of(connection)
    try:
        async with _connected(settings, url) as connection:
            await check_standby(connection, url, primary)
    except FAULTS as fault:
        raise operator_error_of(url, fault) from fault


@asynccontextmanager
async def _connected(settings: Settings, url: str) -> AsyncIterator[Connection]:
    seconds = settings.connect_seconds
    connection = await connect(settings, url, seconds=seconds, command_seconds=seconds)
    try:
        yield connection
    finally:
        connection.terminate()


class Replica:
    """Lends connections to the standby that the settings name, as long as it can be used.

    `standing` asks a standby how far it is with a company, `primary` tells the primary's system, or
    None when that cannot be known now.
    """

    def __init__(
        self,
        settings: Settings,
        standing: Prepared,
        primary: Callable[[], Awaitable[System | None]],
    ) -> None:
        most = settings.database_connections
        self.pool = Pool(self._opened, most, REACH_SECONDS)
        self.slow = SlowReads(max(most // 2, 1), settings.queued_scans)
        self._settings = settings
        self._standing = standing
        self._primary = primary
        self._fault = ""
        self._tried_at = 0.0

    @asynccontextmanager
    async def lent(self, company: Company, seen: int) -> AsyncIterator[Connection]:
        """A connection on which a company is read as it was after its change `seen`, or later.

        Raises `Unserved`, and `FAULTS`, of which `fault_of` makes it.
        """
        self._turn()
        try:
            connection = await self.pool.take()
        except Refusal as refusal:
            # all of them are in use
            raise Unserved(FAILED) from refusal
        # PgBouncer may hand each transaction to another server
        together = None if self._settings.statement_cache else connection.transaction(readonly=True)
        try:
            await self._check(connection, together, company, seen)
            yield connection
        except FAULTS as fault:
            if is_cut(fault):
                self.pool.cut(connection)
            raise
        finally:
            if together is not None:
                await _end(connection, together)
            self.pool.give_back(connection)

    def fault_of(self, fault: Fault) -> Unserved:
        """What is made of a fault of a statement that the primary may not have."""
        if is_cut(fault):
            return self._away(words(fault))
        return Unserved(FAILED)

    def _turn(self) -> None:
        """Raise `Unserved` while reads stay away; after the pause the first one tries again."""
        if not self._fault:
            return
        now = monotonic()
        if now < self._tried_at + PAUSE_SECONDS:
            raise Unserved(PAUSED)
        self._tried_at = now

    def _away(self, reason: str) -> Unserved:
        """Let reads stay away from now on."""
        if not self._fault:
            _log.warning(
                "reads go to the primary, since the replica cannot be used: %s. It is tried again "
                "every %g s.",
                reason.removesuffix("."),
                PAUSE_SECONDS,
            )
        self._fault = reason
        self._tried_at = monotonic()
        return Unserved(FAILED)

    def _back(self) -> None:
        if self._fault:
            self._fault = ""
            _log.warning("the replica can be used again")

    async def _check(
        self,
        connection: Connection,
        together: Transaction | None,
        company: Company,
        seen: int,
    ) -> None:
        """Raise `Unserved` unless what is read next on a connection is recent enough."""
        query = self._standing.query(company.id)
        try:
            async with asyncio.timeout(REACH_SECONDS):
                if together is not None:
                    await together.start()
                rows = await run_query(connection, query)
        except TimeoutError as fault:
            self.pool.cut(connection)
            raise self._away(words(fault)) from fault
        # a company that was made a moment ago may not have come yet
        is_standby, incarnation, number = rows[0] if rows else (True, company.incarnation, -1)
        if not is_standby:
            self.pool.cut(connection)
            raise self._away("it has been promoted, and is no standby any more")
        self._back()
        if incarnation != company.incarnation or int(number) < seen:
            raise Unserved(BEHIND)

    async def _opened(self) -> Connection:
        url, primary = self._settings.read_database, await self._primary()
        longest = self._settings.scan_seconds
        try:
            async with asyncio.timeout(REACH_SECONDS):
                connection = await connect(
                    self._settings, url, seconds=REACH_SECONDS, command_seconds=longest
                )
                with _cut_unless_done(connection):
                    await check_standby(connection, url, primary)
        except OperatorError as fault:
            raise self._away(str(fault)) from fault
        except FAULTS as fault:
            raise self._away(words(fault)) from fault
        return connection


@contextmanager
def _cut_unless_done(connection: Connection) -> Iterator[None]:
    done = False
    try:
        yield
        done = True
    finally:
        if not done:
            connection.terminate()


async def _end(connection: Connection, transaction: Transaction) -> None:
    """End a transaction that has only read, however it went."""
    try:
        if not connection.is_closed() and connection.is_in_transaction():
            await transaction.rollback()
    except FAULTS:
        connection.terminate()
