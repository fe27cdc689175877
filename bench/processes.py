"""Processes on a core of their own: servers started and stopped by handle, their CPU time read."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_TICKS = os.sysconf("SC_CLK_TCK")
_STOP_SECONDS = 15
# in /proc/<pid>/stat, counted behind the command's name, which may hold blanks
_USER_TIME, _SYSTEM_TIME = 11, 12


class SetupFault(Exception):  # noqa: N818 - says what the machine lacks, and what to do
    """The benchmark cannot run here as things are."""


@dataclass(frozen=True, slots=True)
class Cores:
    """The numbers of two cores: one serves, the other sends requests."""

    server: int
    load: int


def two_cores() -> Cores:
    """The first two cores that this process may use; raises `SetupFault` when there is one."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise SetupFault("two cores are needed: one for the server, one for the load.")
    return Cores(usable[0], usable[1])


def on_core(core: int, command: Sequence[str]) -> list[str]:
    """The command that runs another on one core; both are one process."""
    return [program("taskset", "util-linux"), "--cpu-list", str(core), *command]


def program(name: str, package: str) -> str:
    """The path of a program; raises `SetupFault` with the Debian package that brings it."""
    found = shutil.which(name)
    if found is None:
        raise SetupFault(f"{name} is missing. Install it: apt-get install {package}")
    return found


def program_beside(name: str) -> str:
    """The path of a program that is installed beside Python."""
    return str(Path(sys.executable).with_name(name))


def python_command(script: Path, *arguments: str) -> list[str]:
    """The command that runs one of the benchmark's own scripts."""
    return [sys.executable, str(script), *arguments]


class Server:
    """A server that runs: where it listens, and what it costs."""

    def __init__(self, name: str, process: subprocess.Popen[str], url: str) -> None:
        self.name = name
        self.url = url
        self._process = process

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all its threads since it started, as user and as system."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[_USER_TIME]) + int(fields[_SYSTEM_TIME])) / _TICKS


@contextmanager
def running(name: str, command: Sequence[str], core: int) -> Iterator[Server]:
    """A server on a core; the last word of the first line that it prints is its URL.

    Its standard error stream, where a service logs, is thrown away.
    """
    pinned = on_core(core, command)
    with subprocess.Popen(
        pinned, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield Server(name, process, _first_url(process.stdout, pinned))
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _first_url(output: IO[str] | None, command: Sequence[str]) -> str:
    words = output.readline().split() if output else []
    if not words:
        raise SetupFault(f"a server did not start. To see why: {' '.join(command)}")
    return words[-1]
