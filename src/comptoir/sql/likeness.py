"""PostgreSQL's search index: trigrams (extension pg_trgm), which the database keeps by itself.

It serves `LIKE`, and compares the texts themselves, so it narrows every search and changes none.
Without the extension the documents are read through.
"""

from collections.abc import Iterator
from typing import cast

from sqlalchemy import ColumnElement, Select, func
from typing_extensions import override

from comptoir.plan.bound import Slot, Sought
from comptoir.sql.dialects import Documents, SearchIndex
from comptoir.sql.prepared import Statement, constant, slot_of


class LikenessIndex(SearchIndex):
    """Implements `SearchIndex` by an index on the column of the documents' texts."""

    # the routines fold, and whoever puts in others drops the documents
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
        self, sought: Sought, first: ColumnElement[int], last: ColumnElement[int]
    ) -> Select[str | int] | None:
        return None

    @override
    def numbered(
        self, number: ColumnElement[int], first: ColumnElement[int], last: ColumnElement[int]
    ) -> ColumnElement[bool]:
        # a sum is in no index: the planner would reckon that these are few, though they are all
        return (number + constant(0)).between(first, last)

    @override
    def contains(self, text: ColumnElement[str], term: Slot) -> ColumnElement[bool]:
        likeness = cast("ColumnElement[str]", func.comptoir_likeness(slot_of(term)))
        return text.like(likeness)
