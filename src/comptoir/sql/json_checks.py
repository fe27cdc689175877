"""Statements that read the JSON of records with their columns, and write it again."""

from collections.abc import Iterable

from sqlalchemy import select, update

from comptoir.edm.model import EntitySet
from comptoir.edm.record_json import record_encoder
from comptoir.edm.types import Stored
from comptoir.plan.read import Row
from comptoir.sql.dialects import Dialect
from comptoir.sql.prepared import ManyQueries, Prepared, Query, StatementCache, named, prepare
from comptoir.sql.tables import COMPANY, JSON, VERSION, Tables, of_company

RecordsShape = tuple[EntitySet, bool]
"""An entity set, and whether only the records after a key are read."""


class JsonCheckStatements:
    """The statements over the records of an entity set and their JSON."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._compiler = dialect.compiler
        self._records = StatementCache(self._build_records)
        self._writes = StatementCache(self._build_write)

    def records(self, company_id: str, entity_set: EntitySet, after: Stored | None) -> Query:
        """The statement that reads all records by key, or those after a key.

        The row of a record is followed by its `JsonColumns`.
        """
        if after is None:
            return self._records[entity_set, False].query(company_id)
        return self._records[entity_set, True].query(company_id, after)

    def write(self, company_id: str, entity_set: EntitySet, rows: Iterable[Row]) -> ManyQueries:
        """The statement that writes the JSON of records that still have the rows' versions."""
        columns = record_encoder(entity_set.type).columns
        key = entity_set.type.column_of[entity_set.type.key]
        values = [(company_id, row[key], *columns(row)) for row in rows]
        return self._writes[entity_set].many(values)

    def _build_records(self, shape: RecordsShape) -> Prepared:
        entity_set, continues = shape
        records = self._tables.records[entity_set.name]
        table, key = records.table, records.columns[entity_set.type.key]
        json = [table.c[name] for name in JSON]
        statement = (
            select(table.c[VERSION], *records.columns.values(), *json)
            .where(of_company(table))
            .order_by(key)
        )
        if continues:
            statement = statement.where(key > named("after"))
        return prepare(statement, self._compiler, (COMPANY, "after"))

    def _build_write(self, entity_set: EntitySet) -> Prepared:
        records = self._tables.records[entity_set.name]
        table, key = records.table, records.columns[entity_set.type.key]
        binds = {name: named(f"set_{name}") for name in JSON}
        _, version, _ = binds.values()
        statement = (
            update(table)
            .where(of_company(table), key == named("key"), table.c[VERSION] == version)
            .values(binds)
        )
        names = [COMPANY, "key", *(each.key for each in binds.values())]
        return prepare(statement, self._compiler, names)
