"""Connections to PostgreSQL: how they are set, and what a server must be."""

import configparser
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

import asyncpg

from comptoir.config import Settings
from comptoir.errors import OperatorError
from comptoir.store.postgres.faults import FAULTS, operator_error_of
from comptoir.store.postgres.url import turns
from comptoir.store.urls import shown

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

MINIMUM_VERSION = 14
ENCODING = "UTF8"
APPLICATION = "comptoir"

_MALFORMED = "its URL, a PG… environment variable, or the service file is malformed"


async def connect(
    settings: Settings, url: str, *, seconds: float, command_seconds: float | None = None
) -> Connection:
    """Open a connection within so many seconds, all hosts of the URL together.

    No statement on it takes longer than `command_seconds`: it is cancelled.

    It keeps no state of a session, so that PgBouncer may hand each transaction to another server.
    Raises `FAULTS`.
    """
    given = parse_qs(urlsplit(url).query)
    server_settings = {}
    if "application_name" not in given:
        server_settings["application_name"] = APPLICATION
    # statements are short and many, and compiling one costs more than it saves; PgBouncer refuses
    # parameters that it does not know
    if settings.statement_cache and "jit" not in given:
        server_settings["jit"] = "off"
    last: TimeoutError | None = None
    places = turns(url)
    for turn in places:
        try:
            return await asyncpg.connect(
                turn,
                timeout=seconds / len(places),
                command_timeout=command_seconds,
                statement_cache_size=settings.statement_cache,
                server_settings=server_settings,
            )
        except TimeoutError as fault:
            last = fault
        except FAULTS:
            raise
        except asyncpg.InternalClientError as fault:
            # no host is what target_session_attrs asks for: one may become it, as after a failover
            raise ConnectionError(str(fault)) from fault
        except (ValueError, LookupError, configparser.Error):
            # their words may hold a part of the password
            raise asyncpg.ClientConfigurationError(_MALFORMED) from None
    raise last or TimeoutError


async def check_server(
    connection: Connection, url: str, *, writes: bool, minimum: int = MINIMUM_VERSION
) -> None:
    """Raise `OperatorError` when a server cannot serve: its version, encoding, or role.

    `minimum` is the least major version; with `writes` it must not be a standby.
    """
    try:
        ((version, encoding, is_standby),) = await connection.fetch(
            "SELECT current_setting('server_version_num')::BIGINT / 10000,"
            " current_setting('server_encoding'), pg_is_in_recovery()"
        )
    except FAULTS as fault:
        raise operator_error_of(url, fault) from fault
    if version < minimum:
        raise OperatorError(
            f"{shown(url)} is PostgreSQL {version}; {minimum} or later is needed. Upgrade the "
            "server, or name another one."
        )
    if encoding != ENCODING:
        raise OperatorError(
            f"{shown(url)} has the encoding {encoding}, not {ENCODING}. Make another database with "
            f"CREATE DATABASE … ENCODING '{ENCODING}' TEMPLATE template0."
        )
    if writes and is_standby:
        raise OperatorError(
            f"{shown(url)} is a standby, which takes no writes. Name the primary, or all hosts "
            "with target_session_attrs=primary."
        )
