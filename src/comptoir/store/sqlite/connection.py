"""Connections to the file: their settings, their functions, and the meaning of their errors."""

import logging
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

from comptoir.edm.types import Stored
from comptoir.errors import (
    DATABASE_BUSY,
    DATABASE_FULL,
    DATABASE_READ_ONLY,
    UNAVAILABLE,
    OperatorError,
    Refusal,
)
from comptoir.sql.dialects.sqlite.functions import REGISTERED, REGISTERED_AGGREGATES
from comptoir.sql.dialects.sqlite.routines import Computing, ComputingFault, WideTotal
from comptoir.store.refusals import too_complex
from comptoir.store.sqlite.limit import Limit
from comptoir.store.urls import SQLITE, is_postgres, shown

_log = logging.getLogger(__name__)

MINIMUM_VERSION = (3, 37, 0)

DURABILITY = {"journal_mode": "wal", "synchronous": 2}
"""Write-ahead log, and FULL: every commit is on the disk before it is acknowledged."""

_CACHE_KIB = 16_384
_MAPPED_BYTES = 1 << 30
_NO_ROOM = (sqlite3.SQLITE_FULL,)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Faults:
    """Keeps the message of a function that fails: the driver reports only that it failed."""

    def __init__(self) -> None:
        self._message: str | None = None

    def guarded(self, compute: Computing, limit: Limit) -> Computing:
        """A function that checks a limit, returns null for null and keeps a fault's message."""

        def run(*arguments: Stored | None) -> Stored | None:
            if None in arguments:
                return None
            limit.check()
            try:
                return compute(*arguments)
            except ComputingFault as fault:
                self.keep(fault)
                raise

        return run

    def keep(self, fault: ComputingFault) -> None:
        """Keep the message of a fault."""
        self._message = str(fault)

    def take(self) -> str | None:
        """The message of the last fault, once."""
        message, self._message = self._message, None
        return message


class _Total:
    """An aggregate function of a connection over wide decimals."""

    def __init__(
        self, faults: Faults, limit: Limit, result: Callable[[WideTotal], Stored | None]
    ) -> None:
        self._faults = faults
        self._limit = limit
        self._result = result
        self._total = WideTotal()

    def step(self, value: str | None, /) -> None:
        """Add a number."""
        self._limit.check()
        self._total.step(value)

    def finalize(self) -> Stored | None:
        """The result."""
        try:
            return self._result(self._total)
        except ComputingFault as fault:
            self._faults.keep(fault)
            raise


class Connection(sqlite3.Connection):
    """A connection with the faults of its functions and the limit of its statement."""

    faults = Faults()
    limit = Limit()

    def stop(self) -> None:
        """End the current statement, between two records or within a function."""
        self.limit.stop()
        self.interrupt()


def register(connection: Connection) -> None:
    """Register the functions of the dialect with a connection."""
    faults, limit = connection.faults, connection.limit = Faults(), Limit()
    for name, routine in REGISTERED.items():
        compute = routine.compute
        if routine.checks:
            compute = partial(compute, check=limit.check)
        # SQLite computes a deterministic function once for constant arguments
        connection.create_function(
            name, routine.arity, faults.guarded(compute, limit), deterministic=True
        )
    for name, result in REGISTERED_AGGREGATES.items():
        total = partial(_Total, faults, limit, result)
        # the driver accepts more than the integers that its type declares
        connection.create_aggregate(name, 1, total)  # type: ignore[arg-type]


def database_path(url: str) -> Path:
    """The file that a database URL names; raises `OperatorError` for another kind of URL."""
    if is_postgres(url):
        raise OperatorError(f"{shown(url)} names no file. Name a database of SQLite.")
    return Path(url.removeprefix(SQLITE))


def connect(path: Path, *, writes: bool, lock_seconds: float) -> Connection:
    """Open the file; it must exist unless `writes`.

    The connection begins no transactions by itself. Raises `OperatorError` when the file cannot
    be opened or is no database.
    """
    if sqlite3.sqlite_version_info < MINIMUM_VERSION:
        least = ".".join(map(str, MINIMUM_VERSION))
        raise OperatorError(f"SQLite {least} or later is needed, not {sqlite3.sqlite_version}.")
    mode = "rwc" if writes else "rw"
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=lock_seconds,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=512,
            factory=Connection,
        )
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        # readers share the operating system's pages instead of copying them one by one
        connection.execute(f"PRAGMA mmap_size={_MAPPED_BYTES}")
        if writes:
            for name, value in DURABILITY.items():
                connection.execute(f"PRAGMA {name}={value}").fetchall()
        else:
            connection.execute("PRAGMA query_only=1")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.Error as fault:
        raise OperatorError(_cannot_open(path, fault)) from fault
    register(connection)
    return connection


def refusal_of(fault: sqlite3.Error) -> Refusal:
    """What a client is told when a statement fails; raised with the fault as its cause."""
    _log.error("a statement failed: %s", fault)
    code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
    kind = UNAVAILABLE
    if code in _BUSY:
        kind = DATABASE_BUSY
        message = "Another process holds the database's lock. Try again in a moment."
    elif code in _NO_ROOM:
        kind = DATABASE_FULL
        message = "The disk is full. Free some space on the server, then try again."
    elif code == sqlite3.SQLITE_READONLY:
        kind = DATABASE_READ_ONLY
        message = "The database is read-only. Make its folder writable on the server."
    elif code == sqlite3.SQLITE_TOOBIG:
        return too_complex()
    else:
        message = "The database failed; its error is in the log of the server."
    return Refusal(kind, message, headers={"Retry-After": "1"})


def _cannot_open(path: Path, fault: sqlite3.Error) -> str:
    code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return f"{path} is not an SQLite database. Name another file with --database."
    if code == sqlite3.SQLITE_READONLY:
        return f"{path} or its folder is read-only. Make them writable, or name another file."
    if code in _NO_ROOM:
        return f"the disk of {path} is full. Free some space."
    if code in _BUSY:
        return f"{path} is locked by another process. Stop that process, or wait for it."
    return (
        f"cannot open the database {path}: {fault}. Check that the folder exists and is writable."
    )
