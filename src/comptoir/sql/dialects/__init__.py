"""Dialects: the differences between the SQL of SQLite and that of PostgreSQL.

The packages `sqlite` and `postgresql` contain the dialect itself, with its text index and its bulk
statements, and the same modules: `functions` and `routines`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import sqlalchemy as sa
from sqlalchemy.engine import Dialect as Compiler

from comptoir.edm.numbers import UNIT
from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import BoundSearch, Slot
from comptoir.plan.expressions.types import FunctionName
from comptoir.sql.prepared import Prepared, RowSelect, Statement, Value, constant

SqlValue: TypeAlias = sa.ColumnElement[str | int]
SqlExpression: TypeAlias = (
    sa.ColumnElement[bool] | sa.ColumnElement[str] | sa.ColumnElement[int] | SqlValue
)
FunctionTable: TypeAlias = Mapping[FunctionName, Callable[..., SqlExpression]]
"""The functions that build the SQL of a call. A test requires each name in each dialect."""


def infix(symbol: str) -> Callable[[SqlValue, SqlValue], SqlExpression]:
    """Return a function that builds an operation with an infix operator."""
    return lambda left, right: left.op(symbol)(right)


COMMON_FUNCTIONS: FunctionTable = {
    "add_native": infix("+"),
    "sub_native": infix("-"),
    "mul_native": infix("*"),
    "div_native": infix("/"),
    "mod_native": infix("%"),
    "negate": constant(0).op("-"),
    "scale": lambda number: number.op("*")(constant(UNIT)),
    "text_of_text": lambda text: text,
    "totalseconds": lambda duration: duration,
    "count": sa.func.count,
    "countdistinct": lambda values: sa.func.count(values.distinct()),
    "min": sa.func.min,
    "max": sa.func.max,
}
"""The functions that have the same SQL in all dialects."""

TIME_PARTS: Mapping[FunctionName, tuple[int, int]] = {
    "year": (1, 4),
    "month": (6, 2),
    "day": (9, 2),
    "hour": (12, 2),
    "minute": (15, 2),
    "second": (18, 2),
    "hour_of_time": (1, 2),
    "minute_of_time": (4, 2),
    "second_of_time": (7, 2),
}
"""The number that each function reads from a stored time: its first character and its length."""

MILLISECONDS: Mapping[FunctionName, int] = {
    "fractionalseconds": 21,
    "fractionalseconds_of_time": 10,
}
"""The first character of the milliseconds that each function reads from a stored time."""

LONGEST_TEXT = 2**30
"""A number of characters that is larger than the length of any text."""

Documents = Iterable[tuple[Stored, Stored]]
"""Numbers of documents in ascending order, with their texts."""


class TextIndex(Protocol):
    """An index of the database over the folded texts of documents."""

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


class BulkStatements(Protocol):
    """Statements that update or look up many rows of a company at once."""

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


@dataclass(frozen=True, eq=False, slots=True)
class Dialect:
    """The differences between databases that statements depend on."""

    compiler: Compiler
    functions: FunctionTable
    index: TextIndex
    bulk: BulkStatements
    no_limit: sa.ColumnElement[int] | None = None
    """A LIMIT without effect, if the database requires one with an OFFSET."""
