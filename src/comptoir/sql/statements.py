"""All statements of one dialect, over one model."""

from dataclasses import dataclass

from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.engine import Dialect

from comptoir.edm.model import Model
from comptoir.sql.functions import SQLITE, FunctionTable
from comptoir.sql.indexing import IndexStatements
from comptoir.sql.pipelines import PipelineStatements
from comptoir.sql.reads import ReadStatements
from comptoir.sql.related import RelatedStatements
from comptoir.sql.service_tables import ServiceStatements
from comptoir.sql.tables import Tables, build_tables
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


def sqlite_statements(model: Model) -> Statements:
    """The statements for SQLite."""
    return _statements(model, SQLiteDialect(paramstyle="qmark"), SQLITE)


def _statements(model: Model, dialect: Dialect, functions: FunctionTable) -> Statements:
    tables = build_tables(model)
    return Statements(
        tables,
        ReadStatements(model, tables, dialect, functions),
        RelatedStatements(tables, dialect, functions),
        PipelineStatements(tables, dialect, functions),
        WriteStatements(model, tables, dialect),
        ServiceStatements(tables, dialect),
        IndexStatements(model, tables, dialect, functions),
    )
