"""Replica reads: a standby that follows the primary by streaming replication serves some reads.

A standby can be promoted, lag or hang, and one URL can lead to several. So before each statement,
on the same connection, a query returns whether the server is still a standby, and which changes of
the company it has replayed.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import (
    AbstractAsyncContextManager,
    ExitStack,
    aclosing,
    asynccontextmanager,
    suppress,
)
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

import asyncpg
from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import Company
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.plan.read import PagePlan, Row
from comptoir.sql.prepared import Prepared, Query
from comptoir.store.postgres.connection import (
    Connection,
    check_server,
    connect,
    connected,
    run_query,
)
from comptoir.store.postgres.errors import (
    DRIVER_ERRORS,
    DriverError,
    driver_message,
    is_lost,
    request_refusal,
)
from comptoir.store.postgres.reader import PoolReader, ReadPool, roll_back
from comptoir.store.store import NoteOutcome, Reader, Slices
from comptoir.store.urls import redacted

REACH_SECONDS = 1.0
"""Seconds in which a replica must accept a connection, or report its position."""

PAUSE_SECONDS = 5.0
"""Seconds for which reads avoid an unusable replica; then one read tries it."""

SERVED, BEHIND, FAILED, PAUSED = "replica", "behind", "failed", "paused"
"""The outcomes of a read that the replica may serve, as in the metrics."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Unserved(Exception):  # noqa: N818 - the primary serves the read instead
    """The replica does not serve a read: it is `BEHIND`, it `FAILED`, or reads are `PAUSED`."""


@dataclass(frozen=True, slots=True)
class System:
    """The identity of a primary, which its standbys share.

    `identifier` is None if the role lacks the privilege to read it.
    """

    identifier: int | None
    database: str


async def system_of(connection: Connection) -> System:
    """The system of a server; raises `DRIVER_ERRORS`."""
    database = str(await connection.fetchval("SELECT current_database()"))
    try:
        found = await connection.fetchval("SELECT system_identifier FROM pg_control_system()")
    except asyncpg.InsufficientPrivilegeError:
        found = None
    return System(found, database)


async def check_standby(connection: Connection, url: str, primary: System | None) -> None:
    """Raise `OperatorError` unless a server is a standby of the primary.

    With None, it may be a standby of any primary. Raises `DRIVER_ERRORS` too.
    """
    if not await check_server(connection, url):
        raise problems.NOT_A_STANDBY(url=redacted(url))
    system = await system_of(connection)
    if primary is None or system == primary:
        return
    if system.database != primary.database:
        raise problems.ANOTHER_DATABASE(
            url=redacted(url), name=system.database, primary=primary.database
        )
    if None not in (system.identifier, primary.identifier):
        raise problems.ANOTHER_PRIMARY(url=redacted(url))


async def check_replica(settings: Settings) -> None:
    """Raise `OperatorError` if the replica of the settings does not follow their database.

    The error is an `UnreachableError` if the replica may be available later. If the primary is
    unreachable, a standby of any primary passes.
    """
    primary: System | None = None
    with suppress(OperatorError):
        async with connected(settings, settings.database) as connection:
            primary = await system_of(connection)
    async with connected(settings, settings.read_database) as connection:
        await check_standby(connection, settings.read_database, primary)


class Replica:
    """The standby that the settings name.

    `position` is the query before each statement. `primary` returns the system of the primary, or
    None while that is unreachable.
    """

    def __init__(
        self,
        settings: Settings,
        position: Prepared,
        primary: Callable[[], Awaitable[System | None]],
    ) -> None:
        self.pool = ReadPool(self._connect, settings, settings.database_connections, REACH_SECONDS)
        self._settings = settings
        # PgBouncer may run each transaction on another server
        self._uses_transactions = not settings.statement_cache
        self._position = position
        self._primary = primary
        self._problem = ""
        self._tried_at = 0.0

    @asynccontextmanager
    async def acquired(self, company: Company, seen: int) -> AsyncIterator[Connection]:
        """Check out a connection to a state of a company that includes its change `seen`.

        Raises `Unserved`, and `DRIVER_ERRORS`.
        """
        # the first read after a pause tries the replica
        if self._problem and monotonic() < self._tried_at + PAUSE_SECONDS:
            raise Unserved(PAUSED)
        self._tried_at = monotonic()
        try:
            async with self.pool.acquired() as connection:
                try:
                    await self._check_position(connection, company, seen)
                    yield connection
                finally:
                    if self._uses_transactions:
                        await roll_back(connection)
        except Refusal as refusal:
            # all connections are in use
            raise Unserved(FAILED) from refusal

    def pause(self, problem: str) -> Unserved:
        """Let reads avoid the replica, and log that; returns what to raise."""
        if not self._problem:
            _log.warning(
                "reads go to the primary, because the replica cannot be used: %s. The next attempt "
                "is in %g s.",
                problem.removesuffix("."),
                PAUSE_SECONDS,
            )
        self._problem = problem
        self._tried_at = monotonic()
        return Unserved(FAILED)

    async def _check_position(self, connection: Connection, company: Company, seen: int) -> None:
        """Raise `Unserved` unless the server has replayed the company's change `seen`."""
        query = self._position.query(company.id)
        try:
            async with asyncio.timeout(REACH_SECONDS):
                if self._uses_transactions:
                    await connection.execute("BEGIN READ ONLY")
                rows = await run_query(connection, query)
        except TimeoutError as error:
            self.pool.drop(connection)
            raise self.pause(driver_message(error)) from error
        # the standby may not have replayed the creation of the company yet
        is_standby, incarnation, number = rows[0] if rows else (True, company.incarnation, -1)
        if not is_standby:
            self.pool.drop(connection)
            raise self.pause("it was promoted to a primary")
        if self._problem:
            self._problem = ""
            _log.warning("the replica can be used again")
        if incarnation != company.incarnation or int(number) < seen:
            raise Unserved(BEHIND)

    async def _connect(self) -> Connection:
        url, primary = self._settings.read_database, await self._primary()
        limits = {"seconds": REACH_SECONDS, "command_seconds": self._settings.scan_seconds}
        try:
            with ExitStack() as opening:
                async with asyncio.timeout(REACH_SECONDS):
                    connection = await connect(self._settings, url, **limits)
                    opening.callback(connection.terminate)
                    await check_standby(connection, url, primary)
                opening.pop_all()
        except OperatorError as error:
            raise self.pause(str(error)) from error
        except DRIVER_ERRORS as error:
            raise self.pause(driver_message(error)) from error
        return connection


class ReplicaReader(PoolReader):
    """Reads a company on the replica, in a state that includes its change `seen`.

    All methods also raise `Unserved`.
    """

    def __init__(self, replica: Replica, primary: PoolReader, company: Company, seen: int) -> None:
        super().__init__(replica.pool, primary.statements, primary.scheduler, primary.seconds)
        self._replica = replica
        self._company = company
        self.seen = seen

    @override
    async def _run(self, query: Query, seconds: float | None) -> list[Row]:
        async with self._connection() as connection:
            began = monotonic()
            try:
                return await run_query(connection, query, seconds)
            finally:
                if seconds is not None:
                    self._slow.record(query, monotonic() - began)

    @override
    def _connection(self) -> AbstractAsyncContextManager[Connection]:
        return self._replica.acquired(self._company, self.seen)

    @override
    def _refusal(self, error: DriverError) -> Exception:
        # a timeout or a value that cannot be computed would occur on the primary too
        if isinstance(error, TimeoutError) or request_refusal(error):
            return super()._refusal(error)
        # others might not occur there
        if is_lost(error):
            return self._replica.pause(driver_message(error))
        return Unserved(FAILED)


class FallbackReader(Reader):
    """Reads on the replica, and after the first read that it does not serve, on the primary.

    Each read of the replica checks the company's incarnation. `confirm` checks it on the primary,
    once, and raises `Renewed` if it is another one there.
    """

    def __init__(
        self,
        replica: ReplicaReader,
        primary: PoolReader,
        confirm: Callable[[], Awaitable[None]],
        note_outcome: NoteOutcome,
    ) -> None:
        self._replica = replica
        self._primary = primary
        self._confirm = confirm
        self._note_outcome = note_outcome
        self._uses_replica = True
        self._has_served = False
        self.scheduler = primary.scheduler

    @override
    def require(self, number: int) -> None:
        self._replica.seen = max(self._replica.seen, number)

    @override
    async def lookup(self, query: Query) -> list[Row]:
        return await self._read(lambda reader: reader.lookup(query))

    @override
    async def rows(self, query: Query) -> list[Row]:
        return await self._read(lambda reader: reader.rows(query))

    @override
    async def long_rows(self, query: Query) -> list[Row]:
        return await self._read(lambda reader: reader.long_rows(query))

    @override
    async def page(self, plan: PagePlan) -> Slices:
        # the primary continues where the replica stops
        if self._uses_replica:
            try:
                async with aclosing(self._replica.page(plan)) as slices:
                    async for rows in slices:
                        self._note_served()
                        left, last = plan.limit - len(rows), rows[-1]
                        yield rows
                        plan = plan.part(plan.keyset_after(last), left, 0)
                self._note_served()
                return
            except Unserved as error:
                await self._leave_replica(error)
        async with aclosing(self._primary.page(plan)) as slices:
            async for rows in slices:
                yield rows

    async def _read(self, read: Callable[[PoolReader], Awaitable[T]]) -> T:
        if self._uses_replica:
            try:
                found = await read(self._replica)
            except Unserved as error:
                await self._leave_replica(error)
            else:
                self._note_served()
                return found
        return await read(self._primary)

    async def _leave_replica(self, error: Unserved) -> None:
        self._uses_replica = False
        self._note_outcome(str(error))
        await self._confirm()

    def _note_served(self) -> None:
        if not self._has_served:
            self._has_served = True
            self._note_outcome(SERVED)
