"""Connections to PostgreSQL: which URLs there are, how connections are set, what a server must be.

A URL takes what libpq's does, as far as asyncpg knows it: several hosts with
`target_session_attrs`, a folder as `host` for a Unix socket, `sslmode` and the files of TLS,
`passfile`, `service`; whatever it leaves out comes from libpq's environment variables (`PGHOST`,
`PGPASSWORD`, `PGSSLMODE`, …). Other parameters are handed to the server, which refuses those that
it does not know.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import SplitResult, parse_qs, urlsplit

import asyncpg

from comptoir.config import Settings
from comptoir.errors import OperatorError
from comptoir.store.postgres.faults import operator_error_of
from comptoir.store.urls import POSTGRES, shown

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

MINIMUM_VERSION = 14
ENCODING = "UTF8"
APPLICATION = "comptoir"

_CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
        "target_session_attrs": (
            "any",
            "primary",
            "standby",
            "prefer-standby",
            "read-write",
            "read-only",
        ),
    }
)
_FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_PORTS = range(1, 65_536)


def check_url(url: str) -> None:
    """Raise `OperatorError` when a URL is malformed; it names the part, and shows no secret."""
    fault = _malformed(url)
    if fault:
        raise OperatorError(
            f"the URL of the database is malformed: {fault}. Write "
            f"{POSTGRES[0]}USER:PASSWORD@HOST:PORT/NAME, with @ : / ? # and % in the password as "
            "%40 %3A %2F %3F %23 and %25."
        )


async def connect(
    settings: Settings, url: str, *, seconds: float, command_seconds: float | None = None
) -> Connection:
    """Open a connection within so many seconds, all hosts of the URL together.

    No statement on it takes longer than `command_seconds`: it is cancelled.

    It keeps no state of a session, so that PgBouncer may hand each transaction to another server.
    Raises what `faults` knows: `asyncpg.PostgresError`, `asyncpg.InterfaceError`, `OSError`,
    `TimeoutError`; and `OperatorError` for a malformed URL.
    """
    check_url(url)
    given = parse_qs(urlsplit(url).query)
    server_settings = {}
    if "application_name" not in given:
        server_settings["application_name"] = APPLICATION
    # statements are short and many, and compiling one costs more than it saves; PgBouncer refuses
    # parameters that it does not know
    if settings.statement_cache and "jit" not in given:
        server_settings["jit"] = "off"
    try:
        return await asyncpg.connect(
            url,
            timeout=seconds,
            command_timeout=command_seconds,
            statement_cache_size=settings.statement_cache,
            server_settings=server_settings,
        )
    except asyncpg.InternalClientError as fault:
        # no host is what target_session_attrs asks for: one may become it, as after a failover
        raise ConnectionError(str(fault)) from fault


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
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as fault:
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


def _malformed(url: str) -> str | None:
    """What is wrong with a URL, None when nothing is."""
    try:
        parts = urlsplit(url)
        parameters = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
    except ValueError:
        return "its host or its parameters cannot be told apart"
    if not url.startswith(POSTGRES):
        return f"it does not begin with {POSTGRES[0]}"
    if "#" in url or parts.netloc.count("@") > 1 or "@" in parts.path:
        return "its user and password cannot be told from the rest"
    for name, choices in _CHOICES.items():
        if name in parameters and parameters[name][-1] not in choices:
            return f"{name} must be one of {', '.join(choices)}"
    return _unknown_place(parts, parameters) or _unreadable(parameters)


def _unknown_place(parts: SplitResult, parameters: Mapping[str, list[str]]) -> str | None:
    hosts = parts.netloc.rpartition("@")[2]
    places = hosts.split(",") if hosts else []
    ports = [port for place in places for _, is_given, port in [_port_of(place)] if is_given]
    if "port" in parameters:
        ports += parameters["port"][-1].split(",")
    if "host" in parameters:
        places += parameters["host"][-1].split(",")
    if "" in places:
        return "a host is empty"
    if not all(port.isascii() and port.isdigit() and int(port) in _PORTS for port in ports):
        return f"a port must be a number from {_PORTS[0]} to {_PORTS[-1]}"
    return None


def _port_of(place: str) -> tuple[str, str, str]:
    """A host, a colon when a port follows, and the port; the colons of IPv6 stand in brackets."""
    bracket = place.rfind("]") + 1
    host, colon, port = place[bracket:].partition(":")
    return place[:bracket] + host, colon, port


def _unreadable(parameters: Mapping[str, list[str]]) -> str | None:
    """Which file of TLS cannot be read: the driver's own words do not name it."""
    for name in _FILES:
        for path in parameters.get(name, [])[-1:]:
            try:
                with open(path, "rb"):  # noqa: PTH123
                    pass
            except OSError as fault:
                return f"{name} names {path}, which cannot be read ({fault.strerror})"
    return None
