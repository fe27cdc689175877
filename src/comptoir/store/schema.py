"""The schema of a database: its revision, and which programs may use it.

Every revision says which programs the schema that it makes serves: `serves` is the oldest revision
whose programs go on working on it. A schema is expanded first, and contracted when no program uses
any more what goes: so the programs of before and after a revision run side by side while they are
replaced one by one.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, Table, delete, insert, inspect, select

from comptoir.errors import OperatorError
from comptoir.sql import column_types

MIGRATIONS = Path(__file__).parent / "migrations"

LIKENESS_INDEX = "search_likeness"
"""PostgreSQL's index over the texts of documents, which is there where pg_trgm can be had."""

Tell = Callable[[str], None]
"""Takes a line on what is going on, for whoever runs a migration."""

_DECLARED = re.compile(r"""^(revision|serves) = ["'](\w+)["']$""", re.MULTILINE)

_metadata = MetaData()
_version = Table(
    "alembic_version", _metadata, Column("version_num", column_types.text(32), primary_key=True)
)
STATE = Table(
    "schema_state",
    _metadata,
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
    """The revisions that come with this program.

    Read from the texts of their modules: Alembic, which would import them, costs more than
    everything else that a service does at its start.
    """
    serves: dict[str, str] = {}
    for path in sorted((MIGRATIONS / "versions").glob("[0-9]*.py")):
        declared = dict(_DECLARED.findall(path.read_text(encoding="utf-8")))
        serves[declared["revision"]] = declared["serves"]
    return Revisions(max(serves), serves)


def state_of(connection: Connection) -> SchemaState:
    """What a database says of its schema."""
    tables = inspect(connection)
    if not tables.has_table(_version.name):
        return SchemaState(None)
    revision = connection.scalar(select(_version.c.version_num))
    if revision is None or not tables.has_table(STATE.name):
        return SchemaState(revision)
    rows = connection.execute(select(STATE.c.name, STATE.c.value))
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


def keep(connection: Connection, **facts: str) -> None:
    """Keep what a database says of its schema."""
    connection.execute(delete(STATE).where(STATE.c.name.in_(facts)))
    connection.execute(
        insert(STATE), [{"name": name, "value": value} for name, value in facts.items()]
    )
