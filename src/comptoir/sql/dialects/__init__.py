"""Dialects: what differs between the SQL of SQLite and of PostgreSQL.

`sqlite` and `postgresql` have the same modules: `dialect`, `functions`, `routines`, `text_index`,
`patterns` and `types`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from sqlalchemy import ColumnElement, Select
from sqlalchemy.engine import Dialect as Compiler

from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import BoundSearch, Slot
from comptoir.plan.functions import FunctionName
from comptoir.sql.prepared import Statement

Operand: TypeAlias = ColumnElement[str | int]
SqlExpression: TypeAlias = ColumnElement[bool] | ColumnElement[str] | ColumnElement[int] | Operand
FunctionTable: TypeAlias = Mapping[FunctionName, Callable[..., SqlExpression]]
"""Builds the SQL of each function. A dialect has all of them: tests/sql/dialects checks this."""

LONGEST_TEXT = 2**30
"""A number of characters that no text of a database reaches."""

Documents = Iterable[tuple[Stored, Stored]]
"""Numbers of documents, rising, with their texts."""


class TextIndex(Protocol):
    """The database's own index over the folded texts of documents."""

    folding: str
    """A mark of the rules that fold texts. When it changes, the documents are built again."""

    spans_companies: bool
    """Whether document numbers are unique over all companies, not within each company."""

    def add(self, documents: Documents) -> Iterator[Statement]:
        """The statements that index documents."""

    def drop(self, documents: Documents) -> Iterator[Statement]:
        """The statements that remove documents, by the texts that they were added with."""

    def candidates(
        self, sought: BoundSearch, first: ColumnElement[int], last: ColumnElement[int]
    ) -> Select[str | int] | None:
        """The numbers, from `first` to `last`, of documents that a search may find.

        None when that does not narrow the search: then every document is a candidate.
        """

    def numbered(
        self, number: ColumnElement[int], first: ColumnElement[int], last: ColumnElement[int]
    ) -> ColumnElement[bool]:
        """Whether the number of a document is one from `first` to `last`."""

    def contains(self, text: ColumnElement[str], term: Slot) -> ColumnElement[bool]:
        """Whether the text of a document contains a folded term."""


@dataclass(frozen=True, eq=False, slots=True)
class Dialect:
    """What statements need to know of a database: its compiler, functions and text index."""

    compiler: Compiler
    functions: FunctionTable
    index: TextIndex
    no_limit: ColumnElement[int] | None = None
    """The LIMIT without effect, where an OFFSET needs one beside it."""
    arrays: bool = False
    """Whether a bound value may be an array."""
