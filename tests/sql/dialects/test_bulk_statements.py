"""Bulk statements look up the rows with any number of wanted values."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import product

import apsw
from sqlalchemy import Column, MetaData, Table, select
from sqlalchemy.schema import CreateTable

from comptoir.sql.dialects import Dialect
from comptoir.sql.dialects.postgresql import POSTGRESQL
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Query
from comptoir.sql.tables import COMPANY_ID, text, whole
from support.functions import OnPostgres
from support.together import together

COMPANY = "X"
SIZES = (0, 1, 3, 512, 513, 1_300)
NAMES = (("code",), ("code", "number"))

ROWS = Table(
    "looked_up",
    MetaData(),
    Column(COMPANY_ID, text()),
    Column("code", text()),
    Column("number", whole()),
)
STORED = [(company, f"c{number}", number) for company in (COMPANY, "Y") for number in range(1_500)]


def _queries(dialect: Dialect, size: int, names: tuple[str, ...]) -> Iterator[Query]:
    wanted = [(f"c{number}", number)[: len(names)] for number in range(size)]
    for rows, values in dialect.lookup_values(wanted):
        prepared = dialect.lookup(select(*ROWS.c), ROWS, names, rows)
        yield prepared.query(COMPANY, *values)


@together(("size", "names"), product(SIZES, NAMES))
def _check_each(
    size: int,
    names: tuple[str, ...],
    dialect: Dialect,
    fetch: Callable[[Query], Iterable[tuple[object, ...]]],
) -> None:
    found = [tuple(row) for query in _queries(dialect, size, names) for row in fetch(query)]
    assert sorted(found) == sorted(STORED[:size])


def test_sqlite_finds_every_row_once() -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(str(CreateTable(ROWS).compile(dialect=SQLITE.compiler)))
        connection.executemany("INSERT INTO looked_up VALUES (?, ?, ?)", STORED)
        _check_each(
            dialect=SQLITE, fetch=lambda query: connection.execute(query.text, query.values)
        )


def test_postgresql_finds_every_row_once(postgres: OnPostgres) -> None:
    postgres.fetch(str(CreateTable(ROWS).compile(dialect=POSTGRESQL.compiler)))
    columns = list(zip(*STORED, strict=True))
    postgres.fetch(
        "INSERT INTO looked_up SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])", *columns
    )
    _check_each(dialect=POSTGRESQL, fetch=lambda query: postgres.fetch(query.text, *query.values))
