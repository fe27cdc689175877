"""All statements of a dialect over a model."""

from dataclasses import dataclass
from functools import cache

from comptoir.edm.model import Model
from comptoir.sql.copying import CopyStatements
from comptoir.sql.dialects import Dialect
from comptoir.sql.pipelines import PipelineStatements
from comptoir.sql.reads import ReadStatements
from comptoir.sql.related import RelatedStatements
from comptoir.sql.service_tables import ServiceStatements
from comptoir.sql.tables import Tables, build_tables
from comptoir.sql.text_index import TextIndexStatements
from comptoir.sql.writes import WriteStatements


@dataclass(frozen=True, eq=False, slots=True)
class Statements:
    """The statements that a store sends to its database."""

    tables: Tables
    reads: ReadStatements
    related: RelatedStatements
    pipelines: PipelineStatements
    writes: WriteStatements
    service: ServiceStatements
    index: TextIndexStatements
    copying: CopyStatements


@cache
def statements_of(model: Model, dialect: Dialect) -> Statements:
    """The statements over a model in a dialect, compiled once for all stores of a process."""
    tables = build_tables(model)
    return Statements(
        tables,
        ReadStatements(model, tables, dialect),
        RelatedStatements(tables, dialect),
        PipelineStatements(tables, dialect),
        WriteStatements(model, tables, dialect),
        ServiceStatements(tables, dialect.compiler),
        TextIndexStatements(model, tables, dialect),
        CopyStatements(model, tables, dialect.compiler),
    )
