"""Runs statements on a connection, and units of work within transactions."""

import sqlite3
from collections.abc import Generator
from typing import TypeVar, cast

from comptoir.plan.read import Row
from comptoir.sql.prepared import ManyQueries, Statement
from comptoir.store.refusals import not_computable
from comptoir.store.sqlite.connection import Connection

FETCHED = 10
"""How many rows of a portion are fetched at once."""

T = TypeVar("T")


class StatementStopped(Exception):  # noqa: N818 - what became of a statement, not an error of it
    """A statement was ended before it was done: it was told to, or its time was over."""


class Portion:
    """How much of a statement's rows is fetched: about so many characters of text.

    `is_whole` tells whether that was all of them.
    """

    def __init__(self, characters: int) -> None:
        self.is_whole = True
        self._left = characters

    def of(self, cursor: sqlite3.Cursor) -> list[Row]:
        """The first rows; the cursor is closed behind them."""
        rows: list[Row] = []
        while self._left > 0:
            some: list[Row] = cursor.fetchmany(FETCHED)
            if not some:
                return rows
            rows += some
            texts = [value for row in some for value in row if isinstance(value, str)]
            self._left -= sum(map(len, texts))
        self.is_whole = False
        cursor.close()
        return rows


def run_statement(
    connection: sqlite3.Connection, statement: Statement, portion: Portion | None = None
) -> list[Row]:
    """Run a statement and fetch all its rows, or a portion, so that no cursor stays open.

    Raises `Refusal` (400) when a value of the query cannot be computed, `StatementStopped` when the
    statement had to end before.
    """
    if isinstance(statement, ManyQueries):
        connection.executemany(statement.text, statement.rows)
        return []
    try:
        cursor = connection.execute(statement.text, statement.values)
        return cast("list[Row]", cursor.fetchall()) if portion is None else portion.of(cursor)
    except sqlite3.OperationalError as fault:
        if fault.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise StatementStopped from None
        if not isinstance(connection, Connection):
            raise
        found = connection.faults.take()
        if found is not None:
            raise not_computable(str(found)) from None
        if connection.limit.is_over():
            raise StatementStopped from None
        raise


def drive(connection: sqlite3.Connection, unit: Generator[Statement, list[Row], T]) -> T:
    """Run a unit to its end: each statement that it yields, its rows sent back."""
    try:
        statement = next(unit)
        while True:
            statement = unit.send(run_statement(connection, statement))
    except StopIteration as end:
        return cast("T", end.value)
