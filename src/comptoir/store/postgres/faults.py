"""What the faults of PostgreSQL and of the way to it mean, for clients and for operators."""

import logging
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import asyncpg

from comptoir.errors import (
    DATABASE_BUSY,
    DATABASE_FULL,
    DATABASE_NOT_READY,
    DATABASE_READ_ONLY,
    DATABASE_UNREACHABLE,
    INVALID_URL,
    NOT_IMPLEMENTED,
    UNAVAILABLE,
    ErrorType,
    OperatorError,
    Refusal,
    UnreachableError,
)
from comptoir.sql.dialects.postgresql.routines import NOT_COMPUTED
from comptoir.store.urls import shown

_log = logging.getLogger(__name__)

Fault = asyncpg.PostgresError | asyncpg.InterfaceError | asyncpg.InternalClientError | OSError
"""What running a statement or connecting may raise; `TimeoutError` is an `OSError`."""

FAULTS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    # what a connection says that was lost unnoticed
    asyncpg.InternalClientError,
    OSError,
)
"""The same, to be caught."""


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a client is told, and what an operator is to do.

    `seconds` is when to ask again. What `passes` may be over by then without anybody's help.
    """

    kind: ErrorType
    told: str
    advice: str
    seconds: int = 5
    passes: bool = False


_NO_WAY = _Meaning(
    DATABASE_UNREACHABLE,
    "The database cannot be reached. Try again in a moment.",
    "Check host and port, and that the server runs and listens there.",
    passes=True,
)
_CUT = _Meaning(
    DATABASE_UNREACHABLE,
    "The connection to the database was lost. Try again in a moment.",
    "Check that the server runs; its log has the cause.",
    seconds=1,
    passes=True,
)
_STARTING = _Meaning(
    DATABASE_UNREACHABLE,
    "The database is starting or stopping. Try again in a moment.",
    "Wait until the server is up.",
    passes=True,
)
_NO_TLS = _Meaning(
    DATABASE_UNREACHABLE,
    "The database cannot be reached over TLS. Its operator must mend that.",
    "Check sslmode and the certificates that the URL names against those of the server.",
)
_NO_ENTRY = _Meaning(
    DATABASE_UNREACHABLE,
    "The database does not let the service in. Its operator must mend that.",
    "Check user and password in the URL, PGPASSWORD or the passfile, and the server's pg_hba.conf.",
)
_NO_DATABASE = _Meaning(
    DATABASE_UNREACHABLE,
    "There is no such database on the server. Its operator must mend that.",
    "Correct the name in the URL, or make the database with CREATE DATABASE.",
)
_NO_RIGHTS = _Meaning(
    DATABASE_NOT_READY,
    "The service lacks rights in the database. Its operator must grant them.",
    "Grant this user the rights, or name another user.",
)
_NOT_MIGRATED = _Meaning(
    DATABASE_NOT_READY,
    "The database lacks what the service needs. Its operator must run `comptoir migrate`.",
    "Run `comptoir migrate`.",
)
_TOO_MANY = _Meaning(
    DATABASE_BUSY,
    "The database takes no more connections now. Try again in a moment.",
    "Raise the server's max_connections, or lower database_connections.",
    passes=True,
)
_LOCKED = _Meaning(
    DATABASE_BUSY,
    "Another transaction holds a lock for too long. Try again in a moment.",
    "Find the transaction in pg_stat_activity and end it, or wait for it.",
    seconds=1,
)
_CONFLICT = _Meaning(
    DATABASE_BUSY,
    "Concurrent transactions stood in each other's way. Nothing was changed; try again.",
    "Try again.",
    seconds=1,
)
_CANCELLED = _Meaning(
    UNAVAILABLE,
    "The query took too long. Narrow the filter, or sort by the key.",
    "Try again when the database has less to do.",
)
_FULL = _Meaning(
    DATABASE_FULL,
    "The disk of the database is full. Its operator must free some space.",
    "Free some space on the server.",
    seconds=30,
)
_READ_ONLY = _Meaning(
    DATABASE_READ_ONLY,
    "The database takes no writes now: it is a standby, or set to read-only. Try again later.",
    "Name the primary, or all hosts with target_session_attrs=primary.",
)
_NO_MEMORY = _Meaning(
    DATABASE_BUSY,
    "The database has no memory left for this. Ask for less, or try again in a moment.",
    "Look at the server's memory and its log.",
)
_MISCONFIGURED = _Meaning(
    DATABASE_UNREACHABLE,
    "The service is not set up to reach the database. Its operator must mend that.",
    "Correct the URL, or libpq's environment variables.",
)
_REJECTED = _Meaning(
    DATABASE_UNREACHABLE,
    "The service is not set up to reach the database. Its operator must mend that.",
    "Behind PgBouncer set statement_cache to 0, or ignore_startup_parameters there; else correct "
    "the URL.",
)
_NO_SCHEMA = _Meaning(
    DATABASE_NOT_READY,
    "The database lacks what the service needs. Its operator must mend that.",
    "Make a schema, and have the search_path of this user begin with it.",
)
_UNKNOWN_PARAMETER = _Meaning(
    DATABASE_UNREACHABLE,
    "The database does not let the service in. Its operator must mend that.",
    "Take it out of the URL, or correct it.",
)
_FAILED = _Meaning(
    UNAVAILABLE,
    "The database failed; its error is in the log of the server.",
    "The server's log has more.",
    seconds=1,
)

_UNIQUE = re.compile(r"\b((?:pk|ux)_\w+?)(?:_\d{6,})?\b")
"""The name of a unique constraint or index; that of one of Citus' shards has a number behind it."""

_BY_STATE: Mapping[str, _Meaning] = MappingProxyType(
    {
        "28000": _NO_ENTRY,
        "28P01": _NO_ENTRY,
        "08P01": _REJECTED,
        "3D000": _NO_DATABASE,
        "42501": _NO_RIGHTS,
        "42P01": _NOT_MIGRATED,
        "42703": _NOT_MIGRATED,
        "42883": _NOT_MIGRATED,
        "3F000": _NO_SCHEMA,
        "42704": _UNKNOWN_PARAMETER,
        "53100": _FULL,
        "53200": _NO_MEMORY,
        "53300": _TOO_MANY,
        "25006": _READ_ONLY,
        "57014": _CANCELLED,
        "57P01": _CUT,
        "57P02": _CUT,
        "57P03": _STARTING,
        "57P05": _CUT,
        "55P03": _LOCKED,
        "40001": _CONFLICT,
        "40P01": _CONFLICT,
    }
)
_BY_CLASS: Mapping[str, _Meaning] = MappingProxyType({"08": _CUT, "53": _NO_MEMORY})

_NOT_ASKABLE: Mapping[str, tuple[ErrorType, str]] = MappingProxyType(
    {
        "22003": (INVALID_URL, "The query cannot be computed: a number does not fit."),
        "22012": (INVALID_URL, "The query cannot be computed: it divides by zero."),
        "22021": (INVALID_URL, "A text holds a character that the database cannot compare."),
        "22P05": (INVALID_URL, "A text holds a character that the database cannot compare."),
        "54000": (NOT_IMPLEMENTED, "The expression is too large for the database."),
        "54001": (NOT_IMPLEMENTED, "The expression is too large for the database."),
        "54011": (NOT_IMPLEMENTED, "The expression is too large for the database."),
        "54023": (NOT_IMPLEMENTED, "The expression is too large for the database."),
    }
)
"""SQLSTATE to what a request is told that itself is at fault."""


def refusal_of(fault: Fault) -> Refusal:
    """What a client is told when a statement fails; raised with the fault as its cause."""
    state = _state(fault)
    if state == NOT_COMPUTED:
        return Refusal(INVALID_URL, f"The query cannot be computed: {fault.args[0]}")
    if state in _NOT_ASKABLE:
        return Refusal(*_NOT_ASKABLE[state])
    # what is said of data that does not fit names the value
    said = "a value does not fit" if isinstance(fault, asyncpg.DataError) else words(fault)
    _log.error("a statement failed: %s", f"{said} ({state})" if state else said)
    meaning = _meaning(fault)
    return Refusal(meaning.kind, meaning.told, headers={"Retry-After": str(meaning.seconds)})


def operator_error_of(url: str, fault: Fault) -> OperatorError:
    """What an operator is told, in one line, when a database cannot be used.

    An `UnreachableError` when waiting may help.
    """
    meaning = _meaning(fault)
    made = UnreachableError if meaning.passes else OperatorError
    return made(f"cannot use the database {shown(url)}: {words(fault)}. {meaning.advice}")


def is_of_request(fault: Fault) -> bool:
    """Whether a fault is one of what was asked for, and not of the database."""
    state = _state(fault)
    return state == NOT_COMPUTED or state in _NOT_ASKABLE


def is_lost(fault: Fault) -> bool:
    """Whether a fault leaves open what became of the statement: the server gave no answer to it."""
    return not isinstance(fault, asyncpg.PostgresError) or _state(fault)[:2] in ("08", "57")


def is_cut(fault: Fault) -> bool:
    """Whether a fault says that its connection is of no use any more."""
    return is_lost(fault) and not isinstance(fault, TimeoutError | asyncpg.QueryCanceledError)


def violated(fault: asyncpg.UniqueViolationError) -> str:
    """The name of the unique constraint or index that a fault is about; empty when it is not told.

    Citus tells it in the message alone.
    """
    named = _UNIQUE.search(fault.constraint_name or words(fault))
    return named[1] if named else ""


def words(fault: Fault) -> str:
    """The fault's own words, in one line without a full stop.

    Without its details, which may hold values of records.
    """
    if isinstance(fault, TimeoutError) and not str(fault):
        return "it does not answer in time"
    if not isinstance(fault, OSError):
        said = str(fault.args[0]) if fault.args else type(fault).__name__
    else:
        said = fault.strerror or str(fault) or type(fault).__name__
    return " ".join(said.split()).removesuffix(".")


def _state(fault: Fault) -> str:
    return (fault.sqlstate or "") if isinstance(fault, asyncpg.PostgresError) else ""


def _meaning(fault: Fault) -> _Meaning:
    if isinstance(fault, asyncpg.PostgresError):
        state = _state(fault)
        return _BY_STATE.get(state) or _BY_CLASS.get(state[:2]) or _FAILED
    if isinstance(fault, ssl.SSLError) or "SSL" in str(fault):
        return _NO_TLS
    if isinstance(fault, asyncpg.ClientConfigurationError):
        return _MISCONFIGURED
    if isinstance(fault, asyncpg.InterfaceError | asyncpg.InternalClientError):
        return _CUT
    if isinstance(fault, ConnectionResetError | BrokenPipeError | ConnectionAbortedError):
        return _CUT
    return _NO_WAY
