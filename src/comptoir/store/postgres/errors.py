"""Errors of PostgreSQL and of connections to it, as messages for clients and for operators."""

import re
import ssl
from collections.abc import Mapping

import asyncpg

from comptoir.errors import operator_rows as problems
from comptoir.errors import refusal_rows as rows
from comptoir.errors.operator_rows import OperatorRow
from comptoir.errors.refusal import OperatorError, Refusal, RefusalRow, UnreachableError
from comptoir.sql.dialects.postgresql.routines import NOT_COMPUTED, not_computed
from comptoir.store import refusals
from comptoir.store.urls import redacted

DriverError = asyncpg.PostgresError | asyncpg.InterfaceError | asyncpg.InternalClientError | OSError
"""An exception of connecting or of a statement; `TimeoutError` is an `OSError`."""

DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    # a lost connection raises it on its next use
    asyncpg.InternalClientError,
    OSError,
)
"""The classes of `DriverError`, for `except`."""


_Meaning = tuple[RefusalRow, OperatorRow]
"""The refusal of a client's request, and the error for the operator."""

_LOST = (rows.CONNECTION_LOST, problems.SERVER_LOST)

_MEANINGS: Mapping[str, _Meaning] = {
    "08 57P01 57P02 57P05": _LOST,
    "28000 28P01": (rows.MISCONFIGURED, problems.SERVER_USER),
    "08P01": (rows.MISCONFIGURED, problems.SERVER_PROTOCOL),
    "3D000": (rows.MISCONFIGURED, problems.SERVER_DATABASE),
    "42704": (rows.MISCONFIGURED, problems.SERVER_PARAMETER),
    "57P03": (rows.UNREACHABLE, problems.SERVER_STARTING),
    "42501": (rows.NO_PRIVILEGES, problems.SERVER_PRIVILEGES),
    "42P01 42703 42883": (rows.NO_TABLES, problems.SERVER_TABLES),
    "3F000": (rows.UNFIT_DATABASE, problems.SERVER_SCHEMA),
    "53300": (rows.TOO_MANY_CONNECTIONS, problems.SERVER_CONNECTIONS),
    "53 53200": (rows.SHORT_OF_MEMORY, problems.SERVER_MEMORY),
    "53100": (rows.DISK_FULL_OF_SERVER, problems.SERVER_DISK),
    "25006": (rows.STANDBY, problems.SERVER_STANDBY),
    "55P03": (rows.LOCKED, problems.SERVER_LOCK),
    "40001 40P01": (rows.CONFLICT, problems.SERVER_CONFLICT),
    "57014": (rows.QUERY_STOPPED, problems.SERVER_LOAD),
}
"""The meanings of SQLSTATEs, and of the classes of others."""

_TEMPORARY = (
    problems.SERVER_UNREACHABLE,
    problems.SERVER_LOST,
    problems.SERVER_ROLE,
    problems.SERVER_STARTING,
    problems.SERVER_CONNECTIONS,
)
"""What may end by itself."""

_BY_STATE = {state: meaning for states, meaning in _MEANINGS.items() for state in states.split()}

_BREAKS = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConnectionResetError,
    BrokenPipeError,
    ConnectionAbortedError,
)
_OF_REQUEST: Mapping[str, RefusalRow] = {
    "22003": rows.NUMBER_TOO_LARGE,
    "22012": rows.DIVISION_BY_ZERO,
    **dict.fromkeys(("54000", "54001", "54011", "54023"), rows.TOO_COMPLEX),
    **dict.fromkeys(("22021", "22P05"), rows.INVALID_TEXT),
}
"""The SQLSTATEs of errors that a request causes."""

_UNIQUE = re.compile(r"\b((?:pk|ux)_\w+?)(?:_\d{6,})?\b")
"""The name of a unique constraint or index; on a shard, Citus appends a number to it."""


def refusal_of(error: DriverError) -> Refusal:
    """The response to a client; logs an error that the request did not cause."""
    of_request = request_refusal(error)
    if of_request is not None:
        return of_request
    # the driver's message about data of the wrong type contains the value
    text = "invalid data" if isinstance(error, asyncpg.DataError) else driver_message(error)
    state = _state(error)
    refusals.log_database_error(f"{text} ({state})" if state else text)
    return refusals.database_failed(_meaning(error)[0])


def operator_error_of(url: str, error: DriverError) -> OperatorError:
    """The error for the operator; an `UnreachableError` if the error is temporary."""
    _, row = _meaning(error)
    kind = UnreachableError if row in _TEMPORARY else OperatorError
    return row(kind=kind, url=redacted(url), reason=driver_message(error))


def is_unanswered(error: DriverError) -> bool:
    """Whether the effect of the statement is unknown, because the server did not respond."""
    return not isinstance(error, asyncpg.PostgresError) or _state(error)[:2] in ("08", "57")


def is_lost(error: DriverError) -> bool:
    """Whether the connection cannot be used after an error."""
    return is_unanswered(error) and not isinstance(error, TimeoutError | asyncpg.QueryCanceledError)


def violated_constraint(error: asyncpg.UniqueViolationError) -> str:
    """The name of the violated unique constraint or index, or an empty string.

    Citus reports the name in the message only.
    """
    found = _UNIQUE.search(error.constraint_name or driver_message(error))
    return found[1] if found else ""


def driver_message(error: DriverError) -> str:
    """The error's own message in one line, without a full stop.

    It excludes the DETAIL of the server, which may contain values of records.
    """
    if isinstance(error, TimeoutError) and not str(error):
        return "it does not respond in time"
    if not isinstance(error, OSError):
        text = str(error.args[0]) if error.args else type(error).__name__
    else:
        text = error.strerror or str(error) or type(error).__name__
    return " ".join(text.split()).removesuffix(".")


def request_refusal(error: DriverError) -> Refusal | None:
    """The refusal of a request that caused an error; None if the database did."""
    state = _state(error)
    if isinstance(error, asyncpg.PostgresError) and state == NOT_COMPUTED:
        return not_computed(str(error.args[0]), error.detail or "")
    row = _OF_REQUEST.get(state)
    return None if row is None else row()


def _state(error: DriverError) -> str:
    return (error.sqlstate or "") if isinstance(error, asyncpg.PostgresError) else ""


def _meaning(error: DriverError) -> _Meaning:
    if isinstance(error, asyncpg.PostgresError):
        state = _state(error)
        failed = (rows.DATABASE_FAILED, problems.UNUSABLE_DATABASE)
        return _BY_STATE.get(state) or _BY_STATE.get(state[:2]) or failed
    if isinstance(error, ssl.SSLError) or "SSL" in str(error):
        return rows.MISCONFIGURED, problems.SERVER_TLS
    if isinstance(error, asyncpg.ClientConfigurationError):
        return rows.MISCONFIGURED, problems.SERVER_URL
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return rows.UNREACHABLE, problems.SERVER_ROLE
    if isinstance(error, _BREAKS):
        return _LOST
    return rows.UNREACHABLE, problems.SERVER_UNREACHABLE
