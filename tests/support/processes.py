"""Starts the command as a process without importing its modules each time."""

import atexit
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Self

from support.fork_server import Order
from support.locks import held_alone
from support.waiting import PATIENCE_SECONDS

RUN_FOLDER = Path()
"""The folder of the test run, where its processes find the fork server."""

_PROGRAM = Path(__file__).with_name("fork_server.py")


class Process:
    """A process of `comptoir`, with a part of the interface of `subprocess.Popen`.

    Its output and, unless a file is given, its errors are pipes. Its input is empty unless it is
    given. `alone` starts a new session. The code `first` runs before the command.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        entered: IO[bytes] | None = None,
        errors: IO[bytes] | None = None,
        alone: bool = False,
        first: str = "",
    ) -> None:
        order = Order(list(arguments), dict(environment), str(folder), alone, first)
        self._socket, theirs = socket.socketpair()
        self.stdout, output = _pipe()
        self.stderr, complaints = _pipe()
        with Path(os.devnull).open("rb") as nothing, theirs, output, complaints:
            streams = (entered or nothing, output, errors or complaints, theirs)
            socket.send_fds(fork_server(), [b"1"], [each.fileno() for each in streams])
        if errors is not None:
            self.stderr.close()
        self._socket.sendall(order.written())
        self._lines = self._socket.makefile("rb", buffering=0)
        self.pid = int(self._lines.readline())
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        self.close()

    def wait(self, seconds: float | None = None) -> int:
        """Wait for the end, and return the exit status; raises `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            if not select.select([self._socket], [], [], seconds)[0]:
                raise subprocess.TimeoutExpired("comptoir", seconds or 0)
            self.returncode = int(self._lines.readline())
            self._lines.close()
            self._socket.close()
        return self.returncode

    def poll(self) -> int | None:
        """The exit status, None while the process runs."""
        if self.returncode is None and select.select([self._socket], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            # it may end right now
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Close this side of the pipes."""
        self.stdout.close()
        self.stderr.close()


def read_lines(process: Process, count: int) -> list[bytes]:
    """The next lines; fails the test if a line does not come."""
    assert select.select([process.stdout], [], [], PATIENCE_SECONDS)[0]
    return [process.stdout.readline() for _ in range(count)]


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    read, write = os.pipe()
    return os.fdopen(read, "rb"), os.fdopen(write, "wb")


@cache
def fork_server() -> socket.socket:
    """A connection to the fork server of the test run, which ends with its last connection.

    The first process that needs it starts it, since its imports take seconds.
    """
    address = RUN_FOLDER / "fork.socket"
    with held_alone(RUN_FOLDER / "fork.lock"):
        return _joined(address) or _started(address)


def _joined(address: Path) -> socket.socket | None:
    """A connection to the server at an address; None without one, or with one that is ending."""
    connection = socket.socket(socket.AF_UNIX)
    with suppress(FileNotFoundError, ConnectionError):
        connection.connect(str(address))
        if connection.recv(32):
            atexit.register(connection.close)
            return connection
    connection.close()
    return None


def _started(address: Path) -> socket.socket:
    address.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen()
        process = subprocess.Popen(
            # without -P the folder of this file would be among those that the command imports from
            [sys.executable, "-P", _PROGRAM, str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
        )
    # after the end of its own connection
    atexit.register(process.wait)
    connection = _joined(address)
    assert connection is not None
    return connection
