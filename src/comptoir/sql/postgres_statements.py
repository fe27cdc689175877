"""All statements for PostgreSQL; a service on SQLite does without SQLAlchemy's part for it."""

from functools import cache

from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg

from comptoir.edm.model import Model
from comptoir.sql.dialects import Dialect
from comptoir.sql.likeness import LikenessIndex
from comptoir.sql.postgres import POSTGRES
from comptoir.sql.statements import Statements


@cache
def postgres_statements(model: Model) -> Statements:
    """The statements for PostgreSQL, compiled once for all stores of a process."""
    compiler = PGDialect_asyncpg(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
    return Statements(model, Dialect(compiler, POSTGRES, LikenessIndex(), arrays=True))
