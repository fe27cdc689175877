"""Whether a database can be served now, by what the connected node itself knows.

On a cluster of Citus a worker that fails takes its own companies with it, and no others. A check
that read a company would fail on every host at once, and a proxy would take all of them out.
"""

import asyncpg

from comptoir.edm.types import Stored
from comptoir.plan.read import Row
from comptoir.sql.prepared import Query
from comptoir.store.schema import SchemaState, check_state

READINESS = Query(
    "SELECT version_num, (SELECT serves.value FROM schema_state AS serves, schema_state AS kept"
    " WHERE serves.name = 'serves' AND kept.name = 'revision' AND kept.value = version_num),"
    " has_table_privilege('companies', 'SELECT')"
    " FROM (SELECT) AS always LEFT JOIN alembic_version ON true",
    (),
)
"""The schema, from tables that are not distributed, and a right, from the catalog."""


def check_readiness(row: Row, name: str) -> None:
    """Check what `READINESS` found in the database that is called `name`.

    Raises `OperatorError` when the schema is not one for this program, and PostgreSQL's own error
    when the right is missing.
    """
    revision, serves, may_read = row
    check_state(SchemaState(_text(revision), _text(serves)), name)
    if not may_read:
        raise asyncpg.InsufficientPrivilegeError("permission denied for table companies")


def _text(value: Stored | None) -> str | None:
    return None if value is None else str(value)
