"""Errors of PostgreSQL and of connections to it, as messages for clients and for operators."""

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import asyncpg

from comptoir.errors import operator_rows as problems
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import OperatorError, Refusal, UnreachableError, refuse
from comptoir.errors.table import RefusalRow
from comptoir.sql.dialects.postgresql.routines import NOT_COMPUTED
from comptoir.store import refusals
from comptoir.store.urls import redacted

Fault = asyncpg.PostgresError | asyncpg.InterfaceError | asyncpg.InternalClientError | OSError
"""An exception of connecting or of a statement; `TimeoutError` is an `OSError`."""

FAULTS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    # a lost connection raises it on its next use
    asyncpg.InternalClientError,
    OSError,
)
"""The classes of `Fault`, for `except`."""


@dataclass(frozen=True, slots=True)
class _Meaning:
    """The refusal of a client's request, and the advice for the operator.

    A `temporary` fault may end by itself.
    """

    row: RefusalRow
    advice: str
    temporary: bool = False


_LOCK_TIMEOUT = "55P03"

_UNREACHABLE = _Meaning(
    rows.UNREACHABLE,
    "Check host and port, and that the server runs and listens there.",
    temporary=True,
)
_LOST = _Meaning(
    rows.CONNECTION_LOST,
    "Check that the server runs; its log has the cause.",
    temporary=True,
)
_NO_TLS = _Meaning(
    rows.NO_TLS,
    "Check sslmode and the certificates that the URL names against those of the server.",
)
_NO_HOST = _Meaning(
    rows.NO_HOST,
    "Wait until a host has that role, as after a failover, or correct target_session_attrs.",
    temporary=True,
)
_MISCONFIGURED = _Meaning(rows.MISCONFIGURED, "Correct the URL, or libpq's environment variables.")
_FAILED = _Meaning(rows.DATABASE_FAILED, "The server's log has more.")

_TABLE: Mapping[str, _Meaning] = MappingProxyType(
    {
        "08 57P01 57P02 57P05": _LOST,
        "28000 28P01": _Meaning(
            rows.REJECTED_USER,
            "Check user and password in the URL, PGPASSWORD or the passfile, and the server's "
            "pg_hba.conf.",
        ),
        "08P01": replace(
            _MISCONFIGURED,
            advice="With PgBouncer, set statement_cache to 0, or ignore_startup_parameters there; "
            "otherwise correct the URL.",
        ),
        "3D000": _Meaning(
            rows.NO_DATABASE,
            "Correct the name in the URL, or create the database with CREATE DATABASE.",
        ),
        "42704": replace(
            _MISCONFIGURED, advice="Remove the parameter from the URL, or correct it."
        ),
        "57P03": _Meaning(rows.STARTING, "Wait until the server is up.", temporary=True),
        "42501": _Meaning(
            rows.NO_PRIVILEGES, "Grant this user the privileges, or name another user."
        ),
        "42P01 42703 42883": _Meaning(rows.NO_TABLES, "Run `comptoir migrate`."),
        "3F000": _Meaning(
            rows.NO_SCHEMA,
            "Create a schema, and put it first in the search_path of this user.",
        ),
        "53300": _Meaning(
            rows.TOO_MANY_CONNECTIONS,
            "Raise the server's max_connections, or lower database_connections.",
            temporary=True,
        ),
        "53 53200": _Meaning(rows.SHORT_OF_MEMORY, "Check the server's memory and its log."),
        "53100": _Meaning(rows.DISK_FULL_OF_SERVER, "Free some space on the server."),
        "25006": _Meaning(
            rows.STANDBY,
            "Name the primary, or all hosts with target_session_attrs=primary.",
        ),
        _LOCK_TIMEOUT: _Meaning(
            rows.LOCK_TIMEOUT,
            "Find the transaction in pg_stat_activity and end it, or wait for it.",
        ),
        "40001 40P01": _Meaning(rows.CONFLICT, "Try again."),
        "57014": _Meaning(rows.QUERY_STOPPED, "Try again when the load of the database is lower."),
    }
)
_BY_STATE: Mapping[str, _Meaning] = MappingProxyType(
    {state: meaning for states, meaning in _TABLE.items() for state in states.split()}
)

_TOO_COMPLEX = ("54000", "54001", "54011", "54023")
_CAUSES: Mapping[str, str] = MappingProxyType(
    {"22003": "a number is too large", "22012": "it divides by zero"}
)
_INVALID_TEXT = ("22021", "22P05")

_UNIQUE = re.compile(r"\b((?:pk|ux)_\w+?)(?:_\d{6,})?\b")
"""The name of a unique constraint or index; on a shard, Citus appends a number to it."""


def refusal_of(fault: Fault) -> Refusal:
    """The response to a client; logs a fault that the request did not cause."""
    of_request = _request_refusal(fault)
    if of_request is not None:
        return of_request
    # the driver's message about data of the wrong type contains the value
    text = "invalid data" if isinstance(fault, asyncpg.DataError) else driver_message(fault)
    state = _state(fault)
    refusals.log_database_error(f"{text} ({state})" if state else text)
    return refusals.database_failed(_meaning(fault).row)


def operator_error_of(url: str, fault: Fault) -> OperatorError:
    """The error for the operator; an `UnreachableError` if the fault is temporary."""
    meaning = _meaning(fault)
    kind = UnreachableError if meaning.temporary else OperatorError
    reason = driver_message(fault)
    return problems.UNUSABLE_DATABASE(
        kind=kind, suggested=meaning.advice, url=redacted(url), reason=reason
    )


def is_request_fault(fault: Fault) -> bool:
    """Whether the request caused a fault, and not the state of the database."""
    return _request_refusal(fault) is not None


def is_unanswered(fault: Fault) -> bool:
    """Whether the effect of the statement is unknown, because the server did not respond."""
    return not isinstance(fault, asyncpg.PostgresError) or _state(fault)[:2] in ("08", "57")


def is_lost(fault: Fault) -> bool:
    """Whether the connection cannot be used after a fault."""
    return is_unanswered(fault) and not isinstance(fault, TimeoutError | asyncpg.QueryCanceledError)


def violated_constraint(fault: asyncpg.UniqueViolationError) -> str:
    """The name of the violated unique constraint or index, or an empty string.

    Citus reports the name in the message only.
    """
    found = _UNIQUE.search(fault.constraint_name or driver_message(fault))
    return found[1] if found else ""


def driver_message(fault: Fault) -> str:
    """The fault's own message in one line, without a full stop.

    It excludes the DETAIL of the server, which may contain values of records.
    """
    if isinstance(fault, TimeoutError) and not str(fault):
        return "it does not respond in time"
    if not isinstance(fault, OSError):
        text = str(fault.args[0]) if fault.args else type(fault).__name__
    else:
        text = fault.strerror or str(fault) or type(fault).__name__
    return " ".join(text.split()).removesuffix(".")


def _request_refusal(fault: Fault) -> Refusal | None:
    state = _state(fault)
    if state == NOT_COMPUTED:
        return refuse(rows.NOT_COMPUTABLE, cause=str(fault.args[0]).removesuffix("."))
    if state in _CAUSES:
        return refuse(rows.NOT_COMPUTABLE, cause=_CAUSES[state])
    if state in _TOO_COMPLEX:
        return refuse(rows.TOO_COMPLEX)
    if state in _INVALID_TEXT:
        return refuse(rows.INVALID_TEXT)
    return None


def _state(fault: Fault) -> str:
    return (fault.sqlstate or "") if isinstance(fault, asyncpg.PostgresError) else ""


def _meaning(fault: Fault) -> _Meaning:
    if isinstance(fault, asyncpg.PostgresError):
        state = _state(fault)
        return _BY_STATE.get(state) or _BY_STATE.get(state[:2]) or _FAILED
    if isinstance(fault, ssl.SSLError) or "SSL" in str(fault):
        return _NO_TLS
    if isinstance(fault, asyncpg.ClientConfigurationError):
        return _MISCONFIGURED
    if isinstance(fault, asyncpg.TargetServerAttributeNotMatched):
        return _NO_HOST
    if isinstance(
        fault,
        asyncpg.InterfaceError
        | asyncpg.InternalClientError
        | ConnectionResetError
        | BrokenPipeError
        | ConnectionAbortedError,
    ):
        return _LOST
    return _UNREACHABLE
