"""The schema of a database: its revision, and the programs that may use it.

Each revision declares in `serves` the oldest revision whose programs work with its schema. A schema
is expanded first, and contracted after no program uses the removed parts. So two consecutive
releases can use the same database during a rolling upgrade.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    delete,
    insert,
    inspect,
    select,
)

from comptoir.errors import operator_rows as problems
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

OF_SCHEMA = MetaData()
"""The tables with the state of the schema."""

_version = Table(
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

    @classmethod
    def of(cls, revision: str | None, stored: Mapping[str, str]) -> Self:
        """The state by the rows of the table `schema_state`."""
        # earlier releases upgrade a schema without recording what it serves
        serves = stored.get("serves") if stored.get("revision") == revision else None
        return cls(
            revision, serves, *(stored.get(name) for name in ("routines", "unicode", "catalog"))
        )


def state_of(connection: Connection) -> SchemaState:
    """The state of a database's schema."""
    tables = inspect(connection)
    if not tables.has_table(_version.name):
        return SchemaState(None)
    revision = connection.scalar(select(_version.c.version_num))
    if revision is None or not tables.has_table(STATE.name):
        return SchemaState(revision)
    rows = connection.execute(select(STATE.c.name, STATE.c.value)).all()
    return SchemaState.of(revision, {str(name): str(value) for name, value in rows})


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


def store_revision(connection: Connection, catalog: str) -> None:
    """Record that a database has the schema of this program with a catalog."""
    connection.execute(delete(_version))
    connection.execute(insert(_version).values(version_num=HEAD))
    store_state(connection, revision=HEAD, serves=SERVES[HEAD], catalog=catalog)


def store_state(connection: Connection, **state: str) -> None:
    """Record parts of the state of a database's schema."""
    connection.execute(delete(STATE).where(STATE.c.name.in_(state)))
    connection.execute(
        insert(STATE), [{"name": name, "value": value} for name, value in state.items()]
    )
