"""Bulk statements look up the rows with any number of wanted values."""

import sqlite3
from collections.abc import Iterator
from itertools import product

import pytest
from sqlalchemy import Column, MetaData, Table
from sqlalchemy.schema import CreateTable

from comptoir.sql.column_types import text, whole
from comptoir.sql.dialects import Dialect
from comptoir.sql.dialects.postgresql import POSTGRESQL
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Query
from comptoir.sql.tables import COMPANY_ID
from support.functions import OnPostgres

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
CASES = pytest.mark.parametrize(("size", "names"), list(product(SIZES, NAMES)))


def _queries(dialect: Dialect, size: int, names: tuple[str, ...]) -> Iterator[Query]:
    wanted = [(f"c{number}", number)[: len(names)] for number in range(size)]
    for rows, values in dialect.bulk.lookup_values(wanted):
        prepared = dialect.bulk.lookup(ROWS, list(ROWS.c), names, [], rows)
        yield prepared.query(COMPANY, *values)


@CASES
def test_sqlite_finds_every_row_once(size: int, names: tuple[str, ...]) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(str(CreateTable(ROWS).compile(dialect=SQLITE.compiler)))
    connection.executemany("INSERT INTO looked_up VALUES (?, ?, ?)", STORED)

    found = [
        row
        for query in _queries(SQLITE, size, names)
        for row in connection.execute(query.text, query.values)
    ]

    connection.close()
    assert sorted(found) == sorted(STORED[:size])


@pytest.fixture(scope="module")
def filled(postgres: OnPostgres) -> OnPostgres:
    postgres.fetch(str(CreateTable(ROWS).compile(dialect=POSTGRESQL.compiler)))
    columns = list(zip(*STORED, strict=True))
    postgres.fetch(
        "INSERT INTO looked_up SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])", *columns
    )
    return postgres


@CASES
def test_postgresql_finds_every_row_once(
    size: int, names: tuple[str, ...], filled: OnPostgres
) -> None:
    found = [
        row
        for query in _queries(POSTGRESQL, size, names)
        for row in filled.fetch(query.text, *query.values)
    ]

    assert sorted(found) == sorted(STORED[:size])
