"""Processes that are pinned to a core: start, stop, and measure their CPU time."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

_TICKS = os.sysconf("SC_CLK_TCK")
_STOP_SECONDS = 15
# fields of /proc/<pid>/stat, counted after the command's name, which may contain spaces
_OF_ENDED = slice(13, 15)
_SIZE = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


class SetupError(Exception):
    """The benchmark cannot run on this machine as it is."""


@dataclass(frozen=True, slots=True)
class Cores:
    """The numbers of two cores: one for the server, one for the load."""

    server: int
    load: int

    @property
    def both(self) -> tuple[int, int]:
        """Both cores, for processes that are not pinned to one."""
        return self.server, self.load


def two_cores() -> Cores:
    """The first two cores that this process may use; raises `SetupError` if there is only one."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise SetupError("two cores are needed: one for the server, one for the load.")
    return Cores(usable[0], usable[1])


def on_cores(cores: Sequence[int], command: Sequence[str]) -> list[str]:
    """The command that runs another command on some cores, in the same process."""
    listed = ",".join(map(str, cores))
    return [program("taskset", "util-linux"), "--cpu-list", listed, *command]


def on_core(core: int, command: Sequence[str]) -> list[str]:
    """The command that runs another command on one core."""
    return on_cores((core,), command)


@contextmanager
def being_on(cores: Sequence[int]) -> Iterator[None]:
    """Run this process on some cores until the block ends; processes that it starts stay there."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def cpu_seconds_of(pid: int) -> float:
    """The CPU time of all threads of a process, user and system, to the nanosecond.

    Raises `ProcessLookupError` if the process has ended.
    """
    # the clock of a process, as clock_getcpuclockid of the C library returns it on Linux
    clock = ~pid << 3 | 2
    try:
        return time.clock_gettime(clock)
    except OSError as error:
        raise ProcessLookupError(f"process {pid} has ended") from error


def cpu_seconds_of_ended(pid: int) -> float:
    """The CPU time of those child processes of a process that have ended."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    fields = stat.rpartition(")")[2].split()
    return sum(map(int, fields[_OF_ENDED])) / _TICKS


def program(name: str, package: str) -> str:
    """The path of a program; raises `SetupError` with the Debian package that contains it."""
    found = shutil.which(name)
    if found is None:
        raise SetupError(f"{name} is missing. Install it: apt-get install {package}")
    return found


def program_beside(name: str) -> str:
    """The path of a program that is installed with this Python."""
    return str(Path(sys.executable).with_name(name))


def python_command(script: Path, *arguments: str) -> list[str]:
    """The command that runs one of the benchmark's scripts."""
    return [sys.executable, str(script), *arguments]


class Costly(Protocol):
    """A process or a server that uses CPU time."""

    @property
    def cpu_seconds(self) -> float:
        """The CPU time since its start, user and system."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The resident memory of a process in MiB.

    `peak` includes pages of files, which other processes share; `anonymous` is without them.
    """

    peak: float
    anonymous: float


class Server:
    """A running server: its URL and its cost, with the cost of its database."""

    def __init__(
        self, name: str, process: subprocess.Popen[str], url: str, database: Costly | None = None
    ) -> None:
        self.name = name
        self.url = url
        self._process = process
        self._database = database

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all its threads since its start, user and system."""
        return cpu_seconds_of(self._process.pid)

    @property
    def database_seconds(self) -> float:
        """The CPU time of its database server, 0 if there is none."""
        return 0 if self._database is None else self._database.cpu_seconds

    @property
    def total_seconds(self) -> float:
        """The CPU time of the server and of its database."""
        return self.cpu_seconds + self.database_seconds

    @property
    def memory(self) -> Memory:
        """The memory of the server."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        sizes = {name: int(size) / 1024 for name, size in _SIZE.findall(status)}
        return Memory(sizes["VmHWM"], sizes["RssAnon"])


@contextmanager
def running(
    name: str, command: Sequence[str], core: int, database: Costly | None = None
) -> Iterator[Server]:
    """Run a server on a core; the last word of its first line of output is its URL.

    Its standard error, the log of a service, is discarded. Every server hashes texts alike, because
    the cost of dictionaries depends on that.
    """
    pinned = on_core(core, command)
    with subprocess.Popen(
        pinned,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    ) as process:
        try:
            yield Server(name, process, _first_url(process.stdout, pinned), database)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _first_url(output: IO[str] | None, command: Sequence[str]) -> str:
    words = output.readline().split() if output else []
    if not words:
        raise SetupError(f"a server did not start. To see why: {' '.join(command)}")
    return words[-1]
