"""Connections to PostgreSQL: their URLs, the checks of a server, and pools.

A URL has the parameters of libpq that asyncpg supports: several hosts with
`target_session_attrs`, a folder as `host` for a Unix socket, `sslmode` and the files of TLS,
`passfile`, `service`. Omitted parts come from libpq's environment variables (`PGHOST`,
`PGPASSWORD`, `PGSSLMODE`, …). Other parameters are sent to the server, which refuses unknown ones.
"""

import asyncio
import configparser
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar
from unicodedata import unidata_version
from urllib.parse import SplitResult, parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from comptoir.config import Settings
from comptoir.errors import operator_rows as problems
from comptoir.errors import refusal_rows
from comptoir.plan.read import Row
from comptoir.sql.prepared import Query
from comptoir.store.fair_queue import FairSemaphore
from comptoir.store.postgres.errors import DRIVER_ERRORS, is_lost, operator_error_of, refusal_of
from comptoir.store.schema import HEAD, Report, SchemaState, SchemaSteps, check_state, state_of
from comptoir.store.unit import drive
from comptoir.store.urls import POSTGRES, redacted

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

T = TypeVar("T")

MINIMUM_VERSION = 14
ENCODING = "UTF8"
APPLICATION = "comptoir"

CLOSING_SECONDS = 0.5
"""Seconds that a connection has to close before it is terminated."""

_CHOICES: Mapping[str, str] = {
    "sslmode": "disable, allow, prefer, require, verify-ca, verify-full",
    "target_session_attrs": "any, primary, standby, prefer-standby, read-write, read-only",
}
_LISTS = ("host", "port")
_FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_PORTS = range(1, 65_536)
_IS_READ_ONLY = "SELECT current_setting('transaction_read_only') = 'on'"
_MALFORMED = "the URL, a PG… environment variable, or the service file is malformed"


def check_url(url: str) -> None:
    """Raise `OperatorError` if a URL is malformed; the message names the part, without secrets."""
    problem = _malformed(url)
    if problem:
        raise problems.MALFORMED_URL(problem=problem, scheme=POSTGRES[0])


async def connect(
    settings: Settings, url: str, *, seconds: float, command_seconds: float | None = None
) -> Connection:
    """Open a connection within `seconds`, in which all hosts of the URL are tried.

    Its statements are cancelled after `command_seconds`. The connection sets no session state, so
    PgBouncer may run each transaction on another server connection. Raises `DRIVER_ERRORS`.
    """
    given = parse_qs(urlsplit(url).query)
    server_settings = {}
    if "application_name" not in given:
        server_settings["application_name"] = APPLICATION
    # compiling short statements costs more than it saves; PgBouncer refuses unknown parameters
    if settings.statement_cache and "jit" not in given:
        server_settings["jit"] = "off"
    last: TimeoutError | None = None
    orders = _host_orders(url)
    for each in orders:
        try:
            opening = asyncpg.connect(
                each,
                timeout=seconds / len(orders),
                command_timeout=command_seconds,
                statement_cache_size=settings.statement_cache,
                server_settings=server_settings,
            )
            return await _opened(asyncio.ensure_future(opening))
        except TimeoutError as error:
            last = error
        except DRIVER_ERRORS:
            raise
        except (ValueError, LookupError, configparser.Error):
            # the exception's text may contain a part of the password
            raise asyncpg.ClientConfigurationError(_MALFORMED) from None
    raise last or TimeoutError


async def _opened(opening: "asyncio.Future[Connection]") -> Connection:
    """The connection that a task opens; if the caller is cancelled, it is closed again.

    The task is then cancelled only if it takes long: in its first moments, asyncpg would leave an
    exception that nobody retrieves, and asyncio would report that.
    """
    try:
        await asyncio.wait((opening,))
    except asyncio.CancelledError:
        opening.add_done_callback(_discard)
        try:
            await asyncio.wait((opening,), timeout=CLOSING_SECONDS)
        finally:
            opening.cancel()
        raise
    return opening.result()


def _discard(opening: "asyncio.Future[Connection]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().terminate()


async def check_server(connection: Connection, url: str) -> bool:
    """Check the version and the encoding of a server; returns whether it is a standby.

    Raises `OperatorError` for an unsupported one, and `DRIVER_ERRORS`.
    """
    ((version, encoding, is_standby),) = await connection.fetch(
        "SELECT current_setting('server_version_num')::BIGINT / 10000,"
        " current_setting('server_encoding'), pg_is_in_recovery()"
    )
    if version < MINIMUM_VERSION:
        raise problems.OLD_POSTGRESQL(url=redacted(url), version=version, least=MINIMUM_VERSION)
    if encoding != ENCODING:
        raise problems.WRONG_ENCODING(url=redacted(url), encoding=encoding, needed=ENCODING)
    return bool(is_standby)


async def check_primary(connection: Connection, url: str) -> None:
    """Check a server as `check_server` does; raises `OperatorError` for a standby too."""
    if await check_server(connection, url):
        raise problems.STANDBY(url=redacted(url))


async def run_query(
    connection: Connection, query: Query, seconds: float | None = None
) -> list[Row]:
    """All rows of a statement, which is cancelled after `seconds`."""
    records = await connection.fetch(query.text, *query.values, timeout=seconds)
    return list(map(tuple, records))


async def run_steps(connection: Connection, steps: SchemaSteps[T]) -> T:
    """Run the statements of a migration, and return the result; raises `DRIVER_ERRORS`."""
    return await drive(steps, partial(run_query, connection))


async def _state(connection: Connection) -> SchemaState:
    return await run_steps(connection, state_of("postgresql"))


async def accepted(settings: Settings) -> str | None:
    """The source of the model that the database has; raises as `check_ready` does."""
    async with connected(settings, settings.database) as connection:
        return (await _state(connection)).catalog


async def check_ready(settings: Settings, report: Report, catalog: str = "") -> None:
    """Check that this program can use the database of the settings, and write to it unless refused.

    With the source of a model, the database must have the same one. `report` receives a warning if
    Unicode has another version there. Raises `OperatorError`, which is an `UnreachableError` if the
    server may be available later.
    """
    url, name = settings.database, redacted(settings.database)
    async with connected(settings, url) as connection:
        if settings.refuses_writes:
            await check_server(connection, url)
        else:
            await check_primary(connection, url)
            if await connection.fetchval(_IS_READ_ONLY):
                raise problems.READ_ONLY_SERVER(url=name)
        state = await _state(connection)
    check_state(state, name, catalog)
    if state.revision == HEAD and state.unicode != unidata_version:
        report(
            f"{name} converts the case of texts by Unicode {state.unicode}, and this program by "
            f"{unidata_version}. Run `comptoir migrate` when all hosts have this Python."
        )


@asynccontextmanager
async def connected(
    settings: Settings, url: str, *, takes_long: bool = False
) -> AsyncIterator[Connection]:
    """Open a connection for the operator.

    A statement has as many seconds as the connection, unless it `takes_long`. Raises
    `OperatorError` for `DRIVER_ERRORS`, which is an `UnreachableError` if they are temporary.
    """
    check_url(url)
    seconds = settings.connect_seconds
    limit = None if takes_long else seconds
    try:
        connection = await connect(settings, url, seconds=seconds, command_seconds=limit)
        try:
            yield connection
        finally:
            connection.terminate()
    except DRIVER_ERRORS as error:
        raise operator_error_of(url, error) from error


class Pool:
    """Up to `size` connections, which are opened when needed and then reused.

    A caller waits up to `seconds` for one. One party checks out at most `most_of_one` at once.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        size: int,
        seconds: float,
        *,
        most_of_one: int | None = None,
    ) -> None:
        self._connect = connect
        self._seconds = seconds
        self._turns = FairSemaphore(size, most_of_one or size)
        self._parties: dict[Connection, str] = {}
        self._idle: list[Connection] = []

    @property
    def in_use(self) -> int:
        """The connections that are checked out."""
        return len(self._parties)

    @property
    def idle(self) -> int:
        """The open connections that are not checked out."""
        return len(self._idle)

    @asynccontextmanager
    async def acquired(self) -> AsyncIterator[Connection]:
        """Check out a connection for the block.

        Raises `Refusal` (503) if the database is unreachable, or no connection becomes free.
        """
        connection = await self.acquire()
        try:
            yield connection
        except DRIVER_ERRORS as error:
            if is_lost(error):
                self.drop(connection)
            raise
        finally:
            self.release(connection)

    async def acquire(self) -> Connection:
        """Check out a connection, which the caller releases; raises as `acquired` does."""
        party = await (self._turns.acquire() if self._turns.is_free else self._wait())
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                self._parties[connection] = party
                return connection
        is_open = False
        try:
            connection = await self._connect()
            is_open = True
        except DRIVER_ERRORS as error:
            raise refusal_of(error) from error
        finally:
            if not is_open:
                self._turns.release(party)
        self._parties[connection] = party
        return connection

    def release(self, connection: Connection) -> None:
        """Return a connection to the pool."""
        if not connection.is_closed():
            self._idle.append(connection)
        self._turns.release(self._parties.pop(connection))

    def drop(self, connection: Connection) -> None:
        """Terminate a lost connection, and the idle ones, which were probably lost too."""
        for each in (connection, *self._idle):
            each.terminate()

    async def close(self) -> None:
        """Close the idle connections; call it after all have been released."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*map(close, idle))

    async def _wait(self) -> str:
        """Acquire a permit for the party; raises `Refusal` (503) after the pool's seconds."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._turns.acquire()
        except TimeoutError:
            # the timeout has released a permit that arrived in the same iteration of the loop
            if not self._turns.is_free:
                raise refusal_rows.NO_CONNECTION(seconds=self._seconds) from None
            return await self._turns.acquire()


async def close(connection: Connection) -> None:
    """Close a connection within `CLOSING_SECONDS`, or terminate it."""
    try:
        await connection.close(timeout=CLOSING_SECONDS)
    except DRIVER_ERRORS:
        connection.terminate()


def _host_orders(url: str) -> list[str]:
    """The URL with each of its hosts as the first, so that each attempt has its own timeout.

    An unresponsive host then leaves time for the others.
    """
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    parameters = parse_qsl(parts.query)
    lists = [hosts, *(value for name, value in parameters if name == "host")]
    count = max(each.count(",") for each in lists) + 1
    if count == 1:
        return [url]
    urls = []
    for first in range(count):
        rotated = [
            (name, _rotated(value, first) if name in _LISTS else value)
            for name, value in parameters
        ]
        netloc = user + at + _rotated(hosts, first)
        urls.append(urlunsplit(parts._replace(netloc=netloc, query=urlencode(rotated))))
    return urls


def _rotated(listed: str, first: int) -> str:
    items = listed.split(",")
    return ",".join(items[first:] + items[:first])


def _malformed(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        parameters = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
    except ValueError:
        return "its host or its parameters are ambiguous"
    if not url.startswith(POSTGRES):
        return f"it does not begin with {POSTGRES[0]}"
    if "#" in url or parts.netloc.count("@") > 1 or "@" in parts.path:
        return "its user and password are ambiguous"
    for name, choices in _CHOICES.items():
        if name in parameters and parameters[name][-1] not in choices.split(", "):
            return f"{name} must be one of {choices}"
    return (
        _invalid_address(parts, parameters)
        or _unreadable_file(parameters)
        or _unknown_service(parameters)
    )


def _invalid_address(parts: SplitResult, parameters: Mapping[str, list[str]]) -> str | None:
    hosts = parts.netloc.rpartition("@")[2]
    addresses = hosts.split(",") if hosts else []
    ports = [port for each in addresses for port in _ports_of(each)]
    if "port" in parameters:
        ports += parameters["port"][-1].split(",")
    if "host" in parameters:
        addresses += parameters["host"][-1].split(",")
    if "" in addresses:
        return "a host is empty"
    if not all(port.isascii() and port.isdigit() and int(port) in _PORTS for port in ports):
        return f"a port must be a number from {_PORTS[0]} to {_PORTS[-1]}"
    return None


def _ports_of(address: str) -> list[str]:
    # the colons of an IPv6 address are in brackets
    _, colon, port = address[address.rfind("]") + 1 :].partition(":")
    return [port] if colon else []


def _unreadable_file(parameters: Mapping[str, list[str]]) -> str | None:
    # the driver's message does not name the file
    for name in _FILES:
        for path in parameters.get(name, [])[-1:]:
            try:
                with open(path, "rb"):  # noqa: PTH123
                    pass
            except OSError as error:
                return f"{name} names {path}, which cannot be read ({error.strerror})"
    return None


def _unknown_service(parameters: Mapping[str, list[str]]) -> str | None:
    # the driver would ignore a service that no file declares
    name = parameters.get("service", [os.environ.get("PGSERVICE", "")])[-1]
    path = Path(os.environ.get("PGSERVICEFILE") or Path.home() / ".pg_service.conf")
    services = configparser.ConfigParser()
    try:
        services.read(path)
    except (configparser.Error, OSError, UnicodeDecodeError):
        return f"its service file {path} cannot be read"
    return f"{path} declares no service {name}" if name and name not in services else None
