"""Distributes the tables over a cluster of Citus, company by company.

All tables are distributed by `company_id` and kept together ("colocated"), so that what belongs to
a company lies on one node, and each statement is that node's alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from comptoir.errors import OperatorError
from comptoir.sql.dialects.postgresql.routines import routine_statements
from comptoir.sql.tables import COMPANY_ID

MINIMUM_CITUS = 11
"""The first major version that brings functions to all nodes by itself."""

FIRST = "companies"
"""The table that the others are kept together with."""

ONE_BY_ONE = "SET LOCAL citus.multi_shard_modify_mode TO 'sequential'"
"""What a transaction begins with that makes functions and tables on all nodes."""

# asyncpg looks up any array type but texts (see sql/dialects/postgresql/arrays.py).
_EXTENSION = text("SELECT split_part(extversion, '-', 1) FROM pg_extension WHERE extname = 'citus'")
_PLACEMENTS = text(
    "SELECT relname, partmethod = 'h' AND column_to_column_name(logicalrelid, partkey) = :column,"
    " colocationid FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid"
    " WHERE pg_table_is_visible(logicalrelid) AND relname = ANY(CAST(:tables AS TEXT[]))"
)
_UNIQUE_ACROSS = text(
    "SELECT indexes.relname, tables.relname FROM pg_index"
    " JOIN pg_class AS indexes ON indexes.oid = indexrelid"
    " JOIN pg_class AS tables ON tables.oid = indrelid"
    " WHERE indisunique AND pg_table_is_visible(indrelid)"
    " AND tables.relname = ANY(CAST(:tables AS TEXT[]))"
    " AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = indrelid AND attname = :column"
    " AND attnum = ANY(indkey)) ORDER BY indexes.relname"
)


@dataclass(frozen=True, slots=True)
class Placement:
    """How a table is distributed: whether by company, and with which others it is kept together."""

    by_company: bool
    group: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a database says of Citus.

    `version` is that of the extension. `placements` has the tables that are distributed,
    `unique_across` the unique indexes, with their tables, that do not say of which company a value
    is.
    """

    version: str
    placements: Mapping[str, Placement]
    unique_across: Sequence[tuple[str, str]]

    @property
    def is_distributed(self) -> bool:
        """Whether the tables are distributed, or were before later revisions added some."""
        return FIRST in self.placements


def cluster_of(connection: Connection, tables: Sequence[str]) -> Cluster | None:
    """What a database says of Citus and of these tables; None where there is no Citus."""
    version = connection.scalar(_EXTENSION)
    if version is None:
        return None
    asked = {"tables": list(tables), "column": COMPANY_ID}
    return Cluster(
        version,
        {
            str(table): Placement(bool(by_company), int(group))
            for table, by_company, group in connection.execute(_PLACEMENTS, asked)
        },
        [(str(index), str(table)) for index, table in connection.execute(_UNIQUE_ACROSS, asked)],
    )


def check_cluster(cluster: Cluster | None, name: str) -> None:
    """Raise `OperatorError`, which calls the database by `name`, when Citus cannot be used."""
    if cluster is None:
        raise OperatorError(
            f"{name} lacks the extension citus. Install Citus on every node, and have an "
            "administrator run CREATE EXTENSION citus first, in this database on every node."
        )
    if int(cluster.version.partition(".")[0]) < MINIMUM_CITUS:
        raise OperatorError(
            f"{name} has Citus {cluster.version}; {MINIMUM_CITUS} or later is needed. Upgrade it "
            "on every node, then run ALTER EXTENSION citus UPDATE."
        )


def distribution(tables: Sequence[str], cluster: Cluster, name: str) -> list[str]:
    """The statements that distribute those tables that are not yet, in order.

    To be run in one transaction. Raises `OperatorError` when a table cannot be distributed, or is
    in another way.
    """
    group = cluster.placements[FIRST].group if cluster.is_distributed else None
    for table, placement in cluster.placements.items():
        if not placement.by_company or placement.group != group:
            raise OperatorError(
                f"the table {table} of {name} is distributed otherwise than by {COMPANY_ID} and "
                f"together with {FIRST}. Run SELECT undistribute_table('\"{table}\"') first."
            )
    missing = [table for table in tables if table not in cluster.placements]
    for index, table in cluster.unique_across:
        if table in missing:
            raise OperatorError(
                f"the unique index {index} on the table {table} of {name} is without "
                f"{COMPANY_ID}, which Citus does not keep. Drop it, or put {COMPANY_ID} in front."
            )
    statements: list[str] = []
    if not cluster.is_distributed:
        # those that were made before the extension are not on the other nodes
        statements += routine_statements()
        missing.sort(key=lambda table: table != FIRST)
    for table in missing:
        beside = "none" if table == FIRST else FIRST
        statements.append(
            f"SELECT create_distributed_table('\"{table}\"', '{COMPANY_ID}',"
            f" colocate_with => '{beside}')"
        )
    return statements
