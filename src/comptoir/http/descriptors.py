"""File descriptors: how many a process may need, and what to say when none is left."""

import asyncio
import errno
import logging
import os
import resource
import time
from collections.abc import Mapping

from comptoir.config import Settings

CLIENTS = 1_000
"""Connections of clients that a process should have room for."""

_OWN = 50
"""Descriptors of the interpreter, the event loop, logs and listening sockets, and some spare."""
_FILES_OF_SQLITE = 3
"""Files of a connection: the database, its write-ahead log and the index of that."""
_THREADS_OF_SQLITE = 5
"""Connections beside those of scans: reads, writes, indexing, and two short-lived ones."""
_RAISED = (1 << 16, 10_240)
"""Limits that are asked for, highest first; some systems grant no more than the second."""

_LOOK_SECONDS = 1.0
_SILENT_SECONDS = 60.0
_ACCEPT_FAILED = "socket.accept() out of system resource"
"""How the event loop of the standard library words it."""

_log = logging.getLogger(__name__)


def limit() -> int:
    """How many descriptors this process may have, after it has raised its limit if it can."""
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


def needed(settings: Settings, *, on_postgres: bool) -> Mapping[str, int]:
    """How many descriptors a process may need, by what it needs them for."""
    if on_postgres:
        databases = 2 if settings.read_database else 1
        stored = settings.database_connections * databases
    else:
        stored = (settings.scan_threads + _THREADS_OF_SQLITE) * _FILES_OF_SQLITE
    return {"itself": _OWN, "the database": stored, "connections of clients": CLIENTS}


def shortage(settings: Settings, *, on_postgres: bool) -> str | None:
    """What to say when the limit is lower than what the settings may need."""
    allowed, parts = limit(), needed(settings, on_postgres=on_postgres)
    total = sum(parts.values())
    if allowed >= total:
        return None
    listed = ", ".join(f"{count:,} for {purpose}" for purpose, count in parts.items())
    return (
        f"a process may open {allowed:,} files, and with these settings may need {total:,} "
        f"({listed}). Raise the limit: ulimit -n {total}, LimitNOFILE={total} in a systemd unit, "
        f"or --ulimit nofile={total} in Docker."
    )


class DescriptorWatch:
    """Logs that connections are not accepted since no descriptor is free, now and then.

    uvloop closes such connections without a word, so it is looked for every second.
    """

    def __init__(self) -> None:
        self._silent_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin, in the running event loop."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._handle)
        self._look(loop)

    def stop(self) -> None:
        """End."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(_LOOK_SECONDS, self._look, loop)
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as fault:
            if fault.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self._say(fault)

    def _handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        fault = context.get("exception")
        if context.get("message") == _ACCEPT_FAILED and isinstance(fault, OSError):
            self._say(fault)
        else:
            loop.default_exception_handler(context)

    def _say(self, fault: OSError) -> None:
        now = time.monotonic()
        if now < self._silent_until:
            return
        self._silent_until = now + _SILENT_SECONDS
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        _log.error(
            "new connections are not accepted: %s. This process may open %d files. Raise the "
            "limit (ulimit -n, or LimitNOFILE in a systemd unit), or let fewer clients connect.",
            fault.strerror,
            allowed,
        )
