"""Connections to the file: their settings and functions, and how they run statements and units."""

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from itertools import islice
from math import inf
from pathlib import Path
from time import monotonic, sleep, thread_time
from typing import TypeVar, cast

import apsw

from comptoir.edm.types import Stored
from comptoir.errors import operator_rows as problems
from comptoir.errors import refusal_rows
from comptoir.errors.operator_rows import OperatorRow
from comptoir.errors.refusal import OperatorError, Refusal, RefusalRow
from comptoir.plan.read import Row
from comptoir.sql.dialects.sqlite.routines import (
    REGISTERED,
    REGISTERED_AGGREGATES,
    Computing,
    WideTotal,
)
from comptoir.sql.prepared import PREFIX, ManyQueries, Statement, Steps
from comptoir.store.refusals import database_failed, log_database_error
from comptoir.store.store import characters
from comptoir.store.urls import SQLITE, is_postgres, redacted

PAGE_BYTES = 16_384
"""The bytes of a page of the file. A record with its JSON fits into a quarter of it; what does not
fit would take further pages."""

DURABILITY: Mapping[str, str | int] = {"journal_mode": "wal", "synchronous": 2}
"""Write-ahead log, and FULL: every commit is on the disk before it is acknowledged."""

FETCHED = 10
"""The rows that a portion fetches at once."""

_LOCK_SLEEP = 0.002
"""Seconds between two attempts to get the lock of the file. SQLite's own pauses grow to 0.1 s."""

_CACHE_KIB = 16_384
_MAPPED_BYTES = 1 << 40
"""More than any file: a page that is not mapped is copied at each read."""

_OF_STATEMENT = (apsw.SQLITE_ERROR, apsw.SQLITE_TOOBIG)
_BUSY = (apsw.SQLITE_BUSY, apsw.SQLITE_LOCKED)

_MEANINGS: Mapping[int, tuple[RefusalRow, OperatorRow]] = {
    **dict.fromkeys(_BUSY, (refusal_rows.LOCKED, problems.LOCKED_FILE)),
    apsw.SQLITE_FULL: (refusal_rows.DISK_FULL, problems.DISK_FULL),
    apsw.SQLITE_READONLY: (refusal_rows.READ_ONLY_FOLDER, problems.READ_ONLY_FILE),
    apsw.SQLITE_NOTADB: (refusal_rows.DATABASE_FAILED, problems.NOT_SQLITE),
}
"""The refusals of requests, and the errors for the operator, by the codes of SQLite."""

_OTHER = refusal_rows.DATABASE_FAILED, problems.CANNOT_OPEN

T = TypeVar("T")


class StatementStopped(Exception):  # noqa: N818 - an outcome, not an error
    """A statement was stopped before its end, or exceeded its limit."""


class StatementLimit:
    """The time limit of a connection's statement.

    SQLite notices an interrupt between two records, but not within a function. So the functions
    that it calls check the limit.
    """

    def __init__(self) -> None:
        self._stopped = False
        self._seconds = self._ends_at = inf
        self._used_up_at: float | None = None

    def begin(self, seconds: float = inf) -> None:
        """Start the limit of a statement.

        After these seconds the statement may use as much CPU time again, because the thread may
        have waited.
        """
        self._stopped = False
        self._seconds = seconds
        self._ends_at = monotonic() + seconds
        self._used_up_at = None

    def stop(self) -> None:
        """End the current statement. Any thread may call this."""
        self._stopped = True

    def is_over(self) -> bool:
        """Whether the statement must end; only for the statement's own thread."""
        if self._stopped:
            return True
        if monotonic() <= self._ends_at:
            return False
        used = thread_time()
        if self._used_up_at is None:
            self._used_up_at = used + self._seconds
        return used > self._used_up_at

    def guarded(self, compute: Computing) -> Computing:
        """Wrap a function: check the limit, and return null for null."""

        def run(*arguments: Stored | None) -> Stored | None:
            if None in arguments:
                return None
            if self.is_over():
                raise StatementStopped
            return compute(*arguments)

        return run


class Portion:
    """The first rows of a statement: about this many characters of text, in whole fetches.

    `is_whole` is whether these were all rows.
    """

    def __init__(self, characters: int, rows: float = inf) -> None:
        self.is_whole = False
        self._characters = characters
        self._rows = rows

    def fetch(self, cursor: apsw.Cursor) -> list[Row]:
        """Fetch the next rows of a cursor."""
        rows: list[Row] = []
        left = self._characters
        while left > 0 and len(rows) < self._rows:
            some: list[Row] = list(islice(cursor, FETCHED))
            if not some:
                self.is_whole = True
                break
            rows += some
            left -= characters(some)
        return rows


class Connection(apsw.Connection):
    """A connection with the functions of the dialect, and the limit of its current statement."""

    time_limit: StatementLimit

    def stop(self) -> None:
        """End the current statement, between two records or within a function."""
        self.time_limit.stop()
        self.interrupt()

    def run(self, statement: Statement, portion: Portion | None = None) -> list[Row]:
        """Run a statement and fetch all its rows, or a portion, so that no cursor stays open.

        Raises `Refusal` (400) if a value cannot be computed, `StatementStopped` if the statement
        was stopped or exceeded its limit.
        """
        if isinstance(statement, ManyQueries):
            self.executemany(statement.text, statement.rows)
            return []
        try:
            cursor = self.execute(statement.text, statement.values)
            if portion is None:
                # no statement selects the floats that SQLite may have
                return cursor.fetchall()  # type: ignore[return-value]
            with closing(cursor):
                return portion.fetch(cursor)
        except apsw.InterruptError:
            raise StatementStopped from None

    def commit(self) -> None:
        """Commit the transaction, if there is one."""
        if self.in_transaction:
            self.execute("COMMIT")

    def roll_back(self) -> None:
        """Undo the transaction, if there is one."""
        if self.in_transaction:
            self.execute("ROLLBACK")

    def drive(self, unit: Steps[T]) -> T:
        """Run the statements that a unit yields, send it their rows, and return its result."""
        try:
            statement = next(unit)
            while True:
                statement = unit.send(self.run(statement))
        except StopIteration as end:
            return cast("T", end.value)


def register(connection: Connection) -> None:
    """Register the functions of the dialect with a connection."""
    limit = connection.time_limit = StatementLimit()
    for name, compute in REGISTERED.items():
        guarded = limit.guarded(compute)
        # SQLite computes a deterministic function once for constant arguments
        connection.create_scalar_function(f"{PREFIX}{name}", guarded, -1, deterministic=True)
    for name, result in REGISTERED_AGGREGATES.items():
        begin = partial(_wide_total, limit, result)
        connection.create_aggregate_function(f"{PREFIX}{name}", begin, 1)


def _wide_total(
    limit: StatementLimit, result: Callable[[WideTotal], Stored | None]
) -> tuple[WideTotal, Callable[..., None], Computing]:
    """An aggregate function over wide decimals: its state, its step and its result."""
    add = limit.guarded(WideTotal.step)

    def step(total: WideTotal, number: str | None) -> None:
        add(total, number)

    return WideTotal(), step, limit.guarded(result)


def database_path(url: str) -> Path:
    """The file that a database URL names; raises `OperatorError` for a URL of PostgreSQL."""
    if is_postgres(url):
        raise problems.NOT_SQLITE_URL(url=redacted(url))
    return Path(url.removeprefix(SQLITE))


def is_writable(path: Path) -> bool:
    """Whether the file and its folder, where SQLite keeps its log, can be written."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _parameters(path: Path, *, writes: bool) -> str:
    if writes:
        return "mode=rwc"
    if is_writable(path):
        return "mode=rw"
    # without a log, which SQLite cannot begin there, the file does not change
    has_log = path.with_name(f"{path.name}-wal").exists()
    return "mode=ro" if has_log else "mode=ro&immutable=1"


def connect(
    path: Path, *, writes: bool, lock_seconds: float, maps: bool = True, reads: bool = True
) -> Connection:
    """Open the file; it must exist unless `writes`. With `maps`, reads map it into memory.

    Without `reads`, the first statement reads the schema, which takes most of an opening.
    The connection begins no transactions by itself. Raises `OperatorError` if the file cannot be
    opened or is not a database.
    """
    connection: Connection | None = None
    try:
        connection = Connection(
            f"{path.absolute().as_uri()}?{_parameters(path, writes=writes)}",
            flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI,
            statementcachesize=512,
        )
        connection.set_busy_timeout(round(lock_seconds * 1_000))
        # else it would plan a statement again for each other value
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        # readers share the operating system's pages instead of copying them one by one
        if maps:
            connection.execute(f"PRAGMA mmap_size={_MAPPED_BYTES}")
        if writes:
            connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
            for name, value in DURABILITY.items():
                execute_alone(connection, f"PRAGMA {name}={value}", lock_seconds)
        else:
            connection.execute("PRAGMA query_only=1")
            if reads:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        register(connection)
    except apsw.Error as error:
        if connection is not None:
            connection.close()
        raise cannot_open(path, error) from error
    return connection


def execute_alone(connection: Connection, statement: str, lock_seconds: float) -> None:
    """Run a statement that needs the file's lock, and wait for that.

    SQLite itself does not wait to set the journal mode, and else too long after the lock is free.
    """
    ends_at = monotonic() + lock_seconds
    while True:
        try:
            connection.execute(statement).fetchall()
        except apsw.Error as error:
            if not is_busy(error) or monotonic() > ends_at:
                raise
            sleep(_LOCK_SLEEP)
        else:
            return


def refusal_of(error: apsw.Error) -> Refusal:
    """The client's response to a failed statement; logs the error."""
    log_database_error(str(error))
    code = _code(error)
    if code == apsw.SQLITE_TOOBIG:
        return refusal_rows.TOO_COMPLEX()
    return database_failed(_MEANINGS.get(code, _OTHER)[0])


def is_statement_error(error: apsw.Error) -> bool:
    """Whether a statement failed by itself, which leaves its transaction as it was before."""
    return _code(error) in _OF_STATEMENT


def is_busy(error: apsw.Error) -> bool:
    """Whether a statement failed because of another connection's lock."""
    return _code(error) in _BUSY


def _code(error: apsw.Error) -> int:
    return getattr(error, "result", 0) & 0xFF


def cannot_open(path: Path, error: apsw.Error) -> OperatorError:
    """The error for a file that SQLite cannot open or rewrite."""
    return _MEANINGS.get(_code(error), _OTHER)[1](path=path, reason=error)
