"""The statements of a service in this process, as the drivers report them."""

import gc
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from asyncpg import Connection, Record
from asyncpg.connection import LoggedQuery


@contextmanager
def traced() -> Iterator[list[str]]:
    """The statements that start within the block, on connections that are open at its start."""
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
    try:
        connection.set_trace_callback(statements.append)
    except sqlite3.ProgrammingError:
        # it is closed
        return
    ends.callback(connection.set_trace_callback, None)


def _trace_postgres(
    connection: "Connection[Record]", statements: list[str], ends: ExitStack
) -> None:
    def note(query: LoggedQuery) -> None:
        statements.append(query.query)

    connection.add_query_logger(note)
    ends.callback(connection.remove_query_logger, note)
