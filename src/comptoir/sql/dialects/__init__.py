"""Dialects: the differences between the SQL of SQLite and that of PostgreSQL.

The packages `sqlite` and `postgresql` contain the dialect itself, with its text index and its bulk
statements, and its `routines`. The table `functions` has the SQL of both.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy.engine import Dialect as Compiler

from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import BoundSearch, Slot
from comptoir.sql.dialects.functions import FunctionTable
from comptoir.sql.prepared import Prepared, RowSelect, Statement, Value

Documents = Iterable[tuple[Stored, Stored]]
"""Numbers of documents in ascending order, with their texts."""


class Dialect(Protocol):
    """The differences between databases: functions, a text index, and bulk statements.

    The index is over the folded texts of documents. Bulk statements update or look up many rows of
    a company at once.
    """

    compiler: Compiler
    functions: FunctionTable

    no_limit: sa.ColumnElement[int] | None = None
    """A LIMIT without effect, if the database requires one with an OFFSET."""

    folding: str
    """The version of the rules that fold texts; a change invalidates all documents."""

    spans_companies: bool
    """Whether document numbers are unique over all companies, not within each company."""

    def add(self, documents: Documents) -> Iterator[Statement]:
        """Return the statements that index documents: none if the database does it itself."""
        return iter(())

    def drop(self, documents: Documents) -> Iterator[Statement]:
        """Return the statements that remove documents, with the texts as they were added."""
        return iter(())

    def candidates(
        self, search: BoundSearch, first: sa.ColumnElement[int], last: sa.ColumnElement[int]
    ) -> sa.Select[str | int] | None:
        """Select the numbers, from `first` to `last`, of documents that a search may find.

        Returns None if the index does not narrow the search: every document is a candidate.
        """
        return None

    def numbered(
        self,
        number: sa.ColumnElement[int],
        first: sa.ColumnElement[int],
        last: sa.ColumnElement[int],
    ) -> sa.ColumnElement[bool]:
        """Build the condition that the number of a document is from `first` to `last`."""

    def contains(self, text: sa.ColumnElement[str], term: Slot) -> sa.ColumnElement[bool]:
        """Build the condition that the text of a document contains a folded term."""

    def computed_once(self, keys: sa.SelectBase) -> sa.SelectBase:
        """Select the same keys for a condition, computed once, whatever the planner expects."""
        return keys

    def update(self, table: sa.Table, key: str, names: Sequence[str], row: Prepared) -> Prepared:
        """Return the statement `row`, which updates one row, with its bulk form if there is one.

        Its values are the company, the value of the column `key`, and the new values of `names`.
        """
        return row

    def lookup(
        self, found: RowSelect, table: sa.Table, names: Sequence[str], rows: int
    ) -> Prepared:
        """Return the statement for those found rows of a table that have wanted values of `names`.

        Its values are the company and those of `lookup_values`, which also returns `rows`.
        """

    def lookup_values(
        self, wanted: Sequence[tuple[Stored, ...]]
    ) -> Iterator[tuple[int, Sequence[Value]]]:
        """Divide rows of values among statements: their number of rows, and their bound values."""
