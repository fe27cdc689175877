"""Statements that read, write and drop the rows of a company unchanged, to copy or delete it.

Docstrings of statements for many rows end with the values to bind, in order.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import sqlalchemy as sa
from sqlalchemy.engine import Dialect as Compiler

from comptoir.edm.model import EntityType, Model, UniqueRule
from comptoir.edm.record_json import record_encoder
from comptoir.plan.read import Row
from comptoir.sql.prepared import (
    BLANK,
    ManyQueries,
    Prepared,
    Query,
    RowSelect,
    constant,
    first_rows,
    named,
    prepare,
    prepare_insert,
    query_of,
)
from comptoir.sql.tables import COMPANY, COMPANY_ID, JSON, VERSION, Tables, of_company


class TableStatements:
    """The statements over a table. A row has its columns in order, without company and JSON."""

    def __init__(
        self, table: sa.Table, compiler: Compiler, entity_type: EntityType | None = None
    ) -> None:
        self._table = table
        self._compiler = compiler
        self._entity_type = entity_type
        self._company = of_company(table)
        self.names = [column.name for column in _others(table)]
        """The columns of a row."""

        self._key = [each for each in table.primary_key.columns if each.name != COMPANY_ID]
        self._key_types = [each.type for each in self._key]
        self._key_names = [f"key_{column.name}" for column in self._key]
        self.key = tuple([self.names.index(column.name) for column in self._key])
        """The columns of the key in a row."""

    def rows(self, company_id: str, after: Row | None = None) -> Query:
        """All rows in the order of their keys, or those with a higher key."""
        statement = sa.select(*_others(self._table)).order_by(*self._key)
        if after is not None:
            values = [sa.literal(*each) for each in zip(after, self._key_types, strict=True)]
            statement = statement.where(sa.tuple_(*self._key) > sa.tuple_(*values))
        return self._query(statement, company_id)

    def first(self, company_id: str, count: int) -> Query:
        """The keys of the first rows, and the texts of documents."""
        texts = [self._table.c.folded] if "folded" in self.names else []
        rows = sa.select(*self._key, *texts).order_by(*self._key)
        return self._query(first_rows(rows, sa.literal(count)), company_id)

    def last(self, company_id: str) -> Query:
        """The highest key."""
        descending = [column.desc() for column in self._key]
        rows = sa.select(*self._key).order_by(*descending)
        return self._query(first_rows(rows, constant(1)), company_id)

    def count(self, company_id: str) -> Query:
        """The number of rows."""
        return self._query(sa.select(sa.func.count()), company_id)

    def _query(self, statement: RowSelect, company_id: str) -> Query:
        is_own = self._table.c[COMPANY_ID] == company_id
        return query_of(statement.where(is_own), self._compiler)

    def add(self, company_id: str, rows: Iterable[Row]) -> ManyQueries:
        """The statement that adds rows, records with their JSON."""
        if self._entity_type is None:
            return self._add.many([(company_id, *row) for row in rows])
        columns = record_encoder(self._entity_type).columns
        return self._add.many([(company_id, row[0], *columns(row), *row[1:]) for row in rows])

    @cached_property
    def _add(self) -> Prepared:
        # in the order of the table, so that rows are bound as they are
        names = [column.name for column in self._table.columns]
        return prepare_insert(self._table, names, self._compiler)

    def write_json(self, company_id: str, rows: Iterable[Row]) -> ManyQueries:
        """The statement that writes the JSON of records that still have the rows' versions.

        Raises `TypeError` for a table without records.
        """
        if self._entity_type is None:
            raise TypeError(f"{self._table.name} has no records")
        columns = record_encoder(self._entity_type).columns
        keys = [(row, [row[at] for at in self.key]) for row in rows]
        return self._write_json.many([(company_id, *key, *columns(row)) for row, key in keys])

    @cached_property
    def _write_json(self) -> Prepared:
        binds = {name: named(f"set_{name}") for name in JSON}
        names = [each.key for each in binds.values()]
        is_key = [column == _key_parameter(column) for column in self._key]
        # the JSON has the version that was read
        is_unchanged = self._table.c[VERSION] == binds[JSON[1]]
        statement = sa.update(self._table).where(self._company, *is_key, is_unchanged).values(binds)
        return prepare(statement, self._compiler, (COMPANY, *self._key_names, *names))

    @cached_property
    def drop(self) -> Prepared:
        """Drop a row: company, key."""
        is_key = [column == _key_parameter(column) for column in self._key]
        statement = sa.delete(self._table).where(self._company, *is_key)
        return prepare(statement, self._compiler, (COMPANY, *self._key_names))

    @cached_property
    def conflicts(self) -> Sequence[tuple[tuple[int, ...], Prepared]]:
        """Statements that drop another row with the values of each unique rule: company, values.

        Before each statement are the columns of these values in a row.
        """
        rules = () if self._entity_type is None else self._entity_type.unique
        return [self._conflict(rule) for rule in rules]

    def _conflict(self, rule: UniqueRule) -> tuple[tuple[int, ...], Prepared]:
        columns = [self._table.c[name] for name in rule.properties]
        values = {f"is_{column.name}": column for column in columns}
        same = [column == named(name) for name, column in values.items()]
        statement = sa.delete(self._table).where(self._company, *same)
        if rule.blank_is_free:
            # the rule's index is partial, and serves only statements with this condition
            statement = statement.where(columns[0] != BLANK)
        drop = prepare(statement, self._compiler, (COMPANY, *values))
        return tuple([self.names.index(column.name) for column in columns]), drop


class CompanyRowStatements:
    """The statements over all tables except a company's own row and the progress of copies."""

    def __init__(self, model: Model, tables: Tables, compiler: Compiler) -> None:
        stored = {each.name: each.type for each in model.stored}
        # the index's progress goes after the documents: without it, their numbers are reused
        index = [tables.search_documents, tables.search_marks]
        apart = (tables.companies, tables.copies, *index)
        others = [each for each in tables.metadata.tables.values() if each not in apart]
        self.removals: Mapping[str, TableStatements] = {
            each.name: TableStatements(each, compiler, stored.get(each.name))
            for each in (*index, *others)
        }
        """All tables with a company's rows, except its own row, in the order of their removal."""

        self.tables = {each.name: self.removals[each.name] for each in others}
        """The tables with a company's rows, except its own row and the text index."""


def _others(table: sa.Table) -> list[sa.Column[str | int]]:
    """The columns of a table without the company and the JSON of a record."""
    return [column for column in table.columns if column.name not in (COMPANY_ID, *JSON)]


def _key_parameter(column: sa.Column[str | int]) -> sa.BindParameter[str | int]:
    """The bind parameter of a value of the key."""
    return sa.bindparam(f"key_{column.name}", type_=column.type, required=True)
