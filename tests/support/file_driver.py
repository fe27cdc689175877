"""The service's driver of SQLite as SQLAlchemy expects one (PEP 249).

A process must not open a file by two copies of SQLite: each would end the locks of the other
(https://www.sqlite.org/howtocorrupt.html, 2.2.1).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Self

import apsw

from comptoir.edm.types import Stored

Row = tuple[object, ...]

sqlite_version_info = tuple(map(int, apsw.sqlite_lib_version().split(".")))
paramstyle = "qmark"
Binary = bytes
Error = DatabaseError = OperationalError = InterfaceError = ProgrammingError = apsw.Error
DataError = InternalError = NotSupportedError = apsw.Error
IntegrityError = apsw.ConstraintError


class Cursor:
    """The rows of a statement, which are fetched when it runs."""

    description: Sequence[object] | None = None
    lastrowid = 0
    rowcount = -1

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._rows: Iterator[Row] = iter(())

    def execute(self, statement: str, values: Sequence[Stored] = ()) -> Self:
        """Run a statement."""
        cursor = self._connection.cursor()
        # a statement without rows ends when it runs
        cursor.set_exec_trace(self._describe)
        self._rows = iter(cursor.execute(statement, values).fetchall())
        self.rowcount = self._connection.changes()
        return self

    def executemany(self, statement: str, rows: Sequence[Sequence[Stored]]) -> Self:
        """Run a statement for each row of values."""
        self._connection.executemany(statement, rows)
        return self

    def fetchone(self) -> Row | None:
        return next(self._rows, None)

    def fetchmany(self, size: int = 1) -> list[Row]:
        return list(islice(self._rows, size))

    def fetchall(self) -> list[Row]:
        return list(self._rows)

    def close(self) -> None:
        """Nothing is open."""

    def _describe(self, cursor: apsw.Cursor, *_: object) -> bool:
        self.description = [(*each, *[None] * 5) for each in cursor.get_description()] or None
        return True


class Connection:
    """A connection that begins no transactions by itself."""

    def __init__(self, path: str, timeout: float) -> None:
        self._connection = apsw.Connection(path)
        self._connection.set_busy_timeout(round(timeout * 1_000))

    def cursor(self) -> Cursor:
        return Cursor(self._connection)

    def commit(self) -> None:
        self._end("COMMIT")

    def rollback(self) -> None:
        self._end("ROLLBACK")

    def close(self) -> None:
        self._connection.close()

    def create_function(self, *_: object, **__: object) -> None:
        """SQLAlchemy adds one that no test calls."""

    def _end(self, statement: str) -> None:
        if self._connection.in_transaction:
            self._connection.execute(statement)


def connect(path: str, *, timeout: float = 5, **_: Mapping[str, object]) -> Connection:
    """Open a file."""
    return Connection(path, timeout)
