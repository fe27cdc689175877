"""All statements of a dialect over a model."""

from functools import cache, cached_property

from sqlalchemy.sql import ClauseElement

from comptoir.edm.model import Model
from comptoir.sql.company_rows import CompanyRowStatements
from comptoir.sql.dialects import Dialect
from comptoir.sql.prepared import Query, query_of
from comptoir.sql.reads import ReadStatements
from comptoir.sql.service_statements import ServiceStatements
from comptoir.sql.tables import build_tables
from comptoir.sql.text_index import TextIndexStatements
from comptoir.sql.writes import WriteStatements


class Statements:
    """The statements that a store sends to its database.

    Statements of writes, of the text index and of copies are compiled at their first use.
    """

    def __init__(self, model: Model, dialect: Dialect) -> None:
        self._model = model
        self._dialect = dialect
        self.compiler = dialect.compiler
        self.tables = build_tables(model)
        self.reads = ReadStatements(model, self.tables, dialect)
        self.service = ServiceStatements(self.tables, self.compiler)

    def query(self, statement: ClauseElement) -> Query:
        """A statement that is not frequent, with the values in it."""
        return query_of(statement, self.compiler)

    @cached_property
    def writes(self) -> WriteStatements:
        """Statements that write records."""
        return WriteStatements(self.tables, self._dialect)

    @cached_property
    def index(self) -> TextIndexStatements:
        """Statements that update the text index."""
        return TextIndexStatements(self._model, self.tables, self._dialect)

    @cached_property
    def company_rows(self) -> CompanyRowStatements:
        """Statements that copy and delete companies."""
        return CompanyRowStatements(self._model, self.tables, self.compiler)


@cache
def statements_of(model: Model, dialect: Dialect) -> Statements:
    """The statements over a model in a dialect, compiled once for all stores of a process."""
    return Statements(model, dialect)
