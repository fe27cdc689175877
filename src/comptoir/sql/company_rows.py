"""Statements that read, write and drop the rows of a company unchanged, to copy or delete it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import BindParameter, Column, Table, bindparam, delete, func, select, tuple_, update
from sqlalchemy.engine import Dialect as Compiler
from sqlalchemy.sql import ClauseElement

from comptoir.edm.model import EntitySet, Model, UniqueRule
from comptoir.sql.prepared import BLANK, Prepared, constant, named, prepare, prepare_insert, whole
from comptoir.sql.tables import COMPANY_ID, Tables


@dataclass(frozen=True, slots=True)
class Conflict:
    """A unique rule that a row to write may violate; `columns` are those of its values."""

    columns: tuple[int, ...]

    drop: Prepared
    """Drop the other row: company, values."""


@dataclass(frozen=True, eq=False, slots=True)
class TableStatements:
    """The statements over a table. A row has its columns in order, without the company.

    `key` are the columns of the key in a row. Each docstring ends with the values to bind.
    """

    key: tuple[int, ...]

    rows: Prepared
    """All rows in the order of their keys: company."""

    rest: Prepared
    """The rows after a key: company, key."""

    last: Prepared
    """The highest key: company."""

    count: Prepared
    """The number of rows: company."""

    add: Prepared
    """Add a row: company, row."""

    drop: Prepared
    """Drop a row: company, key."""

    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True)
class Removal:
    """The statements that drop a company's rows of a table in portions."""

    first: Prepared
    """The keys of the first rows, and the texts of documents: company, limit."""

    count: Prepared
    """The number of rows: company."""

    drop: Prepared
    """Drop a row: company, key."""


class CompanyRowStatements:
    """Each statement's docstring ends with the values to bind, in order."""

    def __init__(self, model: Model, tables: Tables, compiler: Compiler) -> None:
        self._model = model
        self._tables = tables
        self._compiler = compiler
        companies, copies = tables.companies, tables.copies
        own = companies.c[COMPANY_ID] == named("id")
        self.company = self._prepare(select(*_others(companies)).where(own), "id")
        """A company's own row: id."""

        self.origin = self._prepare(
            select(companies.c.incarnation, companies.c.change_number).where(own), "id"
        )
        """A company's incarnation, and the number of its last change: id."""

        self.add_company = self._add(companies)
        """Add a company: id, row."""

        self.drop_company = self._prepare(delete(companies).where(own), "id")
        """Drop a company's own row: id."""

        of_company = copies.c[COMPANY_ID] == named("company")
        progress = select(*_others(copies)).where(of_company)
        self.progress = self._prepare(progress, "company")
        """The progress of a copy, as a row of `copies`: company."""

        self.lock_progress = self._prepare(progress.with_for_update(), "company")
        """The progress of a copy; locks its row: company."""

        self.add_progress = self._add(copies)
        """Begin a copy: company, progress."""

        moved = {column.name: named(f"set_{column.name}") for column in _others(copies)}
        self.move_progress = self._prepare(
            update(copies).where(of_company).values(moved),
            "company",
            *(f"set_{name}" for name in moved),
        )
        """Store the progress of a copy: company, progress."""

        self.drop_progress = self._prepare(delete(copies).where(of_company), "company")
        """End a copy: company."""

    @cached_property
    def tables(self) -> Mapping[str, TableStatements]:
        """The tables with a company's rows, except its own row and the text index."""
        tables = self._tables
        apart = (tables.companies, tables.copies, tables.search_marks, tables.search_documents)
        stored = {each.name: each for each in self._model.stored}
        return {
            name: self._table(table, stored.get(name))
            for name, table in tables.metadata.tables.items()
            if table not in apart
        }

    @cached_property
    def removals(self) -> Mapping[str, Removal]:
        """All tables with a company's rows, except its own row, in the order of their removal."""
        tables = self._tables
        # the index's progress goes after the documents: without it, their numbers are reused
        index = (tables.search_documents, tables.search_marks)
        apart = (tables.companies, tables.copies, *index)
        others = [each for each in tables.metadata.tables.values() if each not in apart]
        return {each.name: self._removal(each) for each in (*index, *others)}

    def _removal(self, table: Table) -> Removal:
        key = _key(table)
        documents = self._tables.search_documents
        texts = [documents.c.folded] if table is documents else []
        first = (
            select(*key, *texts)
            .where(table.c[COMPANY_ID] == named("company"))
            .order_by(*key)
            .limit(whole("limit"))
            .offset(constant(0))
        )
        return Removal(
            self._prepare(first, "company", "limit"), self._count(table), self._drop(table)
        )

    def _prepare(self, statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, self._compiler, names)

    def _count(self, table: Table) -> Prepared:
        company = table.c[COMPANY_ID] == named("company")
        return self._prepare(select(func.count()).select_from(table).where(company), "company")

    def _drop(self, table: Table) -> Prepared:
        key = _key(table)
        is_key = [column == _key_parameter(column) for column in key]
        statement = delete(table).where(table.c[COMPANY_ID] == named("company"), *is_key)
        return self._prepare(statement, "company", *(f"key_{each.name}" for each in key))

    def _add(self, table: Table) -> Prepared:
        names = [COMPANY_ID, *(column.name for column in _others(table))]
        return prepare_insert(table, names, self._compiler)

    def _table(self, table: Table, entity_set: EntitySet | None) -> TableStatements:
        columns = _others(table)
        names = [column.name for column in columns]
        key = _key(table)
        company = table.c[COMPANY_ID] == named("company")
        key_values = [_key_parameter(each) for each in key]
        key_names = [f"key_{each.name}" for each in key]
        rows = select(*columns).where(company).order_by(*key)
        last = select(*key).where(company).order_by(*(each.desc() for each in key))
        rules = entity_set.type.unique if entity_set is not None else ()
        return TableStatements(
            tuple(names.index(each.name) for each in key),
            self._prepare(rows, "company"),
            self._prepare(rows.where(tuple_(*key) > tuple_(*key_values)), "company", *key_names),
            self._prepare(last.limit(constant(1)).offset(constant(0)), "company"),
            self._count(table),
            self._add(table),
            self._drop(table),
            tuple(self._conflict(table, names, rule) for rule in rules),
        )

    def _conflict(self, table: Table, names: Sequence[str], rule: UniqueRule) -> Conflict:
        values = [table.c[name] for name in rule.properties]
        statement = delete(table).where(
            table.c[COMPANY_ID] == named("company"),
            *(column == named(f"is_{column.name}") for column in values),
        )
        if rule.blank_is_free:
            # the rule's index is partial, and serves only statements with this condition
            statement = statement.where(values[0] != BLANK)
        columns = tuple(names.index(column.name) for column in values)
        drop = self._prepare(statement, "company", *(f"is_{column.name}" for column in values))
        return Conflict(columns, drop)


def _others(table: Table) -> list[Column[str | int]]:
    """The columns of a table without the company."""
    return [column for column in table.columns if column.name != COMPANY_ID]


def _key(table: Table) -> list[Column[str | int]]:
    """The columns of a table's key without the company."""
    return [column for column in table.primary_key.columns if column.name != COMPANY_ID]


def _key_parameter(column: Column[str | int]) -> BindParameter[str | int]:
    """The bind parameter of a value of the key."""
    return bindparam(f"key_{column.name}", type_=column.type, required=True)
