"""The dialect of PostgreSQL, its text index, and its bulk statements, which bind arrays.

A temporary table would need rights of its own and fill the database's catalog. It would also have
no company: with tables distributed by company, a statement that joins it would not run on a single
node.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.engine import Dialect as Compiler
from typing_extensions import override

from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import Slot
from comptoir.sql.dialects import Dialect
from comptoir.sql.dialects.functions import POSTGRESQL_FUNCTIONS
from comptoir.sql.prepared import (
    BulkQuery,
    Prepared,
    RowSelect,
    Value,
    constant,
    converted,
    prepare,
    slot_of,
)
from comptoir.sql.tables import COMPANY, of_company


class PostgresDialect(Dialect):
    """PostgreSQL, with a text index of trigrams (extension pg_trgm), which it maintains itself.

    The index serves `LIKE`, which compares the texts themselves. Without the extension, searches
    scan the documents and find the same. Bulk statements bind arrays.
    """

    # SQLAlchemy's dialects declare no types
    compiler: Compiler = PGDialect_asyncpg(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
    functions = POSTGRESQL_FUNCTIONS
    # routines fold the texts, and `migrate` drops the documents when it changes the routines
    folding = "routines"
    spans_companies = False

    @override
    def numbered(
        self,
        number: sa.ColumnElement[int],
        first: sa.ColumnElement[int],
        last: sa.ColumnElement[int],
    ) -> sa.ColumnElement[bool]:
        # an expression keeps the planner from the estimate that the range selects few documents
        return (number + constant(0)).between(first, last)

    @override
    def contains(self, text: sa.ColumnElement[str], term: Slot) -> sa.ColumnElement[bool]:
        pattern: sa.ColumnElement[str] = sa.func.comptoir_likeness(slot_of(term))
        return text.like(pattern)

    @override
    def computed_once(self, keys: sa.SelectBase) -> sa.SelectBase:
        # for a company that the statistics lack, the planner expects a single record, so it would
        # compute the keys again for each
        return sa.select(*keys.cte(nesting=True).prefix_with("MATERIALIZED").c)

    @override
    def update(self, table: sa.Table, key: str, names: Sequence[str], row: Prepared) -> Prepared:
        staged = _rows("staged", {name: table.c[name] for name in (key, *names)})
        statement = (
            sa.update(table)
            .where(of_company(table), table.c[key] == staged.c[key])
            .values({table.c[name]: staged.c[name] for name in names})
        )
        prepared = prepare(statement, self.compiler, (COMPANY, key, *names))
        sources = tuple([row.order.index(each) for each in prepared.order])
        shared, found_by = prepared.order.index(0), prepared.order.index(1)
        staging = BulkQuery(prepared.text, sources, shared, found_by, prepared.conversions)
        return msgspec.structs.replace(row, bulk=staging)

    @override
    def lookup(
        self, found: RowSelect, table: sa.Table, names: Sequence[str], rows: int
    ) -> Prepared:
        wanted = _rows("wanted", {name: table.c[name] for name in names})
        matching = (
            found.where(of_company(table), *(table.c[name] == wanted.c[name] for name in names))
            # keeps the planner from a join, which does not use the index while there are no
            # statistics: it then estimates any company as a small part of the table
            .offset(constant(0))
            .lateral("found")
        )
        statement = sa.select(*matching.c).select_from(wanted.join(matching, sa.true()))
        return prepare(statement, self.compiler, (COMPANY, *names))

    @override
    def lookup_values(
        self, wanted: Sequence[tuple[Stored, ...]]
    ) -> Iterator[tuple[int, Sequence[Value]]]:
        if wanted:
            yield 1, list(zip(*wanted, strict=True))


def _rows(
    name: str, columns: Mapping[str, sa.Column[str | int] | sa.Column[bytes]]
) -> sa.TableValuedAlias:
    """The rows of values that are bound as an array for each column."""
    arrays = [
        # in a subquery, so that the plan does not depend on the number of values
        sa.select(_array(each, column)).scalar_subquery()
        for each, column in columns.items()
    ]
    return sa.func.unnest(*arrays).table_valued(*columns).render_derived(name=name)


def _array(
    name: str, column: sa.Column[str | int] | sa.Column[bytes]
) -> sa.ColumnElement[Sequence[str | int | bytes]]:
    """A bind parameter for the values of a column: an array of texts, or an array as one text.

    asyncpg knows arrays of texts. It looks up any other array type by a recursive query of the
    catalog, which takes many seconds on a node of Citus with shards.
    """
    if isinstance(column.type, sa.Integer):
        return sa.cast(converted(name, _numbers), sa.ARRAY(sa.BigInteger))
    if isinstance(column.type, sa.LargeBinary):
        return sa.cast(converted(name, _binaries), sa.ARRAY(sa.LargeBinary))
    return sa.bindparam(name, type_=sa.ARRAY(sa.Text), required=True)


def _numbers(values: Value) -> str:
    """Numbers in the text form of an array (PostgreSQL, "Array Value Input")."""
    return (
        "{" + ",".join("NULL" if each is None else f"{each!s}" for each in _of_rows(values)) + "}"
    )


def _binaries(values: Value) -> str:
    """Binary values in the text form of an array, each in hexadecimal digits."""
    listed = [
        f'"\\\\x{each.hex()}"' if isinstance(each, bytes) else "NULL" for each in _of_rows(values)
    ]
    return "{" + ",".join(listed) + "}"


def _of_rows(values: Value) -> Sequence[str | int | bytes | None]:
    if values is None or isinstance(values, str | int | bytes):
        raise TypeError("an array requires the values of many rows")
    return values


POSTGRESQL = PostgresDialect()
