"""Brings a database on PostgreSQL to the current schema, and tells whether it has it.

Whoever migrates does all in one transaction, which holds an advisory lock: of several hosts that
start at once one migrates, and the others find it done. Nothing outlives the transaction, so that
it may go through PgBouncer.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from unicodedata import unidata_version

import asyncpg
from sqlalchemy import Connection, func, select, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.errors import OperatorError
from comptoir.sql.dialects.postgresql.routines import routine_statements
from comptoir.sql.tables import COMPANY_ID, build_tables
from comptoir.store.postgres import connection as driver
from comptoir.store.postgres.distributing import (
    ONE_BY_ONE,
    check_cluster,
    cluster_of,
    distribution,
)
from comptoir.store.postgres.faults import FAULTS, operator_error_of, words
from comptoir.store.postgres.url import check_url
from comptoir.store.schema import (
    LIKENESS_INDEX,
    SchemaState,
    Tell,
    check_state,
    keep,
    revisions,
    state_of,
)
from comptoir.store.urls import shown

LOCK = 0x636F6D70746F6972
"""The advisory lock of whoever migrates a database: "comptoir" in ASCII."""

TRIES = 20
"""How often a migration asks for the locks of tables that others use."""

PAUSE_SECONDS = 1.0
"""How long others have their turn before it asks again."""

_OLDEST = text(
    "SELECT pid, floor(extract(epoch FROM now() - xact_start))::BIGINT, application_name"
    " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND xact_start IS NOT NULL ORDER BY xact_start LIMIT 1"
)
_NO_EXTENSION = ("0A000", "25006", "42501", "58P01")
"""SQLSTATEs of an extension that is not installed, or may not be created."""

_TRIGRAMS = text(
    "SELECT quote_ident(nspname) FROM pg_opclass JOIN pg_namespace"
    " ON pg_namespace.oid = opcnamespace WHERE opcname = 'gin_trgm_ops'"
)


async def migrate_server(
    settings: Settings, model: Model, tell: Tell, *, distribute: bool = False
) -> str:
    """Bring a database up to date, and give its schema's revision.

    With `distribute` its tables are distributed over a cluster of Citus; once they are, so are
    those that later revisions add. It waits for as long as another process migrates. For locks of
    tables it waits in turns of `lock_seconds`, since everybody else queues behind it meanwhile.
    `tell` hears of both. Raises `OperatorError` when the database cannot be used or distributed, or
    when its schema is too new.
    """
    url = settings.database
    work = partial(
        _bring_up_to_date, settings=settings, model=model, tell=tell, distribute=distribute
    )
    async with opened(settings, url, writes=True) as connection:
        for _ in range(TRIES):
            try:
                async with connection.begin():
                    return await connection.run_sync(work)
            except DBAPIError as fault:
                if not isinstance(_cause(fault), asyncpg.LockNotAvailableError):
                    raise
            oldest = await connection.run_sync(_oldest_transaction)
            tell(f"{shown(url)}: others hold locks that the migration needs{oldest}. Trying again.")
            await asyncio.sleep(PAUSE_SECONDS)
    raise OperatorError(
        f"cannot bring {shown(url)} up to date: others hold locks that the migration needs"
        f"{oldest}. End their transactions, or wait for them."
    )


async def check_database(settings: Settings, url: str, tell: Tell, *, writes: bool = True) -> None:
    """Raise `OperatorError` when a database cannot be served: its server, its schema.

    `UnreachableError` when it may be later. `tell` hears of what does not keep it from being
    served.
    """
    async with opened(settings, url, writes=writes) as connection:
        state = await connection.run_sync(state_of)
    check_state(state, shown(url))
    if state.revision == revisions().head and state.unicode != unidata_version:
        tell(
            f"{shown(url)} changes the case of texts by Unicode {state.unicode}, and this program "
            f"by {unidata_version}. Run `comptoir migrate` when all hosts have this Python."
        )


@asynccontextmanager
async def opened(settings: Settings, url: str, *, writes: bool) -> AsyncIterator[AsyncConnection]:
    """A connection to a server that can serve; what goes wrong becomes an `OperatorError`."""

    async def checked() -> driver.Connection:
        connection = await driver.connect(settings, url, seconds=settings.connect_seconds)
        try:
            await driver.check_server(connection, url, writes=writes)
        except OperatorError:
            connection.terminate()
            raise
        return connection

    def adapted() -> DBAPIConnection:
        # the name of a prepared statement would stay behind on a server of PgBouncer's
        made: DBAPIConnection = engine.dialect.loaded_dbapi.connect(
            async_creator_fn=checked,
            prepared_statement_cache_size=0,
            prepared_statement_name_func=str,
        )
        return made

    check_url(url)
    engine: AsyncEngine = create_async_engine(
        "postgresql+asyncpg://",
        creator=adapted,
        poolclass=NullPool,
        # a statement sees what was committed while the one before it waited for a lock
        isolation_level="READ COMMITTED",
    )
    try:
        async with engine.connect() as connection:
            yield connection
    except DBAPIError as fault:
        cause = _cause(fault)
        if isinstance(cause, FAULTS):
            raise operator_error_of(url, cause) from cause
        raise OperatorError(f"cannot use the database {shown(url)}: {fault.orig}.") from fault
    except FAULTS as fault:
        raise operator_error_of(url, fault) from fault


def _cause(fault: DBAPIError) -> BaseException | None:
    """The driver's own exception."""
    return None if fault.orig is None else fault.orig.__cause__


def _bring_up_to_date(
    connection: Connection, *, settings: Settings, model: Model, tell: Tell, distribute: bool
) -> str:
    name = shown(settings.database)
    _limit(connection, "statement_timeout", 0)
    _limit(connection, "lock_timeout", 0)
    if not connection.scalar(select(func.pg_try_advisory_xact_lock(LOCK))):
        tell(f"{name}: another process migrates it. Waiting until that is done.")
        connection.execute(select(func.pg_advisory_xact_lock(LOCK)))
    _limit(connection, "lock_timeout", settings.lock_seconds)
    tables = list(build_tables(model).metadata.tables)
    cluster = cluster_of(connection, tables)
    if distribute:
        check_cluster(cluster, name)
    if cluster is not None:
        connection.exec_driver_sql(ONE_BY_ONE)
    from comptoir.store.upgrading import upgrade  # noqa: PLC0415 - brings Alembic

    state = upgrade(connection, model, name)
    if state.revision == revisions().head:
        _put_routines(connection, state)
        _index_likeness(connection, name, tell)
    if cluster is not None and (distribute or cluster.is_distributed):
        _distribute(connection, tables, name, tell)
    return state.revision or ""


def _distribute(connection: Connection, tables: Sequence[str], name: str, tell: Tell) -> None:
    """Distribute the tables that are not yet."""
    cluster = cluster_of(connection, tables)
    statements = [] if cluster is None else distribution(tables, cluster, name)
    for statement in statements:
        connection.exec_driver_sql(statement)
    if statements:
        tell(f"{name}: its tables are distributed by {COMPANY_ID}.")


def _limit(connection: Connection, name: str, seconds: float) -> None:
    """Set a limit of time until the transaction ends; 0 is none."""
    connection.execute(select(func.set_config(name, f"{seconds * 1000:.0f}ms", True)))


def _put_routines(connection: Connection, state: SchemaState) -> None:
    """Put the routines in, unless they are the same already."""
    statements = routine_statements()
    digest = sha256("\n".join(statements).encode()).hexdigest()
    if state.routines != digest:
        for statement in statements:
            connection.exec_driver_sql(statement)
        if state.unicode not in (None, unidata_version):
            # texts are folded by other rules from now on, and so every document is made anew
            connection.execute(text("UPDATE search_marks SET layout = ''"))
        # they hold the rules of case of the Python that puts them in
        keep(connection, routines=digest, unicode=unidata_version)


def _index_likeness(connection: Connection, name: str, tell: Tell) -> None:
    """Make the index of searches, unless it is there, where the extension for it can be had."""
    if connection.scalar(select(func.to_regclass(LIKENESS_INDEX))) is not None:
        return
    try:
        with connection.begin_nested():
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
            schema = connection.scalar(_TRIGRAMS)
            connection.execute(
                text(
                    f"CREATE INDEX {LIKENESS_INDEX} ON search_documents"
                    f" USING gin (folded {schema}.gin_trgm_ops)"
                )
            )
    except DBAPIError as fault:
        cause = _cause(fault)
        if not isinstance(cause, asyncpg.PostgresError) or cause.sqlstate not in _NO_EXTENSION:
            raise
        tell(
            f"{name}: searches read all texts, since the extension pg_trgm cannot be had "
            f"({words(cause)}). Have an administrator run CREATE EXTENSION pg_trgm, then "
            "`comptoir migrate` again."
        )


def _oldest_transaction(connection: Connection) -> str:
    row = connection.execute(_OLDEST).first()
    connection.rollback()
    if row is None:
        return ""
    pid, seconds, application = row
    return f" (the oldest transaction: process {pid}, {application or 'unnamed'}, {seconds} s)"
