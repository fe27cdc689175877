"""PostgreSQL's text index: trigrams (extension pg_trgm), which the database maintains itself.

The index serves `LIKE`, which compares the texts themselves. Without the extension, searches scan
the documents and find the same.
"""

from collections.abc import Iterator
from typing import cast

from sqlalchemy import ColumnElement, Select, func
from typing_extensions import override

from comptoir.plan.expressions.nodes import BoundSearch, Slot
from comptoir.sql.dialects import Documents, TextIndex
from comptoir.sql.prepared import Statement, constant, slot_of


class PgTrgmIndex(TextIndex):
    """Implements `TextIndex` by an index on the column of the documents' texts."""

    # routines fold the texts, and `migrate` drops the documents when it changes the routines
    folding = "routines"
    spans_companies = False

    @override
    def add(self, documents: Documents) -> Iterator[Statement]:
        return iter(())

    @override
    def drop(self, documents: Documents) -> Iterator[Statement]:
        return iter(())

    @override
    def candidates(
        self, search: BoundSearch, first: ColumnElement[int], last: ColumnElement[int]
    ) -> Select[str | int] | None:
        return None

    @override
    def numbered(
        self, number: ColumnElement[int], first: ColumnElement[int], last: ColumnElement[int]
    ) -> ColumnElement[bool]:
        # an expression keeps the planner from the estimate that the range selects few documents
        return (number + constant(0)).between(first, last)

    @override
    def contains(self, text: ColumnElement[str], term: Slot) -> ColumnElement[bool]:
        pattern = cast("ColumnElement[str]", func.comptoir_likeness(slot_of(term)))
        return text.like(pattern)
