"""The HTTP server: uvicorn on a listening socket."""

import errno
import socket
from contextlib import suppress

from starlette.types import ASGIApp
from uvicorn import Server
from uvicorn.supervisors import Multiprocess

from comptoir.config import Settings
from comptoir.errors import OperatorError
from comptoir.http.protocol import ServerConfig

_BACKLOG = 2_048


def bind(host: str, port: int) -> socket.socket:
    """Listen on an address; raises `OperatorError` if that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as fault:
        listener.close()
        if fault.errno == errno.EADDRINUSE:
            raise OperatorError(
                f"port {port} of {host} is in use",
                "Stop the program that listens there, or choose another port with --port.",
            ) from None
        raise OperatorError(
            f"cannot listen on {host}:{port}: {fault.strerror}", "Choose another --host or --port."
        ) from None
    return listener


def run(app: ASGIApp | str, settings: Settings, listener: socket.socket) -> None:
    """Serve until a signal asks to stop; then finish the accepted requests, and return.

    `app` is the application, or the import path of its factory if there are several workers.
    """
    config = ServerConfig(app, settings)
    if settings.workers > 1:
        Multiprocess(config, [listener]).run()
    else:
        # uvicorn raises the signal that stopped it again after its last response
        with suppress(KeyboardInterrupt):
            Server(config).run([listener])
