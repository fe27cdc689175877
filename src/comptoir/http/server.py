"""The HTTP server: uvicorn on a listening socket."""

import errno
import socket
from collections.abc import Sequence
from contextlib import suppress

from starlette.types import ASGIApp
from uvicorn import Server

from comptoir import operator_rows as problems
from comptoir.config import Settings
from comptoir.errors import OperatorError
from comptoir.http.protocol import ServerConfig

_BACKLOG = 2_048


def bind(host: str, port: int, prefix: str = "") -> socket.socket:
    """Listen on an address; raises `OperatorError` if that is not possible.

    The names of its settings, `host` and `port`, begin with a prefix.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise problems.PORT_IN_USE(port=port, host=host, prefix=prefix) from None
        raise problems.CANNOT_LISTEN(
            host=host, port=port, reason=error.strerror, prefix=prefix
        ) from None
    return listener


def bind_all(settings: Settings) -> Sequence[socket.socket]:
    """Listen on the address of the API, and on that of the operator; raises like `bind`."""
    listeners = [bind(settings.host, settings.port)]
    if settings.admin_port:
        try:
            listeners.append(bind(settings.admin_host, settings.admin_port, "admin_"))
        except OperatorError:
            listeners[0].close()
            raise
    return listeners


def run(app: ASGIApp, settings: Settings, listeners: Sequence[socket.socket]) -> None:
    """Serve until a signal asks to stop; then finish the accepted requests, and return."""
    # uvicorn raises the signal that stopped it again after its last response
    with suppress(KeyboardInterrupt):
        Server(ServerConfig(app, settings)).run(list(listeners))
