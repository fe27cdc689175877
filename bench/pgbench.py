"""pgbench: the speed of the database alone, measured by its own program."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from own_postgres import OwnPostgres
from processes import Cores, on_cores
from wrk import LoadError

CLIENTS = 16
_SCALE = 10
_UPDATE = Path(__file__).with_name("pgbench_update.sql")
_SECONDS_TO_INITIALIZE = 300
_COUNT = re.compile(r"transactions actually processed: (\d+)")
_RATE = re.compile(r"tps = ([\d.]+) \(without")


@dataclass(frozen=True, slots=True)
class PgbenchRun:
    """Transactions a second, and the CPU of the database server for each in µs."""

    rate: float
    database: float


class Pgbench:
    """Runs pgbench on a database of its own, on both cores, with prepared statements."""

    def __init__(self, postgres: OwnPostgres, cores: Cores) -> None:
        self._postgres = postgres
        self._command = on_cores(cores.both, [postgres.programs.path("pgbench")])
        self._url = postgres.new_database()
        self._output("--initialize", "--quiet", f"--scale={_SCALE}")

    def selects(self, seconds: float) -> PgbenchRun:
        """Point selects, as of `pgbench --select-only`."""
        return self._run("--select-only", seconds=seconds)

    def updates(self, seconds: float) -> PgbenchRun:
        """Durable updates by primary key."""
        return self._run(f"--file={_UPDATE}", seconds=seconds)

    def _run(self, what: str, seconds: float) -> PgbenchRun:
        before, children = self._postgres.cpu_seconds, self._postgres.children
        output = self._output(
            "--no-vacuum",
            "--protocol=prepared",
            f"--client={CLIENTS}",
            "--jobs=2",
            f"--time={max(1, round(seconds))}",
            what,
        )
        self._postgres.wait_for_children(children)
        used = self._postgres.cpu_seconds - before
        count, rate = _COUNT.search(output), _RATE.search(output)
        if count is None or rate is None or int(count[1]) == 0:
            raise LoadError(f"pgbench {what} did not say what came of it.")
        return PgbenchRun(float(rate[1]), used / int(count[1]) * 1e6)

    def _output(self, *arguments: str) -> str:
        ended = subprocess.run(
            [*self._command, *arguments, self._url],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS_TO_INITIALIZE,
        )
        if ended.returncode != 0:
            raise LoadError(f"pgbench failed: {ended.stderr.strip()}")
        return ended.stdout
