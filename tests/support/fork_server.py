"""Makes processes of the command for the tests: it has imported all there is, and forks for each.

Run as a program with the number of a socket. Whoever sends a byte with four file descriptors gets a
process with the first three as its standard input, output and errors. What it runs, an `Order`, is
read from the fourth, and told there are a line with its id and, when it ends, one with its status.
"""

import gc
import json
import os
import runpy
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module

from comptoir.cli.main import SUBCOMMANDS

STREAMS = 3

IMPORTED = (
    *(target.partition(":")[0] for target, _ in SUBCOMMANDS.values()),
    "comptoir.cli.quickstart",
    "comptoir.store.postgres.store",
    "comptoir.store.sqlite.upgrading",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
)
"""What a command may import."""


@dataclass(frozen=True)
class Order:
    """What a process runs `comptoir` with; `alone` begins a session of its own."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    alone: bool

    def written(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def main() -> None:
    """Fork until nobody can ask any more."""
    orders = socket.socket(fileno=int(sys.argv[1]))
    # an interrupt is for who runs the tests, and ends are waited for by the processes between
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for name in IMPORTED:
        import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        asked, files, _, _ = socket.recv_fds(orders, 1, STREAMS + 1)
        if not asked:
            return
        if os.fork() == 0:
            orders.close()
            _keep(files)
            return
        for file in files:
            os.close(file)


def _keep(files: list[int]) -> None:
    """Start the process, and tell how it ends; returns in the process itself alone."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(fileno=files.pop()) as told, told.makefile("rb") as said:
        order = Order(**json.loads(said.readline()))
        process = os.fork()
        if process != 0:
            for file in files:
                os.close(file)
            # who started it may be gone, and need not know
            with suppress(OSError):
                told.sendall(b"%d\n" % process)
                _, status = os.waitpid(process, 0)
                told.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
            os._exit(0)
    _run(order, files)


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
    runpy.run_module("comptoir", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
