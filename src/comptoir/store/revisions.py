"""Upgrades: a database gets what the declared schema has more than its own."""

from collections.abc import Iterable, Mapping

from sqlalchemy import (
    Column,
    Connection,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable, DropTable

from comptoir.edm.model import Model
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import OperatorError
from comptoir.sql.dialects.sqlite import CREATE_INDEX
from comptoir.sql.tables import EMPTY, JSON, build_tables, control_tables
from comptoir.store.growth import conflicts
from comptoir.store.schema import (
    HEAD,
    OF_SCHEMA,
    SERVES,
    SchemaState,
    is_outdated,
    state_of,
    store_revision,
)

NAMED_VALUES = 20
"""The most values that the error of a new unique rule names."""

_EXISTING = {
    "sqlite": "SELECT name FROM sqlite_schema",
    "postgresql": (
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
    ),
}
"""The names of tables and indexes; reflection would look array types up (see sql/dialects)."""

_FIRST_ROWS: Mapping[str, Mapping[str, str | int]] = {
    "control": {"version": 1},
    "rehearsal": {"version": 1, "document": "{}"},
}
"""The rows that tables have from the beginning."""


def upgrade(connection: Connection, model: Model, name: str) -> SchemaState:
    """Add what a database lacks of the schema, within the connection's transaction.

    A revision that does more than add has its step here, before the additions. Returns the new
    state. Raises `OperatorError`, which calls the database `name`, if its schema is too new, or if
    the model changes what the database has.
    """
    state = state_of(connection)
    is_later = not is_outdated(state, name) and state.revision != HEAD
    current = (HEAD, SERVES[HEAD], model.source)
    if is_later or (state.revision, state.serves, state.catalog) == current:
        return state
    check_growth(state, model, name)
    _grow(connection, [*OF_SCHEMA.sorted_tables, *declared_schema(model).sorted_tables])
    store_revision(connection, model.source)
    return state_of(connection)


def check_growth(state: SchemaState, model: Model, name: str) -> None:
    """Raise `OperatorError` if a model changes what the database `name` has, besides additions."""
    changed = conflicts(state.catalog, model.source) if state.catalog and model.source else []
    if changed:
        raise problems.CATALOG_NOT_GROWN(name=name, changes="; ".join(changed))


def _grow(connection: Connection, tables: Iterable[Table]) -> None:
    """Add the tables, columns and indexes that a database lacks."""
    is_file = connection.dialect.name == "sqlite"
    names = connection.exec_driver_sql(_EXISTING[connection.dialect.name])
    existing = {str(name) for (name,) in names}
    for table in tables:
        if table.name in existing:
            if is_file and JSON[0] in _missing(connection, table):
                _order_by_key(connection, table)
                existing -= {str(each.name) for each in table.indexes}
            for each in _missing(connection, table).values():
                _add_column(connection, table, each)
        else:
            connection.execute(CreateTable(table))
            if table.name in _FIRST_ROWS:
                connection.execute(insert(table).values(_FIRST_ROWS[table.name]))
        for index in table.indexes:
            if index.name not in existing:
                try:
                    with connection.begin_nested():
                        connection.execute(CreateIndex(index))
                except IntegrityError:
                    raise not_unique(connection, index) from None
    if is_file:
        connection.exec_driver_sql(CREATE_INDEX)


def _missing(connection: Connection, table: Table) -> dict[str, Column[object]]:
    """The columns that a table of the database lacks, by their names."""
    names = connection.execute(select(text("*")).select_from(table).limit(0)).keys()
    return {each.name: each for each in table.columns if each.name not in names}


def _add_column(connection: Connection, table: Table, column: Column[object]) -> None:
    empty = column.info.get(EMPTY)
    added = Column(column.name, column.type, nullable=column.nullable, server_default=empty)
    Table(table.name, MetaData(), added)
    declared = CreateColumn(added).compile(dialect=connection.dialect)
    name = connection.dialect.identifier_preparer.format_table(table)
    connection.exec_driver_sql(f"ALTER TABLE {name} ADD COLUMN {declared}")


def _order_by_key(connection: Connection, table: Table) -> None:
    """Create a table of a file again, with its rows in the order of the key; drops its indexes.

    Before revision 0007, tables of records had neither this order nor the columns of JSON.
    """
    missing = _missing(connection, table)
    copied = [each.name for each in table.columns if each.name not in missing]
    columns = [
        Column(each.name, each.type, nullable=each.nullable)
        for each in table.columns
        if each.name in JSON or each.name in copied
    ]
    key = PrimaryKeyConstraint(*table.primary_key.columns.keys(), name=f"pk_{table.name}")
    ordered = Table(f"{table.name}_by_key", MetaData(), *columns, key, sqlite_with_rowid=False)
    connection.execute(CreateTable(ordered))
    rows = select(*[table.c[each] for each in copied]).order_by(*table.primary_key.columns)
    connection.execute(insert(ordered).from_select(copied, rows))
    connection.execute(DropTable(table))
    connection.exec_driver_sql(f'ALTER TABLE "{ordered.name}" RENAME TO "{table.name}"')


def not_unique(connection: Connection, index: Index) -> OperatorError:
    """The error that records have the same values in the columns of a new unique index."""
    company, *columns = index.columns
    values = select(*columns, func.count().label("records")).group_by(company, *columns)
    condition = index.dialect_options["sqlite"]["where"]
    if condition is not None:
        values = values.where(condition)
    repeated = values.having(func.count() > 1).order_by(*columns)
    count = connection.scalar(select(func.count()).select_from(repeated.subquery()))
    rows = connection.execute(repeated.limit(NAMED_VALUES)).all()
    listed = "; ".join(f"{', '.join(map(str, values))} ({number})" for *values, number in rows)
    names = ", ".join(each.name for each in columns)
    return problems.NOT_UNIQUE(set=company.table.name, names=names, count=count, listed=listed)


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
