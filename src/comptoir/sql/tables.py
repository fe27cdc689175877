"""The model as tables: one per stored set, and the tables that the service keeps for itself.

Every primary key begins with the company: it is the unit of isolation, sharding and backup.
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
    """Where a set's records lie: the table and, for each property in order, its column."""

    table: Table
    columns: Mapping[str, Column[str | int]]


@dataclass(frozen=True, eq=False, slots=True)
class Tables:
    """All tables: the records of every set, and those that the service keeps for itself.

    `changes` is the change log, `loads` how far loads have come, `repeats` the writes that are
    known when they are sent again, `copies` the companies that are being copied from elsewhere,
    `search_marks` and `search_documents` what searches stand on.
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
        """The columns of a constraint or an index that is unique; none when there is none."""
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
    kind = entity_set.type
    columns = {each.name: _column(each) for each in kind.properties}
    version = Column(VERSION, BigInteger, nullable=False)
    if not entity_set.per_company:
        columns[kind.key] = Column(COMPANY_ID, company_key(), nullable=False)
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
        PrimaryKeyConstraint(COMPANY_ID, kind.key, name=f"pk_{entity_set.name}"),
    )
    for number, rule in enumerate(kind.unique):
        condition = columns[rule.properties[0]] != "" if rule.blank_is_free else None
        Index(
            f"ux_{entity_set.name}_{number}",
            company,
            *(columns[name] for name in rule.properties),
            unique=True,
            sqlite_where=condition,
        )
    for number, names in enumerate(kind.indexes):
        # the key at the end lets a page be read in key order without sorting
        Index(
            f"ix_{entity_set.name}_{number}",
            company,
            *(columns[name] for name in names),
            columns[kind.key],
        )
    return Records(table, columns)


def _column(held: Property) -> Column[str | int]:
    return Column(held.name, _column_type(held), nullable=False)


def _column_type(held: Property) -> TypeEngine[str | int]:
    kind: TypeEngine[str] | TypeEngine[int]
    if isinstance(held.type, Int32 | Boolean):
        kind = whole()
    elif isinstance(held.type, DecimalNumber):
        kind = BigInteger()
    else:
        kind = text()
    return kind  # type: ignore[return-value]


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
    """The companies that are not copied whole yet, and so are not among the companies.

    `incarnation` is that of the source, `number` the change behind which it is to be followed;
    `holder` is the copy that is under way.
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
    """For each searched set, the change up to which its documents are complete.

    `layout` says what their text was made of, `scope` which numbers are theirs.
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
    """The folded text of records, by a number that the index over it knows them by."""
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
