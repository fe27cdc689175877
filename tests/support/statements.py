"""The statements of a service in this process, as the drivers report them."""

import gc
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import pytest
from asyncpg import Connection, Record
from asyncpg.connection import LoggedQuery

from comptoir.store.postgres import reader as postgres_reader
from comptoir.store.sqlite import reader as sqlite_reader

T = TypeVar("T")

_BY_CLOCK = re.compile(
    r"FROM (companies|control|clients|client_secrets|client_keys|roles|revoked|audit|issuers)\b"
)
"""What is known of companies and clients is read when some time has passed."""


def reading(statements: Iterable[str]) -> int:
    """The number of statements that read records."""
    return sum(each.startswith(("SELECT", "WITH")) for each in statements)


def statements_of(read: Callable[[], T]) -> tuple[T, list[str]]:
    """What a read returns, and its statements, each of which runs once and as a whole.

    On a busy machine it might be slow: then PostgreSQL would run it by a cursor, and SQLite again
    on a scan thread.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres_reader, "SLOW_SECONDS", 60.0)
        patch.setattr(sqlite_reader, "SECONDS", 60.0)
        patch.setattr(sqlite_reader, "BUDGET", 1_000_000)
        patch.setattr(sqlite_reader, "SLOW", 1_000_000)
        # a statement that was slow before is quick now, and all connections are open
        for _ in range(postgres_reader.QUICK_RUNS):
            read()
        with traced() as statements:
            return read(), statements


@contextmanager
def traced() -> Iterator[list[str]]:
    """The statements that start within the block, on connections that are open at its start.

    It leaves out those that the clock decides on.
    """
    statements: list[str] = []
    with ExitStack() as ends:
        # an instance refers to its class; a look at every object takes ten times as long
        drivers = (*sqlite3.Connection.__subclasses__(), sqlite3.Connection, Connection)
        for each in gc.get_referrers(*drivers):
            # asyncpg answers slowly what is an instance of its connections
            lineage = type(each).__mro__
            if sqlite3.Connection in lineage:
                _trace_sqlite(each, statements, ends)
            elif Connection in lineage and not each.is_closed():
                _trace_postgres(each, statements, ends)
        yield statements


def _trace_sqlite(connection: sqlite3.Connection, statements: list[str], ends: ExitStack) -> None:
    def note(statement: str) -> None:
        if _BY_CLOCK.search(statement) is None:
            statements.append(statement)

    try:
        connection.set_trace_callback(note)
    except sqlite3.ProgrammingError:
        # it is closed
        return
    ends.callback(connection.set_trace_callback, None)


def _trace_postgres(
    connection: "Connection[Record]", statements: list[str], ends: ExitStack
) -> None:
    def note(query: LoggedQuery) -> None:
        if _BY_CLOCK.search(query.query) is None:
            statements.append(query.query)

    connection.add_query_logger(note)
    ends.callback(connection.remove_query_logger, note)
