"""The dialect of PostgreSQL."""

from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg

from comptoir.sql.dialects import Dialect
from comptoir.sql.dialects.postgresql.bulk_statements import PostgresBulkStatements
from comptoir.sql.dialects.postgresql.functions import FUNCTIONS
from comptoir.sql.dialects.postgresql.text_index import PgTrgmIndex

_compiler = PGDialect_asyncpg(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]

POSTGRESQL = Dialect(_compiler, FUNCTIONS, PgTrgmIndex(), PostgresBulkStatements(_compiler))
