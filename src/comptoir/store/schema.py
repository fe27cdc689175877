"""The revisions of the schema: how Alembic runs them, and which programs may use which schema.

Every revision says which programs the schema that it makes serves: `serves` is the oldest revision
whose programs go on working on it. A schema is expanded first, and contracted when no program uses
any more what goes: so the programs of before and after a revision run side by side while they are
replaced one by one.
"""

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from alembic import command
from alembic.autogenerate.api import AutogenContext
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, MetaData, Table, delete, insert, inspect, select

from comptoir.edm.model import Model
from comptoir.errors import OperatorError
from comptoir.sql import column_types
from comptoir.sql.dialects.sqlite.text_index import INDEX
from comptoir.sql.tables import build_tables

MIGRATIONS = Path(__file__).parent / "migrations"

LIKENESS_INDEX = "search_likeness"
"""PostgreSQL's index over the texts of documents, which is there where pg_trgm can be had."""

Tell = Callable[[str], None]
"""Takes a line on what is going on, for whoever runs a migration."""

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

_state = Table(
    "schema_state",
    MetaData(),
    Column("name", column_types.text(), primary_key=True),
    Column("value", column_types.text(), nullable=False),
)


@dataclass(frozen=True, slots=True)
class Revisions:
    """The revisions that this program knows: the last one, and for each what it serves."""

    head: str
    serves: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SchemaState:
    """What a database says of its schema; None for what it does not say.

    `serves` counts for `revision` alone. `routines` is the digest of the routines that are in it,
    `unicode` the version of Unicode whose rules of case they follow.
    """

    revision: str | None
    serves: str | None = None
    routines: str | None = None
    unicode: str | None = None


@cache
def revisions() -> Revisions:
    """The revisions that come with this program."""
    config = Config()
    _locate(config)
    scripts = ScriptDirectory.from_config(config)
    head = scripts.get_current_head() or ""
    return Revisions(head, {each.revision: each.module.serves for each in scripts.walk_revisions()})


def state_of(connection: Connection) -> SchemaState:
    """What a database says of its schema."""
    revision = MigrationContext.configure(connection).get_current_revision()
    if revision is None or not inspect(connection).has_table(_state.name):
        return SchemaState(revision)
    rows = connection.execute(select(_state.c.name, _state.c.value))
    kept = {str(name): str(value) for name, value in rows}
    serves = kept.get("serves") if kept.get("revision") == revision else None
    return SchemaState(revision, serves, kept.get("routines"), kept.get("unicode"))


def is_behind(state: SchemaState, name: str) -> bool:
    """Whether a database lacks revisions; a newer one that serves this program lacks none.

    Raises `OperatorError`, which calls the database by `name`, when its schema is too new.
    """
    known = revisions()
    if state.revision is None or state.revision in known.serves:
        return state.revision != known.head
    if state.serves in known.serves:
        return False
    raise OperatorError(
        f"{name} has schema {state.revision}, which is newer than this program knows "
        f"({known.head}). Upgrade comptoir, or name another database."
    )


def check_state(state: SchemaState, name: str) -> None:
    """Raise `OperatorError` when this program cannot use the schema of a database."""
    if is_behind(state, name):
        raise OperatorError(
            f"{name} has {f'schema {state.revision}' if state.revision else 'no schema'}, "
            f"and this program needs {revisions().head}. Run `comptoir migrate`."
        )


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


def keep(connection: Connection, **facts: str) -> None:
    """Keep what a database says of its schema."""
    connection.execute(delete(_state).where(_state.c.name.in_(facts)))
    connection.execute(
        insert(_state), [{"name": name, "value": value} for name, value in facts.items()]
    )


def alembic_config(connection: Connection, model: Model) -> Config:
    """The configuration with which Alembic runs on a connection."""
    config = Config()
    _locate(config)
    config.attributes["connection"] = connection
    config.attributes["metadata"] = build_tables(model).metadata
    return config


def is_declared(name: str | None, kind: Kind, _: MutableMapping[Parent, str | None]) -> bool:
    """Whether Alembic is to compare a thing that the database has with the declared schema.

    It leaves alone what revisions and `migrate` make by hand: the search indexes, the tables
    within SQLite's, and the state of the schema.
    """
    if name is None:
        return True
    if kind == "table":
        return name != _state.name and not name.startswith(INDEX)
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
