"""All statements of a dialect over a model."""

from functools import cache, cached_property

from comptoir.edm.model import Model
from comptoir.sql.copying import CopyStatements
from comptoir.sql.dialects import Dialect
from comptoir.sql.reads import ReadStatements
from comptoir.sql.service_tables import ServiceStatements
from comptoir.sql.tables import build_tables
from comptoir.sql.text_index import TextIndexStatements
from comptoir.sql.writes import WriteStatements


class Statements:
    """The statements that a store sends to its database.

    What a service reads with is compiled at once, the rest when it is first used: a service that
    is only read from does not compile writes, nor one without searches their text index.
    """

    def __init__(self, model: Model, dialect: Dialect) -> None:
        self._model = model
        self._dialect = dialect
        self.tables = build_tables(model)
        self.reads = ReadStatements(model, self.tables, dialect)
        self.service = ServiceStatements(self.tables, dialect.compiler)

    @cached_property
    def writes(self) -> WriteStatements:
        """What changes records."""
        return WriteStatements(self._model, self.tables, self._dialect)

    @cached_property
    def index(self) -> TextIndexStatements:
        """What keeps the text index up to date."""
        return TextIndexStatements(self._model, self.tables, self._dialect)

    @cached_property
    def copying(self) -> CopyStatements:
        """What copies companies."""
        return CopyStatements(self._model, self.tables, self._dialect.compiler)


@cache
def statements_of(model: Model, dialect: Dialect) -> Statements:
    """The statements over a model in a dialect, compiled once for all stores of a process."""
    return Statements(model, dialect)
