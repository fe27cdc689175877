"""The schema of a database: its revision, and the programs that may use it.

Each revision declares in `serves` the oldest revision whose programs work with its schema. A schema
is expanded first, and contracted after no program uses the removed parts. So two consecutive
releases can use the same database during a rolling upgrade.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from sqlalchemy import Column, MetaData, PrimaryKeyConstraint, String, Table, delete, insert
from sqlalchemy.engine import Dialect

from comptoir.errors import operator_rows as problems
from comptoir.plan.read import Row
from comptoir.sql.prepared import Query, query_of
from comptoir.sql.tables import text
from comptoir.store.growth import changes, is_like

SERVES: Mapping[str, str] = MappingProxyType({f"{each:04}": "0001" for each in range(1, 15)})
"""The oldest revision whose programs work with the schema of each revision."""

HEAD = max(SERVES)
"""The revision of this program."""

TEXT_INDEX = "search_likeness"
"""The text index on PostgreSQL, which needs the extension pg_trgm."""

NAMED_CHANGES = 10
"""The most differences of two catalogs that an error names."""

Report = Callable[[str], None]
"""Receives one line on the progress of a migration, for the operator."""

T = TypeVar("T")
SchemaSteps = Generator[Query, list[Row], T]
"""Yields the statements of a migration, receives the rows of each, and returns a result."""

OF_SCHEMA = MetaData()
"""The tables with the state of the schema."""

VERSION = Table(
    # as Alembic names it, which earlier releases use
    "alembic_version",
    OF_SCHEMA,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
STATE = Table(
    "schema_state",
    OF_SCHEMA,
    Column("name", text(), nullable=False),
    Column("value", text(), nullable=False),
    PrimaryKeyConstraint("name", name="pk_schema_state"),
)


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The recorded state of a schema; a part that is not recorded is None.

    `routines` is the digest of the installed routines, and `unicode` the version of Unicode whose
    case mappings they contain. `catalog` is the source of the model (`Model.source`).
    """

    revision: str | None
    serves: str | None = None
    routines: str | None = None
    unicode: str | None = None
    catalog: str | None = None


_TABLES = {
    "sqlite": "SELECT name FROM sqlite_schema WHERE name IN ('alembic_version', 'schema_state')",
    "postgresql": (
        "SELECT relname FROM pg_class"
        " WHERE relname IN ('alembic_version', 'schema_state') AND pg_table_is_visible(oid)"
    ),
}
"""The tables of the state that a database has; reflection would look array types up."""


def state_of(dialect: str) -> SchemaSteps[SchemaState]:
    """The state of a database's schema."""
    tables = [name for (name,) in (yield Query(_TABLES[dialect], ()))]
    if VERSION.name not in tables:
        return SchemaState(None)
    versions = yield Query("SELECT version_num FROM alembic_version", ())
    rows: list[Row] = []
    if STATE.name in tables:
        rows = yield Query("SELECT name, value FROM schema_state", ())
    stored = {str(name): str(value) for name, value in rows}
    revision = str(versions[0][0]) if versions else None
    # earlier releases upgrade a schema without recording what it serves
    serves = stored.get("serves") if stored.get("revision") == revision else None
    others = [stored.get(name) for name in ("routines", "unicode", "catalog")]
    return SchemaState(revision, serves, *others)


def is_outdated(state: SchemaState, name: str) -> bool:
    """Whether a schema lacks revisions; a newer one that serves this program does not.

    Raises `OperatorError`, which calls the database `name`, if the schema is too new.
    """
    if state.revision is None or state.revision in SERVES:
        return state.revision != HEAD
    if state.serves in SERVES:
        return False
    raise problems.NEWER_SCHEMA(name=name, revision=state.revision, head=HEAD)


def check_state(state: SchemaState, name: str, catalog: str = "") -> None:
    """Raise `OperatorError` if this program cannot use the schema of the database `name`.

    With the source of a model, the database must have the same one, or one with other texts.
    """
    if is_outdated(state, name):
        row = problems.OUTDATED_SCHEMA if state.revision else problems.NO_SCHEMA
        raise row(name=name, revision=state.revision, head=HEAD)
    if catalog and state.catalog != catalog and not is_like(state.catalog or "{}", catalog):
        found = [each.text for each in changes(state.catalog or "{}", catalog)]
        listed = "; ".join([*found[:NAMED_CHANGES], *["…"] * (len(found) > NAMED_CHANGES)])
        raise problems.OTHER_CATALOG(name=name, changes=listed or "the order differs")


def store_state(dialect: Dialect, **state: str) -> SchemaSteps[None]:
    """Record parts of the state of a database's schema."""
    for name, value in state.items():
        yield query_of(delete(STATE).where(STATE.c.name == name), dialect)
        yield query_of(insert(STATE).values(name=name, value=value), dialect)
