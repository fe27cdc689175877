"""Load by wrk, on a core of its own."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT
from time import sleep

import msgspec
from processes import Server, on_core, program

SCRIPT = Path(__file__).with_name("wrk.lua")

_WITHOUT_END = 3_600
_HEAD_START = 0.3
_PATIENCE = 120
"""Seconds in which each response must arrive, also of heavy reads that wait for one another."""


class LoadError(Exception):
    """A server returned errors, or no response."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Requests to send in turn: a file of paths, headers, and an optional body.

    Requests with a body are PATCH requests unless `method` is another. `%d` in the body is replaced
    by a number that is unique in the run.
    """

    name: str
    paths: Path
    headers: Mapping[str, str]
    body: str = ""
    method: str = "PATCH"


def scenario(
    file: Path,
    paths: Sequence[str],
    headers: Mapping[str, str],
    body: str = "",
    method: str = "PATCH",
) -> Scenario:
    """Requests for some paths, which are written to a file; its name is the scenario's."""
    file.write_text("".join(f"{path}\n" for path in paths), encoding="ascii")
    return Scenario(file.name, file, headers, body, method)


class _Summary(msgspec.Struct):
    requests: int
    microseconds: int
    p50: int
    p99: int
    refused: int
    broken: int


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run: requests a second; in µs, latencies and CPU of a request."""

    rate: float
    p50: float
    p99: float
    cpu: float
    database: float
    """The CPU of the server's database for each request, in µs."""
    share: float
    """The share of its core that the server used."""


class Wrk:
    """Sends scenarios to servers, from one core."""

    def __init__(self, core: int) -> None:
        self._core = core
        self._program = program("wrk", "wrk")

    def run(self, server: Server, scenario: Scenario, connections: int, seconds: float) -> Run:
        """Send requests for `seconds`; raises `LoadError` unless all responses have status 2xx."""
        before, asked_before = server.cpu_seconds, server.database_seconds
        command = self._command(server, scenario, connections, seconds)
        output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        used, asked = server.cpu_seconds - before, server.database_seconds - asked_before
        summary = _summary(output, f"{scenario.name} from {server.name}")
        elapsed = summary.microseconds / 1e6
        return Run(
            rate=summary.requests / elapsed,
            p50=summary.p50,
            p99=summary.p99,
            cpu=used / summary.requests * 1e6,
            database=asked / summary.requests * 1e6,
            share=used / elapsed,
        )

    @contextmanager
    def beside(self, server: Server, scenario: Scenario, connections: int) -> Iterator[list[float]]:
        """Send requests until the block ends; the list then contains the requests a second."""
        command = self._command(server, scenario, connections, _WITHOUT_END)
        rates: list[float] = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                sleep(_HEAD_START)
                yield rates
            finally:
                # on this signal wrk ends as at the end of its time
                process.send_signal(SIGINT)
                output, _ = process.communicate(timeout=30)
        # long requests may have no response yet
        summary = _summary(output, f"{scenario.name} from {server.name}", least=0)
        rates.append(summary.requests / summary.microseconds * 1e6)

    def _command(
        self, server: Server, scenario: Scenario, connections: int, seconds: float
    ) -> Sequence[str]:
        headers = [f"--header={name}: {value}" for name, value in scenario.headers.items()]
        return [
            *on_core(self._core, [self._program, "--threads=1", f"--connections={connections}"]),
            f"--duration={max(1, round(seconds))}s",
            f"--timeout={_PATIENCE}s",
            f"--script={SCRIPT}",
            *headers,
            server.url,
            "--",
            str(scenario.paths),
            *([scenario.body, scenario.method] if scenario.body else []),
        ]


def _summary(output: str, what: str, least: int = 1) -> _Summary:
    lines = output.splitlines()
    if not lines or not lines[-1].startswith("{"):
        raise LoadError(f"{what}: wrk did not come to its end.")
    summary = msgspec.json.decode(lines[-1], type=_Summary)
    if summary.requests < least or summary.refused or summary.broken:
        raise LoadError(
            f"{what}: of {summary.requests} requests {summary.refused} were refused and "
            f"{summary.broken} broke off."
        )
    return summary
