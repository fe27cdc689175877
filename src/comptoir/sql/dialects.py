"""A dialect: how to say to a database what every database is told."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import ColumnElement, Select
from sqlalchemy.engine import Dialect as Compiler

from comptoir.edm.primitive import Stored
from comptoir.plan.bound import Slot, Sought
from comptoir.sql.functions import FunctionTable
from comptoir.sql.prepared import Statement

Documents = Iterable[tuple[Stored, Stored]]
"""Numbers of documents, rising, with their texts."""


class SearchIndex(Protocol):
    """The database's own index over the folded texts of documents."""

    folding: str
    """By which rules the texts of documents are folded: other rules, other documents."""

    spans_companies: bool
    """Whether the numbers of documents are told apart by them alone, over all companies."""

    def add(self, documents: Documents) -> Iterator[Statement]:
        """What to run to index documents."""

    def drop(self, documents: Documents) -> Iterator[Statement]:
        """What to run to take documents out of the index, by the texts that they had."""

    def candidates(
        self, sought: Sought, first: ColumnElement[int], last: ColumnElement[int]
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
    """What differs between databases: how statements are compiled, functions, search index."""

    compiler: Compiler
    functions: FunctionTable
    index: SearchIndex
    no_limit: ColumnElement[int] | None = None
    """What a LIMIT says that limits nothing, where an OFFSET cannot stand alone."""
    arrays: bool = False
    """Whether a value that is bound may be an array."""
