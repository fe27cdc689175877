"""Statements over many rows at once, with one array for each column.

A unit of work stages its rows in the statement itself. A temporary table would need rights of its
own and fill the database's catalog. It would also have no company: where tables are distributed by
company, a statement that joins it would not run on a single node.
"""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ColumnElement,
    Integer,
    Table,
    TableValuedAlias,
    Text,
    bindparam,
    cast,
    func,
    select,
    true,
    update,
)
from sqlalchemy.engine import Dialect

from comptoir.sql.prepared import Prepared, Staging, Value, constant, converted, named, prepare
from comptoir.sql.tables import COMPANY_ID

_COMPANY = "company"


def staged_update(
    table: Table, key: str, names: Sequence[str], row: Prepared, compiler: Dialect
) -> Prepared:
    """A statement that updates a row, with one beside it that updates many.

    The values of `row` are the company, that of the column `key`, and those of the columns `names`,
    which they are to become.
    """
    staged = _rows("staged", {name: table.c[name] for name in (key, *names)})
    statement = (
        update(table)
        .where(table.c[COMPANY_ID] == named(_COMPANY), table.c[key] == staged.c[key])
        .values({table.c[name]: staged.c[name] for name in names})
    )
    prepared = prepare(statement, compiler, (_COMPANY, key, *names))
    sources = tuple([row.places.index(place) for place in prepared.places])
    shared, found_by = prepared.places.index(0), prepared.places.index(1)
    staging = Staging(prepared.text, sources, shared, found_by, prepared.conversions)
    return msgspec.structs.replace(row, together=staging)


def matching(
    table: Table,
    given: Sequence[Column[str | int]],
    holds: Sequence[ColumnElement[bool]],
    names: Sequence[str],
    compiler: Dialect,
) -> Prepared:
    """Some columns of the rows that match lists of values: company, then an array for each name.

    `given` are the columns that are given, `holds` what must hold besides, and `names` the columns
    whose values are wanted.
    """
    wanted = _rows("wanted", {name: table.c[name] for name in names})
    found = (
        select(*given)
        .where(
            table.c[COMPANY_ID] == named(_COMPANY),
            *(table.c[name] == wanted.c[name] for name in names),
            *holds,
        )
        # keeps the planner from joining, which it does without the index as long as it knows
        # nothing about a table: then it takes any company for a small part of it
        .offset(constant(0))
        .lateral("found")
    )
    statement = select(*found.c).select_from(wanted.join(found, true()))
    return prepare(statement, compiler, (_COMPANY, *names))


def _rows(name: str, columns: Mapping[str, Column[str | int]]) -> TableValuedAlias:
    """Values that are bound as an array for each column, as rows."""
    arrays = [
        # as values of a subquery, so that a plan does not depend on how many there are
        select(_array(each, column)).scalar_subquery()
        for each, column in columns.items()
    ]
    return func.unnest(*arrays).table_valued(*columns).render_derived(name=name)


def _array(name: str, column: Column[str | int]) -> ColumnElement[Sequence[str | int]]:
    """The place of the values of a column: an array of texts, or of numbers in the form of a text.

    asyncpg knows arrays of texts. For one of another type, it first looks the type up by a
    recursive query of the catalog, which takes Citus many seconds on a node that has shards.
    """
    if isinstance(column.type, Integer):
        return cast(converted(name, _numbers), ARRAY(BigInteger))
    return bindparam(name, type_=ARRAY(Text), required=True)


def _numbers(values: Value) -> str:
    """Numbers in the text form of an array (PostgreSQL, "Array Value Input")."""
    if values is None or isinstance(values, str | int):
        raise TypeError("an array is made of the values of many rows")
    return "{" + ",".join("NULL" if each is None else f"{each:d}" for each in values) + "}"
