"""All statements of one dialect, over one model."""

from dataclasses import dataclass
from functools import cache

from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from comptoir.edm.model import Model
from comptoir.sql.copying import CopyStatements
from comptoir.sql.dialects import Dialect
from comptoir.sql.functions import SQLITE
from comptoir.sql.indexing import IndexStatements
from comptoir.sql.likeness import LikenessIndex
from comptoir.sql.pipelines import PipelineStatements
from comptoir.sql.postgres import POSTGRES
from comptoir.sql.prepared import constant
from comptoir.sql.reads import ReadStatements
from comptoir.sql.related import RelatedStatements
from comptoir.sql.service_tables import ServiceStatements
from comptoir.sql.tables import Tables, build_tables
from comptoir.sql.trigrams import TrigramIndex
from comptoir.sql.writes import WriteStatements


@dataclass(frozen=True, eq=False, slots=True)
class Statements:
    """What a store needs to say to its database."""

    tables: Tables
    reads: ReadStatements
    related: RelatedStatements
    pipelines: PipelineStatements
    writes: WriteStatements
    service: ServiceStatements
    index: IndexStatements
    copying: CopyStatements


@cache
def sqlite_statements(model: Model) -> Statements:
    """The statements for SQLite, compiled once for all stores of a process."""
    compiler = SQLiteDialect(paramstyle="qmark")
    return _statements(model, Dialect(compiler, SQLITE, TrigramIndex(compiler), constant(-1)))


@cache
def postgres_statements(model: Model) -> Statements:
    """The statements for PostgreSQL, compiled once for all stores of a process."""
    compiler = PGDialect_asyncpg(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
    return _statements(model, Dialect(compiler, POSTGRES, LikenessIndex(), arrays=True))


def _statements(model: Model, dialect: Dialect) -> Statements:
    tables = build_tables(model)
    return Statements(
        tables,
        ReadStatements(model, tables, dialect),
        RelatedStatements(tables, dialect),
        PipelineStatements(tables, dialect),
        WriteStatements(model, tables, dialect),
        ServiceStatements(tables, dialect.compiler),
        IndexStatements(model, tables, dialect),
        CopyStatements(model, tables, dialect.compiler),
    )
