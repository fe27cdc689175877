"""Starts processes of the command for the tests: imports everything once, and forks for each.

It is run as a program with the number of a listening socket, and ends with the last connection to
it. A client receives a line with the server's process id. For each process, it sends a byte with
four file descriptors. The first three are the standard input, output and errors of the process. The
fourth is a socket: the client sends an `Order`, and receives a line with the process id and, when
the process ends, a line with its exit status.
"""

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module

from comptoir.catalog import MODEL
from comptoir.cli.main import SUBCOMMANDS
from comptoir.features import FEATURES
from comptoir.sql.dialects.postgresql import POSTGRESQL
from comptoir.sql.dialects.postgresql.routines import routine_statements
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.statements import statements_of

IMPORTED = (
    *(target.partition(":")[0] for target, _ in SUBCOMMANDS.values()),
    *(each.mount.partition(":")[0] for each in FEATURES if each.mount),
    "comptoir.store.postgres.store",
    "comptoir.store.revisions",
    "cryptography.hazmat.backends.openssl.backend",
    "multiprocessing.popen_fork",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
)
"""The modules that a command may import."""


@dataclass(frozen=True)
class Order:
    """The arguments and the environment of a process; `alone` starts a new session.

    The process runs the Python code `first` before the command.
    """

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    alone: bool
    first: str = ""

    def written(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def main() -> None:
    """Fork for each order until nobody is connected any more."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    # an interrupt is for pytest
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in IMPORTED:
        import_module(name)
    # a process computes these once
    for dialect in (SQLITE, POSTGRESQL):
        statements_of(MODEL, dialect)
    routine_statements()
    gc.collect()
    gc.freeze()
    ended, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    connections = [_accepted(listener)]
    clients: dict[int, socket.socket] = {}
    while connections:
        ready, _, _ = select.select([listener, ended, *connections], [], [])
        if ended in ready:
            ended.recv(1024)
            _report(clients)
        if listener in ready:
            connections.append(_accepted(listener))
        for orders in [each for each in connections if each in ready]:
            asked, files, _, _ = socket.recv_fds(orders, 1, 4)
            if not asked:
                connections.remove(orders)
                orders.close()
                continue
            client = socket.socket(fileno=files.pop())
            with client.makefile("rb") as received:
                written = received.readline()
            process = os.fork()
            if process == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (listener, ended, wakes, client, *connections, *clients.values()):
                    each.close()
                _run(Order(**json.loads(written)), files)
                return
            for file in files:
                os.close(file)
            clients[process] = client
            _send(client, process)


def _accepted(listener: socket.socket) -> socket.socket:
    connection, _ = listener.accept()
    _send(connection, os.getpid())
    return connection


def _report(clients: dict[int, socket.socket]) -> None:
    """Report the end of each process that has ended to its client."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with clients.pop(ended[0]) as client:
                _send(client, os.waitstatus_to_exitcode(ended[1]))


def _send(client: socket.socket, number: int) -> None:
    # the receiver may be gone
    with suppress(OSError):
        client.sendall(b"%d\n" % number)


def _run(order: Order, files: list[int]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if order.alone:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    sys.argv = ["comptoir", *order.arguments]
    exec(order.first, {})
    status = 0
    try:
        runpy.run_module("comptoir", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        status = end.code or 0
    _leave(status)


def _leave(status: int) -> None:
    """End as the interpreter does, but free no modules, which takes most of a short command."""
    # no public function waits for the threads of a process, or runs what was registered for its end
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    # the interpreter reports a stream that nobody reads
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    main()
