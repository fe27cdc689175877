"""The statements of a service in this process, as the drivers report them."""

import gc
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from asyncpg import Connection, Record
from asyncpg.connection import LoggedQuery

_BY_CLOCK = re.compile(
    r"FROM (companies|control|clients|client_secrets|client_keys|roles|revoked|audit|issuers)\b"
)
"""What is known of companies and clients is read when some time has passed."""


def reading(statements: Iterable[str]) -> int:
    """The number of statements that read records."""
    return sum(each.startswith(("SELECT", "WITH")) for each in statements)


@contextmanager
def traced() -> Iterator[list[str]]:
    """The statements that start within the block, on connections that are open at its start.

    It leaves out those that the clock decides on.
    """
    statements: list[str] = []
    with ExitStack() as ends:
        for each in gc.get_objects():
            # there are very many, and asyncpg answers slowly what is an instance of its connections
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
