"""The URLs of PostgreSQL: which there are, and what is wrong with one.

A URL takes what libpq's does, as far as asyncpg knows it: several hosts with
`target_session_attrs`, a folder as `host` for a Unix socket, `sslmode` and the files of TLS,
`passfile`, `service`; whatever it leaves out comes from libpq's environment variables (`PGHOST`,
`PGPASSWORD`, `PGSSLMODE`, …). Other parameters are handed to the server, which refuses those that
it does not know.
"""

import configparser
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import SplitResult, parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

from comptoir.errors import OperatorError
from comptoir.store.urls import POSTGRES

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
_LISTS = ("host", "port")
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


def turns(url: str) -> list[str]:
    """The URL, for each of its hosts once with that host first.

    So a host that is silent does not take the time of those behind it.
    """
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    parameters = parse_qsl(parts.query)
    lists = [hosts, *(value for name, value in parameters if name == "host")]
    count = max(each.count(",") for each in lists) + 1
    if count == 1:
        return [url]
    made = []
    for first in range(count):
        turned = [
            (name, _turned(value, first) if name in _LISTS else value) for name, value in parameters
        ]
        netloc = user + at + _turned(hosts, first)
        made.append(urlunsplit(parts._replace(netloc=netloc, query=urlencode(turned))))
    return made


def _turned(listed: str, first: int) -> str:
    places = listed.split(",")
    return ",".join(places[first:] + places[:first])


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
    return (
        _unknown_place(parts, parameters) or _unreadable(parameters) or _unknown_service(parameters)
    )


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


def _unknown_service(parameters: Mapping[str, list[str]]) -> str | None:
    """Which service no file declares: the driver would go on without it."""
    name = parameters.get("service", [os.environ.get("PGSERVICE", "")])[-1]
    path = Path(os.environ.get("PGSERVICEFILE") or Path.home() / ".pg_service.conf")
    services = configparser.ConfigParser()
    try:
        services.read(path)
    except (configparser.Error, OSError, UnicodeDecodeError):
        return f"its service file {path} cannot be read"
    return f"{path} declares no service {name}" if name and name not in services else None
