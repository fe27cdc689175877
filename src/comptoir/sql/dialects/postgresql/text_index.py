"""PostgreSQL's text index: trigrams (extension pg_trgm), which the database maintains itself.

The index serves `LIKE`, which compares the texts themselves. Without the extension, searches scan
the documents and find the same.
"""

from typing import cast

from sqlalchemy import ColumnElement, func
from typing_extensions import override

from comptoir.plan.expressions.nodes import Slot
from comptoir.sql.dialects import TextIndex
from comptoir.sql.prepared import constant, slot_of


class PgTrgmIndex(TextIndex):
    """Implements `TextIndex` by an index on the column of the documents' texts."""

    # routines fold the texts, and `migrate` drops the documents when it changes the routines
    folding = "routines"
    spans_companies = False

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
