"""Runs statements on a connection, and units of work within transactions."""

import sqlite3
from collections.abc import Generator
from typing import TypeVar, cast

from comptoir.errors import INVALID_URL, Refusal
from comptoir.plan.read import Row
from comptoir.sql.prepared import ManyQueries, Statement
from comptoir.store.sqlite.functions import Connection

T = TypeVar("T")


def run_statement(connection: sqlite3.Connection, statement: Statement) -> list[Row]:
    """Run a statement and fetch all its rows, so that no cursor stays open.

    Raises `Refusal` (400) when a value of the query cannot be computed.
    """
    if isinstance(statement, ManyQueries):
        connection.executemany(statement.text, statement.rows)
        return []
    try:
        return cast("list[Row]", connection.execute(statement.text, statement.values).fetchall())
    except sqlite3.OperationalError:
        found = connection.faults.take() if isinstance(connection, Connection) else None
        if found is None:
            raise
        raise Refusal(INVALID_URL, f"The query cannot be computed: {found}") from None


def drive(connection: sqlite3.Connection, unit: Generator[Statement, list[Row], T]) -> T:
    """Run a unit to its end: each statement that it yields, its rows sent back."""
    try:
        statement = next(unit)
        while True:
            statement = unit.send(run_statement(connection, statement))
    except StopIteration as end:
        return cast("T", end.value)
