"""What a read selects from: a set's table, or stages above it that compute deep expressions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, FromClause, Text, cast, literal_column, select

from comptoir.edm.model import EntitySet
from comptoir.sql.tables import COMPANY_ID, VERSION, Tables

SqlValue = ColumnElement[str | int]


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """A FROM clause with the columns that statements name: company, version and properties."""

    entity_set: EntitySet
    clause: FromClause
    company: SqlValue
    version: SqlValue
    columns: Mapping[str, SqlValue]

    @property
    def key(self) -> SqlValue:
        """The key's column."""
        return self.columns[self.entity_set.type.key]

    @property
    def row(self) -> tuple[SqlValue, ...]:
        """What a read of whole records selects: the version, then the properties in order."""
        return (self.version, *self.columns.values())

    def stage(self, name: str, computed: Sequence[SqlValue]) -> tuple["Source", list[SqlValue]]:
        """The same source with expressions computed as further columns, and those columns."""
        labels = [f"{name}_{number}" for number in range(len(computed))]
        inner = select(
            self.company.label("stage_company"),
            self.version.label("stage_version"),
            *(column.label(f"p_{held}") for held, column in self.columns.items()),
            *(each.label(label) for each, label in zip(computed, labels, strict=True)),
        ).cte(name)
        columns = {held: inner.c[f"p_{held}"] for held in self.columns}
        source = Source(
            self.entity_set, inner, inner.c.stage_company, inner.c.stage_version, columns
        )
        return source, [inner.c[label] for label in labels]


def table_source(tables: Tables, entity_set: EntitySet) -> Source:
    """The source of a set's records: its own table, or the one that its view names."""
    records = tables.records[entity_set.name]
    table = records.table
    version: SqlValue = table.c[VERSION]
    if not entity_set.per_company:
        # a company's tag is made of its own incarnation, which no company in the path gives
        version = table.c.incarnation + literal_column("'.'") + cast(version, Text)
    return Source(entity_set, table, table.c[COMPANY_ID], version, records.columns)


def is_free_when_blank(entity_set: EntitySet, name: str) -> bool:
    """Whether the index of a property leaves blank values out.

    Only a statement that leaves them out as well may use it.
    """
    return any(each.blank_is_free and name in each.properties for each in entity_set.type.unique)
