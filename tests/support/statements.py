"""The statements that a service in this process gives its database, as SQLite reports them."""

import gc
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def traced() -> Iterator[list[str]]:
    """The statements that begin within the block, on connections that are open when it begins."""
    statements: list[str] = []
    connections = [each for each in gc.get_objects() if isinstance(each, sqlite3.Connection)]
    is_open = [each for each in connections if _trace(each, statements)]
    try:
        yield statements
    finally:
        for each in is_open:
            each.set_trace_callback(None)


def _trace(connection: sqlite3.Connection, statements: list[str]) -> bool:
    try:
        connection.set_trace_callback(statements.append)
    except sqlite3.ProgrammingError:
        return False
    return True
