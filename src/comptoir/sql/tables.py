"""The tables: one for each stored entity set, and those of the service itself.

Every primary key begins with the company, the unit of isolation, distribution and backup.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
)
from sqlalchemy.sql.type_api import TypeEngine

from comptoir.edm.model import EntitySet, Model, Property
from comptoir.edm.numbers import DecimalNumber, Int32
from comptoir.edm.types import Boolean
from comptoir.sql.column_types import company_key, text, whole

COMPANY_ID = "company_id"
VERSION = "record_version"


@dataclass(frozen=True, eq=False, slots=True)
class Records:
    """The table of an entity set, and the column of each property in order."""

    table: Table
    columns: Mapping[str, Column[str | int]]


@dataclass(frozen=True, eq=False, slots=True)
class Tables:
    """All tables: the records of every entity set, and those of the service itself.

    `changes` is the change log, `loads` the progress of loads, `repeats` the outcomes of repeatable
    writes, `copies` the progress of copies and deletions of companies. `search_marks` and
    `search_documents` are the text index.
    """

    metadata: MetaData
    records: Mapping[str, Records]
    companies: Table
    changes: Table
    loads: Table
    repeats: Table
    copies: Table
    search_marks: Table
    search_documents: Table

    def names_of_unique(self, name: str) -> list[str]:
        """The columns of a unique constraint or index, empty if the name is unknown."""
        for table in self.metadata.tables.values():
            if table.primary_key.name == name:
                return [column.name for column in table.primary_key.columns]
            for index in table.indexes:
                if index.name == name:
                    return [column.name for column in index.columns]
        return []


def build_tables(model: Model) -> Tables:
    """Derive the tables from the model; equal models give equal tables."""
    metadata = MetaData()
    records: dict[str, Records] = {}
    for entity_set in model.sets:
        if entity_set.view is None:
            records[entity_set.name] = _records(metadata, entity_set)
    for entity_set in model.sets:
        if entity_set.view is not None:
            base = records[entity_set.view.base]
            columns = {
                each.name: base.columns[entity_set.view.columns[each.name]]
                for each in entity_set.type.properties
            }
            records[entity_set.name] = Records(base.table, columns)
    return Tables(
        metadata,
        records,
        metadata.tables["companies"],
        _changes(metadata),
        _loads(metadata),
        _repeats(metadata),
        _copies(metadata),
        _search_marks(metadata),
        _search_documents(metadata),
    )


def _records(metadata: MetaData, entity_set: EntitySet) -> Records:
    entity_type = entity_set.type
    columns = {each.name: _column(each) for each in entity_type.properties}
    version = Column(VERSION, BigInteger, nullable=False)
    if not entity_set.per_company:
        columns[entity_type.key] = Column(COMPANY_ID, company_key(), nullable=False)
        table = Table(
            entity_set.name,
            metadata,
            *columns.values(),
            version,
            Column("incarnation", text(32), nullable=False),
            Column("change_number", BigInteger, nullable=False),
            Column("changed_at", text(24), nullable=False),
            PrimaryKeyConstraint(COMPANY_ID, name=f"pk_{entity_set.name}"),
        )
        return Records(table, columns)
    company = Column(COMPANY_ID, text(36), nullable=False)
    table = Table(
        entity_set.name,
        metadata,
        company,
        version,
        *columns.values(),
        PrimaryKeyConstraint(COMPANY_ID, entity_type.key, name=f"pk_{entity_set.name}"),
    )
    for number, rule in enumerate(entity_type.unique):
        condition = columns[rule.properties[0]] != "" if rule.blank_is_free else None
        Index(
            f"ux_{entity_set.name}_{number}",
            company,
            *(columns[name] for name in rule.properties),
            unique=True,
            sqlite_where=condition,
        )
    for number, names in enumerate(entity_type.indexes):
        # the key at the end lets a page be read in key order without sorting
        Index(
            f"ix_{entity_set.name}_{number}",
            company,
            *(columns[name] for name in names),
            columns[entity_type.key],
        )
    return Records(table, columns)


def _column(each: Property) -> Column[str | int]:
    return Column(each.name, _column_type(each), nullable=False)


def _column_type(each: Property) -> TypeEngine[str | int]:
    column_type: TypeEngine[str] | TypeEngine[int]
    if isinstance(each.type, Int32 | Boolean):
        column_type = whole()
    elif isinstance(each.type, DecimalNumber):
        column_type = BigInteger()
    else:
        column_type = text()
    return column_type  # type: ignore[return-value]


def _changes(metadata: MetaData) -> Table:
    return Table(
        "changes",
        metadata,
        Column(COMPANY_ID, text(36), nullable=False),
        Column("number", BigInteger, nullable=False),
        Column("entity_set", text(), nullable=False),
        Column("record", text(), nullable=False),
        Column("verb", text(), nullable=False),
        Column("at", text(24), nullable=False),
        Column("by", text(), nullable=False),
        PrimaryKeyConstraint(COMPANY_ID, "number", name="pk_changes"),
        sqlite_with_rowid=False,
    )


def _loads(metadata: MetaData) -> Table:
    return Table(
        "loads",
        metadata,
        Column(COMPANY_ID, text(36), nullable=False),
        Column("entity_set", text(), nullable=False),
        Column("digest", text(64), nullable=False),
        Column("rows_done", BigInteger, nullable=False),
        PrimaryKeyConstraint(COMPANY_ID, "entity_set", "digest", name="pk_loads"),
    )


def _repeats(metadata: MetaData) -> Table:
    table = Table(
        "repeats",
        metadata,
        Column(COMPANY_ID, text(36), nullable=False),
        Column("by", text(), nullable=False),
        Column("client", text(), nullable=False),
        Column("request", text(), nullable=False),
        Column("digest", text(64), nullable=False),
        Column("outcome", text(), nullable=False),
        Column("at", text(24), nullable=False),
        PrimaryKeyConstraint(COMPANY_ID, "by", "client", "request", name="pk_repeats"),
    )
    Index("ix_repeats_at", table.c[COMPANY_ID], table.c["at"])
    return table


def _copies(metadata: MetaData) -> Table:
    """The companies whose copy or deletion is unfinished; `companies` does not have them.

    `incarnation` is that of the source, blank for a deletion. `number` is the change up to which a
    copy is complete, and `holder` the command that runs it.
    """
    return Table(
        "copies",
        metadata,
        Column(COMPANY_ID, text(36), nullable=False),
        Column("incarnation", text(32), nullable=False),
        Column("number", BigInteger, nullable=False),
        Column("holder", text(32), nullable=False),
        PrimaryKeyConstraint(COMPANY_ID, name="pk_copies"),
    )


def _search_marks(metadata: MetaData) -> Table:
    """The progress of the text index of each set: the change up to which it is complete.

    `layout` is a digest of how their texts are built, `scope` the range of their numbers.
    """
    return Table(
        "search_marks",
        metadata,
        Column(COMPANY_ID, text(36), nullable=False),
        Column("entity_set", text(), nullable=False),
        Column("layout", text(32), nullable=False),
        Column("number", BigInteger, nullable=False),
        Column("scope", BigInteger, nullable=False),
        PrimaryKeyConstraint(COMPANY_ID, "entity_set", name="pk_search_marks"),
    )


def _search_documents(metadata: MetaData) -> Table:
    """The folded texts of records, by their numbers in the database's own text index."""
    documents = Table(
        "search_documents",
        metadata,
        Column(COMPANY_ID, text(36), nullable=False),
        Column("document", BigInteger, nullable=False, autoincrement=False),
        Column("entity_set", text(), nullable=False),
        Column("record", text(), nullable=False),
        Column("folded", text(), nullable=False),
        PrimaryKeyConstraint(COMPANY_ID, "document", name="pk_search_documents"),
    )
    columns = documents.c
    Index(
        "ux_search_documents_0",
        columns[COMPANY_ID],
        columns.entity_set,
        columns.record,
        unique=True,
    )
    return documents
