"""The dialect of SQLite."""

from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from comptoir.sql.dialects import Dialect
from comptoir.sql.dialects.sqlite.bulk_statements import SqliteBulkStatements
from comptoir.sql.dialects.sqlite.functions import FUNCTIONS
from comptoir.sql.dialects.sqlite.text_index import Fts5Index
from comptoir.sql.prepared import constant

_compiler = SQLiteDialect(paramstyle="qmark")

SQLITE = Dialect(
    _compiler,
    FUNCTIONS,
    Fts5Index(_compiler),
    SqliteBulkStatements(_compiler),
    no_limit=constant(-1),
)
