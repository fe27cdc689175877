"""The benchmark: `make bench`, or with arguments `make bench ARGS='--quick --json FILE'`.

The server has one core, and the load (wrk) another. Servers that are compared run in the same
rounds, one after the other, so that other activity on the machine affects both; a ratio is the
median over the rounds. The cost of a request is the CPU time of the server's process, user and
system, divided by the number of responses. Updates are durable: the database is on the disk of this
folder, not in memory, and each commit waits for the disk.

The service on PostgreSQL is measured beside the service on SQLite, if PostgreSQL's programs are
installed. Its database server is not pinned to a core, and its CPU time is measured separately.
"""

import argparse
import asyncio
import os
import platform
import sqlite3
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec
from company import prepare, write_files
from figures import table
from measurements import Measurements
from own_postgres import OwnPostgres, own_postgres
from processes import Cores, SetupFault, program, two_cores
from wrk import LoadFault

ROOT = Path(__file__).resolve().parents[1]
REAL_RECORDS = ROOT.parent / "shared" / "real" / "adventureworks"
"""Loaded if they exist; otherwise a sample company is generated."""


def main() -> None:
    """Measure and print; exits with one line if the machine lacks something."""
    arguments = _arguments()
    try:
        program("wrk", "wrk")
        cores = two_cores()
        # only the measured server runs on the server's core
        os.sched_setaffinity(0, {cores.load})
        build = ROOT / "build"
        build.mkdir(exist_ok=True)
        with ExitStack() as stack:
            folder = stack.enter_context(TemporaryDirectory(prefix="bench-", dir=build))
            _measure(arguments, Path(folder), cores, _postgres(stack, build, cores))
    except (SetupFault, LoadFault) as fault:
        sys.exit(f"bench: {fault}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted.")


def _postgres(stack: ExitStack, build: Path, cores: Cores) -> OwnPostgres | None:
    """A server that stops with the stack; prints a line and returns None without PostgreSQL."""
    try:
        return stack.enter_context(own_postgres(build, cores))
    except SetupFault as fault:
        print(f"bench: on SQLite alone, since {fault}", file=sys.stderr)
        return None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the service.")
    parser.add_argument(
        "--quick", action="store_true", help="one short round, without $search on PostgreSQL"
    )
    parser.add_argument("--rounds", type=int, help="how many rounds (3)")
    parser.add_argument("--seconds", type=int, help="how long each run of a round takes (3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures as JSON")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        default=REAL_RECORDS if REAL_RECORDS.is_dir() else None,
        help="customersExt.csv and contactsExt.csv to load, instead of generated ones",
    )
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (1 if arguments.quick else 3)
    arguments.seconds = arguments.seconds or (1 if arguments.quick else 3)
    return arguments


def _measure(
    arguments: argparse.Namespace, folder: Path, cores: Cores, postgres: OwnPostgres | None
) -> None:
    began, load_before = time.monotonic(), os.getloadavg()[0]
    _say("preparing a company")
    files = write_files(folder, arguments.data)
    measured = asyncio.run(prepare(folder, files))
    searches = not arguments.quick
    with Measurements(
        measured, folder, cores, arguments.seconds, postgres, searches=searches
    ) as measurements:
        _say("warming up")
        measurements.warm_up()
        for number in range(1, arguments.rounds + 1):
            for piece in measurements.round():
                _say(f"round {number} of {arguments.rounds}: {piece}")
    _say("")
    figures, shares = measurements.figures, measurements.shares
    for line in table(figures):
        print(line)
    for note in measurements.notes:
        print(note)
    machine: dict[str, str | float] = {
        "processor": _processor(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "records": "generated" if arguments.data is None else arguments.data.name,
        "load_average_before": round(load_before, 2),
        "core_share_median": round(median(shares), 3),
        "core_share_lowest": round(min(shares), 3),
        "seconds": round(time.monotonic() - began),
    }
    print()
    print(", ".join(f"{name.replace('_', ' ')} {value}" for name, value in machine.items()))
    if arguments.json:
        content = {"machine": machine, "figures": [each.json() for each in figures]}
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _say(what: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
