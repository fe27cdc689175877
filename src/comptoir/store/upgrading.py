"""Runs revisions by Alembic, which is imported here and in the revisions alone."""

from collections.abc import MutableMapping
from typing import Literal

from alembic import command
from alembic.autogenerate.api import AutogenContext
from alembic.config import Config
from sqlalchemy import Connection, MetaData

from comptoir.edm.model import Model
from comptoir.sql import column_types
from comptoir.sql.dialects.sqlite.text_index import INDEX
from comptoir.sql.tables import build_tables
from comptoir.store.schema import (
    LIKENESS_INDEX,
    MIGRATIONS,
    STATE,
    SchemaState,
    is_behind,
    keep,
    revisions,
    state_of,
)

Kind = Literal[
    "schema",
    "table",
    "column",
    "index",
    "unique_constraint",
    "foreign_key_constraint",
    "check_constraint",
]
Parent = Literal["schema_name", "table_name", "schema_qualified_table_name"]


def upgrade(connection: Connection, model: Model, name: str) -> SchemaState:
    """Run the revisions that a database lacks, within the connection's transaction.

    Gives what the database then says. Raises `OperatorError` when its schema is too new.
    """
    state, known = state_of(connection), revisions()
    serves = known.serves[known.head]
    if is_behind(state, name):
        command.upgrade(alembic_config(connection, model), "head")
    elif state.revision != known.head or state.serves == serves:
        return state
    keep(connection, revision=known.head, serves=serves)
    return state_of(connection)


def alembic_config(connection: Connection, model: Model) -> Config:
    """The configuration with which Alembic runs on a connection."""
    config = Config()
    _locate(config)
    config.attributes["connection"] = connection
    config.attributes["metadata"] = declared_schema(model)
    return config


def declared_schema(model: Model) -> MetaData:
    """The tables of a model with what they are on each database.

    `build_tables` leaves out the conditions of indexes on PostgreSQL: for these SQLAlchemy imports
    its part for PostgreSQL, also in a service on SQLite.
    """
    metadata = build_tables(model).metadata
    for table in metadata.tables.values():
        for index in table.indexes:
            condition = index.dialect_options["sqlite"]["where"]
            index.dialect_options["postgresql"]["where"] = condition
    return metadata


def is_declared(name: str | None, kind: Kind, _: MutableMapping[Parent, str | None]) -> bool:
    """Whether Alembic is to compare a thing that the database has with the declared schema.

    It leaves alone what revisions and `migrate` make by hand: the search indexes, the tables
    within SQLite's, and the state of the schema.
    """
    if name is None:
        return True
    if kind == "table":
        return name != STATE.name and not name.startswith(INDEX)
    return kind != "index" or name != LIKENESS_INDEX


def spelled_type(kind: str, thing: object, context: AutogenContext) -> str | Literal[False]:
    """How Alembic writes a thing into a revision; False leaves it to Alembic."""
    spelling = column_types.spelled(thing) if kind == "type" else None
    if spelling is None:
        return False
    context.imports.add("from comptoir.sql import column_types")
    return spelling


def _locate(config: Config) -> None:
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
