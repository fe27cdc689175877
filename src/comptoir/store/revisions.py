"""Upgrades: a database gets what the declared schema has more than its own."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlalchemy import Column, Index, MetaData, Table, delete, func, insert, select
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from comptoir.edm.model import Model
from comptoir.errors import operator_rows as problems
from comptoir.sql.dialects.sqlite import CREATE_INDEX
from comptoir.sql.prepared import Query, query_of
from comptoir.sql.tables import EMPTY, build_tables, control_tables
from comptoir.store.growth import conflicts
from comptoir.store.schema import (
    HEAD,
    OF_SCHEMA,
    SERVES,
    VERSION,
    SchemaState,
    SchemaSteps,
    is_outdated,
    state_of,
    store_state,
)

NAMED_VALUES = 20
"""The most values that the error of a new unique rule names."""

_COLUMNS = {
    "sqlite": (
        "SELECT each.name, columns.name FROM sqlite_schema AS each"
        " LEFT JOIN pragma_table_info(each.name) AS columns"
    ),
    "postgresql": (
        "SELECT relname, attname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid"
        " WHERE pg_table_is_visible(pg_class.oid) AND relnamespace <> 'pg_catalog'::regnamespace"
        " AND NOT attisdropped"
    ),
}
"""The names of tables and indexes with their columns; an index of a file has none."""

_FIRST_ROWS: Mapping[str, Mapping[str, str | int]] = {
    "control": {"version": 1},
    "rehearsal": {"version": 1, "document": "{}"},
}
"""The rows that tables have from the beginning."""


def upgrade(model: Model, name: str, dialect: Dialect) -> SchemaSteps[SchemaState]:
    """Add what a database lacks of the schema, within the transaction of the steps.

    A revision that does more than add has its step here, before the additions. Returns the new
    state. Raises `OperatorError`, which calls the database `name`, if its schema is too new, or if
    the model changes what the database has.
    """
    state = yield from state_of(dialect.name)
    is_later = not is_outdated(state, name) and state.revision != HEAD
    current = replace(state, revision=HEAD, serves=SERVES[HEAD], catalog=model.source)
    if is_later or state == current:
        return state
    check_growth(state, model, name)
    yield from _grow([*OF_SCHEMA.sorted_tables, *declared_schema(model).sorted_tables], dialect)
    yield query_of(delete(VERSION), dialect)
    yield query_of(insert(VERSION).values(version_num=HEAD), dialect)
    recorded = {"revision": HEAD, "serves": SERVES[HEAD], "catalog": model.source}
    yield from store_state(dialect, **recorded)
    return current


def check_growth(state: SchemaState, model: Model, name: str) -> None:
    """Raise `OperatorError` if a model changes what the database `name` has, besides additions."""
    changed = conflicts(state.catalog, model.source) if state.catalog and model.source else []
    if changed:
        raise problems.CATALOG_NOT_GROWN(name=name, changes="; ".join(changed))


def _grow(tables: Iterable[Table], dialect: Dialect) -> SchemaSteps[None]:
    """Add the tables, columns and indexes that a database lacks."""
    existing: dict[str, set[str]] = {}
    for name, column in (yield Query(_COLUMNS[dialect.name], ())):
        existing.setdefault(str(name), set()).add(str(column))
    for table in tables:
        columns = existing.get(table.name)
        if columns is None:
            yield _created(CreateTable(table), dialect)
            if table.name in _FIRST_ROWS:
                yield query_of(insert(table).values(_FIRST_ROWS[table.name]), dialect)
        else:
            for each in table.columns:
                if each.name not in columns:
                    yield _added(table, each, dialect)
        for index in table.indexes:
            if index.name not in existing:
                if index.unique and columns is not None:
                    yield from check_unique(index, dialect)
                yield _created(CreateIndex(index), dialect)
    if dialect.name == "sqlite":
        yield Query(CREATE_INDEX, ())


def _created(element: CreateTable | CreateIndex, dialect: Dialect) -> Query:
    return Query(str(element.compile(dialect=dialect)), ())


def _added(table: Table, column: Column[object], dialect: Dialect) -> Query:
    empty = column.info.get(EMPTY)
    added = Column(column.name, column.type, nullable=column.nullable, server_default=empty)
    Table(table.name, MetaData(), added)
    declared = CreateColumn(added).compile(dialect=dialect)
    name = dialect.identifier_preparer.format_table(table)
    return Query(f"ALTER TABLE {name} ADD COLUMN {declared}", ())


def check_unique(index: Index, dialect: Dialect) -> SchemaSteps[None]:
    """Raise `OperatorError` if records have the same values in the columns of a unique index."""
    company, *columns = index.columns
    values = select(*columns, func.count().label("records")).group_by(company, *columns)
    condition = index.dialect_options["sqlite"]["where"]
    if condition is not None:
        values = values.where(condition)
    repeated = values.having(func.count() > 1).order_by(*columns)
    rows = yield query_of(repeated.limit(NAMED_VALUES), dialect)
    if rows:
        total = select(func.count()).select_from(repeated.subquery())
        ((count,),) = yield query_of(total, dialect)
        listed = "; ".join(f"{', '.join(map(str, values))} ({number})" for *values, number in rows)
        names = ", ".join(each.name for each in columns)
        raise problems.NOT_UNIQUE(set=company.table.name, names=names, count=count, listed=listed)


def declared_schema(model: Model) -> MetaData:
    """The tables of a model and the control tables, with conditions of indexes on PostgreSQL.

    `build_tables` leaves these out, because SQLAlchemy would import its PostgreSQL dialect for
    them, in a service on SQLite too.
    """
    metadata = build_tables(model).metadata
    for table in control_tables().sorted_tables:
        table.to_metadata(metadata)
    for table in metadata.tables.values():
        for index in table.indexes:
            condition = index.dialect_options["sqlite"]["where"]
            index.dialect_options["postgresql"]["where"] = condition
    return metadata
