"""Whether the console is served, and the file by which `comptoir console` knows that of a service.

The service holds its lock, so that the file of a service that has ended is ignored.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit
from zlib import crc32

from comptoir.auth.origins import CONSOLE, is_loopback
from comptoir.config import Settings
from comptoir.features.console import ConsoleSettings
from comptoir.features.console import errors as problems
from comptoir.store.sqlite.connection import database_path
from comptoir.store.urls import is_postgres, redacted


def serves_console(settings: Settings) -> bool:
    """Whether the console is served.

    Raises `OperatorError` if it is on where others could read its cookies.
    """
    own, address = settings.of(ConsoleSettings), settings.beside_api(CONSOLE)
    if own.console == "off":
        return False
    if own.console == "auto":
        listening = settings.admin_host if settings.admin_port else settings.host
        return not settings.public_url and is_loopback(listening)
    parts = urlsplit(address)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise problems.CONSOLE_WITHOUT_TLS(url=address)
    return True


@contextmanager
def announced(settings: Settings, address: str) -> Iterator[None]:
    """Keep the address of the console in the file during the block; it is blank without one.

    The first of several services on one host with the same database has the file.
    """
    place = _place(settings)
    try:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        # a service also runs on a read-only disk
        yield
        return
    try:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, address.encode())
        yield
    finally:
        os.close(descriptor)


def console_address(settings: Settings) -> str | None:
    """The address of the console of a running service, blank without one; None if none runs."""
    with suppress(OSError), _place(settings).open(encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read()
    return None


def _place(settings: Settings) -> Path:
    """A file beside that of the database, or beside the keys if the database is on a server."""
    if is_postgres(settings.database):
        number = crc32(redacted(settings.database).encode())
        return Path(settings.keys) / f"service-{number:08x}"
    path = database_path(settings.database)
    return path.with_name(f"{path.name}-service")
