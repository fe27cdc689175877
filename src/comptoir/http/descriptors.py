"""File descriptors: the number that a process may need, and may have."""

import resource
from collections.abc import Mapping
from pathlib import Path

from comptoir.config import Settings

CLIENTS = 1_000
"""Client connections that a process should be able to accept."""

_OWN = 50
"""Descriptors of the interpreter, the event loop, logs and listening sockets, and a reserve."""
CONTROL_CONNECTIONS = 1
"""Connections of a process to PostgreSQL besides `database_connections`, for the control tables."""
_FILES_OF_SQLITE = 3
"""Files of a connection: the database, its write-ahead log and the index of the log."""
_THREADS_OF_SQLITE = 6
"""Connections besides those of scans: reads, writes, indexing, clients, and two temporary ones."""
_RAISED = (1 << 16, 10_240)
"""Limits to request, highest first; some systems allow only the second."""

_OPEN = Path("/dev/fd")
"""The folder of the descriptors that a process has open, on Linux and macOS."""


def _raised_limit() -> int:
    """Raise the process's limit on descriptors as far as allowed; returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _RAISED[0]
    for wanted in _RAISED:
        raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if raised <= soft:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        except (OSError, ValueError):
            continue
        return raised
    return soft


def opened() -> int:
    """The descriptors that the process has open."""
    # one of them reads the folder
    return sum(1 for _ in _OPEN.iterdir()) - 1


def limit() -> int:
    """The most descriptors that the process may have open."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


class ClientConnections:
    """The connections of clients that are open in this process."""

    def __init__(self) -> None:
        self.count = 0


CONNECTIONS = ClientConnections()


def needed(settings: Settings, *, on_postgres: bool) -> Mapping[str, int]:
    """The descriptors that a process may need, by purpose."""
    if on_postgres:
        databases = 2 if settings.read_database else 1
        stored = settings.database_connections * databases + CONTROL_CONNECTIONS
    else:
        stored = (settings.scan_threads + _THREADS_OF_SQLITE) * _FILES_OF_SQLITE
    return {"itself": _OWN, "the database": stored, "connections of clients": CLIENTS}


def shortage(settings: Settings, *, on_postgres: bool) -> str | None:
    """A warning if the limit is lower than what the settings may need."""
    allowed, parts = _raised_limit(), needed(settings, on_postgres=on_postgres)
    total = sum(parts.values())
    if allowed >= total:
        return None
    listed = ", ".join(f"{count:,} for {purpose}" for purpose, count in parts.items())
    return (
        f"a process may open {allowed:,} files, and may need {total:,} with these settings "
        f"({listed}). Raise the limit with ulimit -n {total}, LimitNOFILE={total} in a systemd "
        f"unit, or --ulimit nofile={total} in Docker."
    )
