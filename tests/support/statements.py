"""The statements of a service in this process, as the drivers report them."""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import TypeVar
from weakref import WeakSet

import apsw
import asyncpg
import pytest
from asyncpg.connection import LoggedQuery

from comptoir.store.postgres import reader as postgres_reader
from comptoir.store.sqlite import reader as sqlite_reader
from comptoir.store.sqlite.connection import Connection, connect, database_path

T = TypeVar("T")

_on_sqlite: WeakSet[Connection] = WeakSet()
_on_postgres: "WeakSet[asyncpg.Connection[asyncpg.Record]]" = WeakSet()

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
        for each in list(_on_sqlite):
            _trace_sqlite(each, statements, ends)
        for every in list(_on_postgres):
            if not every.is_closed():
                _trace_postgres(every, statements, ends)
        yield statements


def _trace_sqlite(connection: Connection, statements: list[str], ends: ExitStack) -> None:
    def note(cursor: apsw.Cursor, statement: str, _: object) -> bool:
        if _BY_CLOCK.search(statement) is None:
            statements.append(cursor.expanded_sql)
        return True

    try:
        connection.set_exec_trace(note)
    except apsw.ConnectionClosedError:
        return
    ends.callback(connection.set_exec_trace, None)


class Bound(str):
    """A statement on PostgreSQL, with its values."""

    __slots__ = ("values",)

    values: Sequence[object]


def plan_of(statement: str, url: str) -> str:
    """The plan of a traced statement, on PostgreSQL by an index where one has the order."""
    if not isinstance(statement, Bound):
        # it has the functions of the dialect
        with closing(connect(database_path(url), writes=False, lock_seconds=5)) as connection:
            steps = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
        return "\n".join(str(step[-1]) for step in steps)
    values = statement.values

    async def explained() -> list[asyncpg.Record]:
        connection = await asyncpg.connect(url)
        try:
            # the planner sorts a few records rather than to read them in the order of an index
            await connection.execute("SET enable_seqscan = off; SET enable_sort = off")
            return await connection.fetch(f"EXPLAIN {statement}", *values)
        finally:
            await connection.close()

    return "\n".join(str(step[0]) for step in asyncio.run(explained()))


def _trace_postgres(
    connection: "asyncpg.Connection[asyncpg.Record]", statements: list[str], ends: ExitStack
) -> None:
    def note(query: LoggedQuery) -> None:
        _note(query.query, query.args, statements)

    connection.add_query_logger(note)
    ends.callback(connection.remove_query_logger, note)


def _note(query: str, values: Sequence[object], statements: list[str]) -> None:
    if _BY_CLOCK.search(query) is None:
        bound = Bound(query)
        bound.values = values
        statements.append(bound)


def _noting(kind: type[T], noted: WeakSet[T]) -> None:
    """Note the connections of a class from now on: to search all objects for them takes long."""
    begin = kind.__init__

    def init(self: T, *given: object, **named: object) -> None:
        noted.add(self)
        begin(self, *given, **named)

    kind.__init__ = init  # type: ignore[assignment, method-assign]


_noting(Connection, _on_sqlite)
_noting(asyncpg.Connection, _on_postgres)
