"""Statements that read, write and drop a company's rows as they are, to move or delete it."""

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
class Rivals:
    """Other rows that have what is unique: where a row has these values, and their end.

    Bind the company, then the values.
    """

    places: tuple[int, ...]
    drop: Prepared


@dataclass(frozen=True, eq=False, slots=True)
class Whole:
    """A table as a whole. A row has its columns in order, without the company.

    `key` says where in a row its key stands; each statement's line says what to bind.
    """

    key: tuple[int, ...]

    rows: Prepared
    """All rows in the order of their keys: company."""

    rest: Prepared
    """Those behind a key: company, key."""

    last: Prepared
    """The highest key: company."""

    count: Prepared
    """How many rows there are: company."""

    add: Prepared
    """Add a row: company, row."""

    drop: Prepared
    """Drop a row: company, key."""

    rivals: tuple[Rivals, ...]


@dataclass(frozen=True, slots=True)
class Leftovers:
    """A table whose rows of a company are dropped, some at a time."""

    first: Prepared
    """The keys of the first rows, in the text index with their texts: company, how many."""

    count: Prepared
    """How many rows there are: company."""

    drop: Prepared
    """Drop a row: company, key."""


class CopyStatements:
    """Each statement's line says what it is for, and the values to bind, in order."""

    def __init__(self, model: Model, tables: Tables, compiler: Compiler) -> None:
        self._model = model
        self._tables = tables
        self._compiler = compiler
        companies, copies = tables.companies, tables.copies
        own = companies.c[COMPANY_ID] == named("id")
        self.company = self._made(select(*_others(companies)).where(own), "id")
        """A company's own row: id."""

        self.origin = self._made(
            select(companies.c.incarnation, companies.c.change_number).where(own), "id"
        )
        """A company's incarnation, and the number of its last change: id."""

        self.add_company = self._add(companies)
        """Add a company: id, row."""

        self.drop_company = self._made(delete(companies).where(own), "id")
        """Drop a company's own row: id."""

        of_company = copies.c[COMPANY_ID] == named("company")
        mark = select(*_others(copies)).where(of_company)
        self.mark = self._made(mark, "company")
        """How far a copy has come: company."""

        self.hold_mark = self._made(mark.with_for_update(), "company")
        """The same, locked where the store needs it: company."""

        self.add_mark = self._add(copies)
        """Begin a copy: company, mark."""

        moved = {column.name: named(f"set_{column.name}") for column in _others(copies)}
        self.move_mark = self._made(
            update(copies).where(of_company).values(moved),
            "company",
            *(f"set_{name}" for name in moved),
        )
        """Go on with a copy: company, mark."""

        self.drop_mark = self._made(delete(copies).where(of_company), "company")
        """End a copy: company."""

    @cached_property
    def tables(self) -> Mapping[str, Whole]:
        """What a company has beside its own row. The text index is left to be built anew."""
        tables = self._tables
        apart = (tables.companies, tables.copies, tables.search_marks, tables.search_documents)
        stored = {each.name: each for each in self._model.stored}
        return {
            name: self._whole(table, stored.get(name))
            for name, table in tables.metadata.tables.items()
            if table not in apart
        }

    @cached_property
    def leftovers(self) -> Mapping[str, Leftovers]:
        """All that a company has beside its own row, in the order in which it is to be dropped."""
        tables = self._tables
        # a set's mark goes after its documents: without it, their numbers are given again
        index = (tables.search_documents, tables.search_marks)
        apart = (tables.companies, tables.copies, *index)
        others = [each for each in tables.metadata.tables.values() if each not in apart]
        return {each.name: self._leftovers(each) for each in (*index, *others)}

    def _leftovers(self, table: Table) -> Leftovers:
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
        return Leftovers(
            self._made(first, "company", "limit"), self._count(table), self._drop(table)
        )

    def _made(self, statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, self._compiler, names)

    def _count(self, table: Table) -> Prepared:
        """How many rows a company has: company."""
        company = table.c[COMPANY_ID] == named("company")
        return self._made(select(func.count()).select_from(table).where(company), "company")

    def _drop(self, table: Table) -> Prepared:
        """Drop a row: company, key."""
        key = _key(table)
        same = [column == _sought(column) for column in key]
        statement = delete(table).where(table.c[COMPANY_ID] == named("company"), *same)
        return self._made(statement, "company", *(f"key_{each.name}" for each in key))

    def _add(self, table: Table) -> Prepared:
        names = [COMPANY_ID, *(column.name for column in _others(table))]
        return prepare_insert(table, names, self._compiler)

    def _whole(self, table: Table, entity_set: EntitySet | None) -> Whole:
        columns = _others(table)
        names = [column.name for column in columns]
        key = _key(table)
        company = table.c[COMPANY_ID] == named("company")
        sought = [_sought(each) for each in key]
        places = [f"key_{each.name}" for each in key]
        rows = select(*columns).where(company).order_by(*key)
        last = select(*key).where(company).order_by(*(each.desc() for each in key))
        rules = entity_set.type.unique if entity_set is not None else ()
        return Whole(
            tuple(names.index(each.name) for each in key),
            self._made(rows, "company"),
            self._made(rows.where(tuple_(*key) > tuple_(*sought)), "company", *places),
            self._made(last.limit(constant(1)).offset(constant(0)), "company"),
            self._count(table),
            self._add(table),
            self._drop(table),
            tuple(self._rivals(table, names, rule) for rule in rules),
        )

    def _rivals(self, table: Table, names: Sequence[str], rule: UniqueRule) -> Rivals:
        columns = [table.c[name] for name in rule.properties]
        statement = delete(table).where(
            table.c[COMPANY_ID] == named("company"),
            *(column == named(f"is_{column.name}") for column in columns),
        )
        if rule.blank_is_free:
            # the rule's index is partial, and only a statement that says so may use it
            statement = statement.where(columns[0] != BLANK)
        places = tuple(names.index(column.name) for column in columns)
        drop = self._made(statement, "company", *(f"is_{column.name}" for column in columns))
        return Rivals(places, drop)


def _others(table: Table) -> list[Column[str | int]]:
    """The columns of a table but for the company."""
    return [column for column in table.columns if column.name != COMPANY_ID]


def _key(table: Table) -> list[Column[str | int]]:
    """The columns of a table's key but for the company."""
    return [column for column in table.primary_key.columns if column.name != COMPANY_ID]


def _sought(column: Column[str | int]) -> BindParameter[str | int]:
    """The place of a value of a key."""
    return bindparam(f"key_{column.name}", type_=column.type, required=True)
