"""The dialect of SQLite, its text index, and its bulk statements.

These bind each value of each row by itself.
"""

from collections.abc import Iterator, Sequence
from typing import cast
from unicodedata import unidata_version

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.engine import Dialect as Compiler
from typing_extensions import override

from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import BoundSearch, ContainsTerm, Slot, padded
from comptoir.sql.dialects import Dialect, Documents
from comptoir.sql.dialects.functions import SQLITE_FUNCTIONS, SqlValue
from comptoir.sql.prepared import (
    Prepared,
    RowSelect,
    Statement,
    Value,
    constant,
    constant_text,
    named,
    prepare,
    slot,
    slot_of,
)
from comptoir.sql.tables import COMPANY, of_company

INDEX = "search_index"
"""The table. FTS5 stores its content in tables whose names begin with this name and `_`."""

CREATE_INDEX = (
    f"CREATE VIRTUAL TABLE IF NOT EXISTS {INDEX} USING fts5(folded, content='', columnsize=0, "
    "detail=none, tokenize='trigram case_sensitive 1')"
)

_TRIGRAMS = 4
"""The most trigrams of a term that a search looks up: reading further ones, of which many records
have each, takes longer than comparing the few more texts that lack them."""

# FTS5 reads commands from a column with the name of the table
_index = sa.table(
    INDEX, sa.column("rowid"), sa.column("folded", sa.Text), sa.column(INDEX, sa.Text)
)


LOOKUP_ROWS = 32
"""The most rows of values that one statement looks up.

The driver prepares a statement of over 16 KiB again each time.
"""


class SqliteDialect(Dialect):
    """SQLite, with a text index of FTS5 over trigrams of folded text.

    The index yields candidates: a text that has all trigrams of a term need not contain the term,
    so searches compare the texts as well. Without positions the index has a third of the size. One
    table serves all sets of all companies, and a search reads only the numbers of its own set's
    documents. Bulk statements look up some numbers of rows.
    """

    compiler: Compiler = SQLiteDialect(paramstyle="qmark")
    functions = SQLITE_FUNCTIONS
    no_limit = constant(-1)
    folding = unidata_version
    spans_companies = True

    def __init__(self) -> None:
        values = {"rowid": named("document"), "folded": named("folded")}
        drops = {INDEX: constant_text("delete"), **values}
        self._add, self._drop = [
            prepare(sa.insert(_index).values(each), self.compiler, ("document", "folded"))
            for each in (values, drops)
        ]

    @override
    def add(self, documents: Documents) -> Iterator[Statement]:
        yield self._add.many(map(_indexable, documents))

    @override
    def drop(self, documents: Documents) -> Iterator[Statement]:
        yield self._drop.many(map(_indexable, documents))

    @override
    def candidates(
        self, search: BoundSearch, first: sa.ColumnElement[int], last: sa.ColumnElement[int]
    ) -> sa.Select[str | int] | None:
        query = _query(search)
        if query is None:
            return None
        number: SqlValue = _index.c.rowid
        matched = sa.column(INDEX, sa.Text).bool_op("MATCH")(query)
        return sa.select(number).where(matched, number >= first, number <= last)

    @override
    def numbered(
        self,
        number: sa.ColumnElement[int],
        first: sa.ColumnElement[int],
        last: sa.ColumnElement[int],
    ) -> sa.ColumnElement[bool]:
        return number.between(first, last)

    @override
    def contains(self, text: sa.ColumnElement[str], term: Slot) -> sa.ColumnElement[bool]:
        return cast(
            "sa.ColumnElement[bool]", SQLITE_FUNCTIONS["contains_literal"](text, slot_of(term))
        )

    @override
    def lookup(
        self, found: RowSelect, table: sa.Table, names: Sequence[str], rows: int
    ) -> Prepared:
        wanted = [
            [slot(row * len(names) + number) for number in range(len(names))] for row in range(rows)
        ]
        company = of_company(table)
        if len(names) == 1:
            matched = sa.and_(company, table.c[names[0]].in_([row[0] for row in wanted]))
        else:
            # with the company in each alternative, else SQLite does not use the index for it
            matched = sa.or_(
                *(
                    sa.and_(
                        company,
                        *(table.c[name] == each for name, each in zip(names, row, strict=True)),
                    )
                    for row in wanted
                )
            )
        return prepare(found.where(matched), self.compiler, (COMPANY,))

    @override
    def lookup_values(
        self, wanted: Sequence[tuple[Stored, ...]]
    ) -> Iterator[tuple[int, Sequence[Value]]]:
        for start in range(0, len(wanted), LOOKUP_ROWS):
            rows = padded(wanted[start : start + LOOKUP_ROWS])
            yield len(rows), [value for row in rows for value in row]


def _indexable(document: tuple[Stored, Stored]) -> tuple[Stored, str]:
    number, text = document
    # FTS5 ends a text at NUL, which separates the properties here
    return number, str(text).replace("\0", " ")


def _query(search: BoundSearch) -> sa.ColumnElement[str] | None:
    """The text of FTS5's query, built from the bound terms when the statement runs."""
    if isinstance(search, ContainsTerm):
        if search.negated or not search.indexed:
            return None
        quoted = sa.func.comptoir_trigrams(slot_of(search.term), constant(_TRIGRAMS))
        return cast("sa.ColumnElement[str]", quoted)
    parts = [_query(each) for each in search.operands]
    queries = [part for part in parts if part is not None]
    if not queries or (search.operator == "or" and len(queries) < len(parts)):
        return None
    joined = constant_text("(") + queries[0]
    for part in queries[1:]:
        joined = joined + constant_text(f") {search.operator.upper()} (") + part
    return joined + constant_text(")")


SQLITE = SqliteDialect()
