"""The HTTP server: uvicorn on a listening socket."""

import errno
import logging
import socket
from collections.abc import Sequence
from contextlib import suppress

from starlette.types import ASGIApp
from typing_extensions import override
from uvicorn import Server
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from comptoir.config import Settings
from comptoir.errors import OperatorError
from comptoir.http.protocol import ServerConfig

_BACKLOG = 2_048

_log = logging.getLogger(__name__)


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
    except OSError as fault:
        listener.close()
        if fault.errno == errno.EADDRINUSE:
            raise OperatorError(
                f"port {port} of {host} is in use",
                f"Stop the program that listens there, or set {prefix}port to another one.",
            ) from None
        raise OperatorError(
            f"cannot listen on {host}:{port}: {fault.strerror}",
            f"Set {prefix}host or {prefix}port to another one.",
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


def run(app: ASGIApp | str, settings: Settings, listeners: Sequence[socket.socket]) -> None:
    """Serve until a signal asks to stop; then finish the accepted requests, and return.

    `app` is the application, or the import path of its factory if there are several workers.
    """
    config = ServerConfig(app, settings)
    if settings.workers > 1:
        _Workers(config, list(listeners)).run()
    else:
        # uvicorn raises the signal that stopped it again after its last response
        with suppress(KeyboardInterrupt):
            Server(config).run(list(listeners))


class _Workers(Multiprocess):
    """Worker processes, each of which is replaced when it has ended.

    uvicorn would also kill a worker that does not respond within seconds. On a busy machine that
    is one that starts, and its replacement would not start faster.
    """

    @override
    def keep_subprocess_alive(self) -> None:
        for at, worker in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            if worker.process.is_alive():
                continue
            # closes its pipes
            worker.kill()
            worker.join()
            if worker.exitcode == STARTUP_FAILURE:
                _log.error("a worker cannot start, so the service stops")
                self.should_exit.set()
                return
            _log.warning("a worker has ended, and another one replaces it")
            self.processes[at] = Process(self.config, self.sockets)
            self.processes[at].start()
