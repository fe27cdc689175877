"""Migrations of a PostgreSQL database, and its distribution with Citus.

A migration is one transaction that holds an advisory lock: if several hosts start at once, one
migrates and the others wait. No session state outlives it, so PgBouncer may be in between.

Indexes of a later catalog over columns that exist are built CONCURRENTLY, so that no writer waits:
before the other changes, on another connection, while the transaction only holds the lock. If that
is interrupted, the next migration removes what it does not need. Indexes over added columns are
built in the transaction: adding a column locks its table until the end anyway.

Citus distributes all tables by `company_id` and colocates them: a company is on one node, and each
statement runs on that node.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from unicodedata import unidata_version

import asyncpg
from sqlalchemy import Index
from sqlalchemy.schema import CreateIndex

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.errors import operator_rows as problems
from comptoir.sql.dialects.postgresql import POSTGRESQL
from comptoir.sql.dialects.postgresql.routines import routine_statements, routines_digest
from comptoir.sql.tables import COMPANY_ID, build_tables
from comptoir.store.growth import declared_sets
from comptoir.store.postgres.connection import (
    Connection,
    check_primary,
    connect,
    connected,
    run_steps,
)
from comptoir.store.postgres.errors import driver_message
from comptoir.store.revisions import check_growth, check_unique, declared_schema, upgrade
from comptoir.store.schema import HEAD, TEXT_INDEX, Report, SchemaState, state_of, store_state
from comptoir.store.urls import redacted

LOCK = 0x636F6D70746F6972
"""The advisory lock of a migration: "comptoir" in ASCII."""

TRIES = 20
"""Attempts to lock tables that others use."""

PAUSE_SECONDS = 1.0
"""Seconds between two attempts, in which other transactions get the locks."""

LOCK_PAUSE_SECONDS = 0.1
"""Seconds between two attempts to get the lock of a migration.

A statement that waits for it has a snapshot, for whose end another migration's build would wait.
"""

WITHOUT_LIMIT = "SET LOCAL idle_in_transaction_session_timeout TO 0"
"""Lets a transaction wait for the builds; a command without a snapshot, which ends the last one."""

MINIMUM_CITUS = 11
"""The first major version that creates functions on all nodes."""

FIRST = "companies"
"""The table that is distributed first, and with which the others are colocated."""

Placements = Mapping[str, tuple[bool, int]]
"""Distributed tables: whether by the company, and the group of colocated ones that each is in."""

SEQUENTIAL = "SET LOCAL citus.multi_shard_modify_mode TO 'sequential'"
"""Required in a transaction that creates functions and tables on all nodes."""

_OLDEST = (
    "SELECT pid, floor(extract(epoch FROM now() - xact_start))::BIGINT, application_name"
    " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND xact_start IS NOT NULL ORDER BY xact_start LIMIT 1"
)
_NO_EXTENSION = ("0A000", "25006", "42501", "58P01")
"""SQLSTATEs for an extension that is not installed, or that the role may not create."""

_TRIGRAMS = (
    "SELECT quote_ident(nspname) FROM pg_opclass JOIN pg_namespace"
    " ON pg_namespace.oid = opcnamespace WHERE opcname = 'gin_trgm_ops'"
)
# asyncpg looks up every array type except that of texts (sql/dialects/postgresql/__init__.py)
_EXTENSION = "SELECT split_part(extversion, '-', 1) FROM pg_extension WHERE extname = 'citus'"
_PLACEMENTS = (
    "SELECT relname, partmethod = 'h' AND column_to_column_name(logicalrelid, partkey) = $2,"
    " colocationid FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid"
    " WHERE pg_table_is_visible(logicalrelid) AND relname = ANY($1::TEXT[])"
)
_UNIQUE_ACROSS = (
    "SELECT indexes.relname, tables.relname FROM pg_index"
    " JOIN pg_class AS indexes ON indexes.oid = indexrelid"
    " JOIN pg_class AS tables ON tables.oid = indrelid"
    " WHERE indisunique AND pg_table_is_visible(indrelid) AND tables.relname = ANY($1::TEXT[])"
    " AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = indrelid AND attname = $2"
    " AND attnum = ANY(indkey)) ORDER BY indexes.relname"
)
_DROP = 'DROP INDEX CONCURRENTLY IF EXISTS "{}"'
_END_BUILD = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_progress_create_index"
    " WHERE index_relid = to_regclass('\"{}\"')"
)
_INDEXES = (
    "SELECT each.relname, string_agg(attname, ',' ORDER BY attnum) ||"
    " CASE WHEN NOT indisvalid THEN ' invalid' WHEN indpred IS NOT NULL THEN ' where' ELSE '' END"
    " FROM pg_class AS each JOIN pg_attribute ON attrelid = each.oid"
    " LEFT JOIN pg_index ON indexrelid = each.oid"
    " JOIN pg_class AS tables ON tables.oid = coalesce(indrelid, each.oid)"
    " WHERE pg_table_is_visible(tables.oid) AND tables.relname = ANY($1::TEXT[])"
    " AND (indrelid IS NULL OR each.relname ~ ('^[iu]x_' || tables.relname || '_[0-9]+$'))"
    " AND attnum > 0 AND NOT attisdropped"
    " GROUP BY 1, indisvalid, indpred IS NOT NULL"
)
"""The names of tables and their indexes, each with the columns (see `_definition`)."""


async def migrate_server(
    settings: Settings, model: Model, report: Report, *, distribute: bool = False
) -> str:
    """Upgrade a database to the current schema, and return its revision.

    With `distribute`, Citus distributes the tables; later migrations then distribute new tables
    too. Waits while another process migrates. Each attempt waits up to `lock_seconds` for the locks
    of tables, because other sessions wait meanwhile. Raises `OperatorError` if the database cannot
    be used or distributed, or has a newer schema.
    """
    url = settings.database
    async with connected(settings, url, takes_long=True) as connection:
        await check_primary(connection, url)
        name = redacted(url)
        return await _Migration(connection, settings, model, name, report, distribute).run()


@dataclass(frozen=True, slots=True)
class _Migration:
    """The steps of a migration; messages call the database `name`."""

    connection: Connection
    settings: Settings
    model: Model
    name: str
    report: Report
    distribute: bool

    async def run(self) -> str:
        """Migrate, again while others hold locks; returns the revision."""
        for _ in range(TRIES):
            try:
                async with self._locked():
                    await self._build_indexes()
                    return await self._upgrade()
            except asyncpg.LockNotAvailableError:
                oldest = ""
                if row := await self.connection.fetchrow(_OLDEST):
                    pid, seconds, application = row
                    application = application or "unnamed"
                    oldest = f" (the oldest transaction: process {pid}, {application}, {seconds} s)"
            self.report(
                f"{self.name}: other transactions hold locks that the migration needs{oldest}. "
                "Trying again."
            )
            await asyncio.sleep(PAUSE_SECONDS)
        raise problems.LOCKED_SCHEMA(name=self.name, oldest=oldest)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """A transaction that holds the migration's lock; waits while another process has it."""
        limits = (
            "SET LOCAL statement_timeout = 0;"
            f"SET LOCAL lock_timeout = {max(round(self.settings.lock_seconds * 1_000), 1)}"
        )
        waits = False
        while True:
            # a statement sees what was committed while the previous one waited for a lock
            async with self.connection.transaction(isolation="read_committed"):
                await self.connection.execute(limits)
                if await self.connection.fetchval(f"SELECT pg_try_advisory_xact_lock({LOCK})"):
                    yield
                    return
            if not waits:
                self.report(f"{self.name}: another process is migrating it. Waiting until it ends.")
            waits = True
            await asyncio.sleep(LOCK_PAUSE_SECONDS)

    async def _upgrade(self) -> str:
        """Run the steps within the transaction; returns the revision."""
        citus = await self.connection.fetchval(_EXTENSION)
        if self.distribute:
            check_citus(citus, self.name)
        if citus is not None:
            await self.connection.execute(SEQUENTIAL)
        steps = upgrade(self.model, self.name, POSTGRESQL.compiler)
        state = await run_steps(self.connection, steps)
        if state.revision == HEAD:
            await self._install_routines(state)
            await self._index_texts()
        if citus is not None:
            await self._distribute()
        return state.revision or ""

    async def _build_indexes(self) -> None:
        """Build the indexes that a later catalog has over columns that exist already.

        Raises `OperatorError`, and leaves none of them, if records break a new unique rule.
        """
        leftovers, missing = await self._compare_indexes()
        if not leftovers and not missing:
            return
        await self.connection.execute(WITHOUT_LIMIT)
        url, seconds = self.settings.database, self.settings.connect_seconds
        builder = await connect(self.settings, url, seconds=seconds)
        try:
            # PgBouncer would keep these for other sessions
            if self.settings.statement_cache:
                await builder.execute("SET statement_timeout TO 0; SET lock_timeout TO 0")
            for name in leftovers:
                # the server may still build it for a process that was killed
                await builder.execute(_END_BUILD.format(name))
                await builder.execute(_DROP.format(name))
            for number, index in enumerate(missing, 1):
                self.report(
                    f"{self.name}: building the index {index.name}. It waits for the transactions "
                    "that run now, and writers do not wait for it."
                )
                index.dialect_options["postgresql"]["concurrently"] = True
                try:
                    create = CreateIndex(index).compile(dialect=POSTGRESQL.compiler)
                    await builder.execute(str(create))
                except asyncpg.UniqueViolationError:
                    for each in missing[:number]:
                        await builder.execute(_DROP.format(each.name))
                    await run_steps(self.connection, check_unique(index, POSTGRESQL.compiler))
                    raise
        finally:
            builder.terminate()

    async def _compare_indexes(self) -> tuple[list[str], list[Index]]:
        """The names of indexes that an interrupted migration has left, and the indexes to build.

        There are none on Citus, or in a schema that lacks revisions.
        """
        state = await run_steps(self.connection, state_of("postgresql"))
        if state.revision != HEAD:
            return [], []
        if await self.connection.fetchval(_EXTENSION) and await self._placements([FIRST]):
            return [], []
        check_growth(state, self.model, self.name)
        declared = declared_schema(self.model).tables
        # the sets of a base have their indexes
        own = declared_sets(self.model.source)
        tables = [declared[each.name] for each in self.model.stored if each.name in own]
        rows = await self.connection.fetch(_INDEXES, [each.name for each in tables])
        found = {str(name): str(columns) for name, columns in rows}
        wanted = {str(index.name): _definition(index) for each in tables for index in each.indexes}
        leftovers = [
            name
            for name in found.keys() - {each.name for each in tables}
            if found[name] != wanted.get(name)
        ]
        missing = [
            index
            for each in tables
            # unique ones first, which records may break
            for index in sorted(each.indexes, key=lambda index: not index.unique)
            if found.get(str(index.name)) != wanted[str(index.name)]
            and {*index.columns.keys()}.issubset(found.get(each.name, "").split(","))
        ]
        return leftovers, missing

    async def _install_routines(self, state: SchemaState) -> None:
        """Install the routines unless the database has them, by their digest."""
        digest = routines_digest(HEAD)
        if state.routines == digest:
            return
        for statement in routine_statements():
            await self.connection.execute(statement)
        if state.unicode not in (None, unidata_version):
            # the rules of case folding have changed, so all documents must be indexed again
            await self.connection.execute("UPDATE search_marks SET layout = ''")
        # the routines contain the case mappings of this Python
        recorded = store_state(POSTGRESQL.compiler, routines=digest, unicode=unidata_version)
        await run_steps(self.connection, recorded)

    async def _index_texts(self) -> None:
        """Create the text index if it is missing and the extension for it is available."""
        if await self.connection.fetchval(f"SELECT to_regclass('{TEXT_INDEX}') IS NOT NULL"):
            return
        try:
            async with self.connection.transaction():
                await self.connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
                schema = await self.connection.fetchval(_TRIGRAMS)
                await self.connection.execute(
                    f"CREATE INDEX {TEXT_INDEX} ON search_documents"
                    f" USING gin (folded {schema}.gin_trgm_ops)"
                )
        except asyncpg.PostgresError as error:
            if error.sqlstate not in _NO_EXTENSION:
                raise
            self.report(
                f"{self.name}: searches read all texts, because the extension pg_trgm is not "
                f"available ({driver_message(error)}). Have an administrator run CREATE EXTENSION "
                "pg_trgm, then run `comptoir migrate` again."
            )

    async def _distribute(self) -> None:
        """Distribute the tables that are not, if that is wanted or others are."""
        tables = list(build_tables(self.model).metadata.tables)
        placements = await self._placements(tables)
        if not self.distribute and FIRST not in placements:
            return
        missing = [each for each in tables if each not in placements]
        unsuitable = await self.connection.fetchrow(_UNIQUE_ACROSS, missing, COMPANY_ID)
        check_placements(placements, self.name)
        if unsuitable:
            index, table = unsuitable
            raise problems.INDEX_WITHOUT_COMPANY(
                index=index, table=table, name=self.name, column=COMPANY_ID
            )
        for statement in distribution(missing):
            await self.connection.execute(statement)
        if missing:
            self.report(f"{self.name}: its tables are distributed by {COMPANY_ID}.")

    async def _placements(self, tables: Sequence[str]) -> Placements:
        rows = await self.connection.fetch(_PLACEMENTS, tables, COMPANY_ID)
        return {table: (by_company, group) for table, by_company, group in rows}


def _definition(index: Index) -> str:
    """The columns of a valid index, and whether it has a condition, as `_INDEXES` returns them."""
    has_condition = index.dialect_options["postgresql"]["where"] is not None
    return ",".join(index.columns.keys()) + " where" * has_condition


def check_citus(version: str | None, name: str) -> None:
    """Raise `OperatorError` if Citus is missing or too old; it calls the database `name`."""
    if version is None:
        raise problems.NO_CITUS(name=name)
    if int(version.partition(".")[0]) < MINIMUM_CITUS:
        raise problems.OLD_CITUS(name=name, version=version, least=MINIMUM_CITUS)


def check_placements(placements: Placements, name: str) -> None:
    """Raise `OperatorError` if a table is not distributed as the others are."""
    expected = (True, placements[FIRST][1]) if FIRST in placements else None
    for table, placement in placements.items():
        if placement != expected:
            raise problems.NOT_DISTRIBUTED(table=table, name=name, column=COMPANY_ID, first=FIRST)


def distribution(missing: Sequence[str]) -> Iterator[str]:
    """The statements that distribute tables, in this order, in one transaction."""
    if FIRST in missing:
        # routines that were created before the extension exist on the coordinator only
        yield from routine_statements()
    for table in sorted(missing, key=lambda table: table != FIRST):
        colocated = "none" if table == FIRST else FIRST
        yield (
            f"SELECT create_distributed_table('\"{table}\"', '{COMPANY_ID}',"
            f" colocate_with => '{colocated}')"
        )
