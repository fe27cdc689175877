"""Alembic: upgrades by revisions, and the declared schema. Only revisions import it elsewhere."""

from collections.abc import Iterable, MutableMapping
from typing import Literal

from alembic import command
from alembic.autogenerate.api import AutogenContext
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Column, Connection, Index, MetaData, Table, func, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateIndex, CreateTable

from comptoir.edm.model import Model
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import OperatorError
from comptoir.sql import column_types
from comptoir.sql.dialects.sqlite import INDEX
from comptoir.sql.tables import EMPTY, build_tables, control_tables
from comptoir.store.growth import conflicts, declared_sets
from comptoir.store.schema import (
    MIGRATIONS,
    STATE,
    TEXT_INDEX,
    SchemaState,
    is_outdated,
    revisions,
    state_of,
    store_state,
)

NAMED_VALUES = 20
"""The most values that the error of a new unique rule names."""

ObjectType = Literal[
    "schema", "table", "column", "index", "unique_constraint", "foreign_key_constraint",
    "check_constraint",
]  # fmt: skip
Parent = Literal["schema_name", "table_name", "schema_qualified_table_name"]


def upgrade(connection: Connection, model: Model, name: str) -> SchemaState:
    """Run the revisions that a database lacks, within the connection's transaction.

    Then the tables of records get what the model has more. Returns the new state. Raises
    `OperatorError`, which calls the database `name`, if its schema is too new, or if the model
    changes what the database has.
    """
    state, known = state_of(connection), revisions()
    serves = known.serves[known.head]
    if is_outdated(state, name):
        command.upgrade(alembic_config(connection, model), "head")
    elif state.revision != known.head or (state.serves, state.catalog) == (serves, model.source):
        return state
    _grow(connection, tables_to_grow(state, model, name))
    store_state(connection, revision=known.head, serves=serves, catalog=model.source)
    return state_of(connection)


def tables_to_grow(state: SchemaState, model: Model, name: str) -> list[Table]:
    """The tables to which a model may add; the database `name` may lack them, or some columns.

    Raises `OperatorError` if the model changes what the database has.
    """
    changed = conflicts(state.catalog, model.source) if state.catalog and model.source else []
    if changed:
        raise problems.CATALOG_NOT_GROWN(name=name, changes="; ".join(changed))
    # revisions create the tables of the sets that a base declares
    own = declared_sets(model.source) if model.source else model.by_name
    declared = declared_schema(model)
    return [declared.tables[each.name] for each in model.stored if each.name in own]


def _grow(connection: Connection, tables: Iterable[Table]) -> None:
    """Add the tables, columns and indexes of records that a database lacks."""
    operations = Operations(MigrationContext.configure(connection))
    for table in tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        # reflection would look array types up (see sql/dialects/postgresql)
        existing = connection.execute(select(text("*")).select_from(table).limit(0)).keys()
        for each in table.columns:
            if each.name not in existing:
                empty = each.info[EMPTY]
                added = Column(each.name, each.type, nullable=False, server_default=empty)
                operations.add_column(table.name, added)
        for index in table.indexes:
            try:
                with connection.begin_nested():
                    connection.execute(CreateIndex(index, if_not_exists=True))
            except IntegrityError:
                raise not_unique(connection, index) from None


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


def alembic_config(connection: Connection, model: Model) -> Config:
    """The configuration of Alembic for a connection."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["metadata"] = declared_schema(model)
    return config


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


def is_declared(
    name: str | None, object_type: ObjectType, _: MutableMapping[Parent, str | None]
) -> bool:
    """Whether Alembic compares an object of the database with the declared schema.

    It ignores the text indexes with SQLite's tables for one, and the state of the schema.
    """
    if name is None:
        return True
    if object_type == "table":
        return name != STATE.name and not name.startswith(INDEX)
    return object_type != "index" or name != TEXT_INDEX


def spelled_type(object_type: str, item: object, context: AutogenContext) -> str | Literal[False]:
    """The source text of an object in a revision; False leaves it to Alembic."""
    spelling = column_types.spelled(item) if object_type == "type" else None
    if spelling is None:
        return False
    context.imports.add("from comptoir.sql import column_types")
    return spelling
