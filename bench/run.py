"""The benchmark: `make bench`, or a part of it: `make bench ARGS='--only pages --rounds 5'`.

The server has one core, and the load (wrk) another. Servers that are compared run in the same
rounds, one after the other, so that other activity on the machine affects both; a ratio is the
median over the rounds. The cost of a request is the CPU time of the server's process, user and
system, divided by the number of responses. Updates are durable: the database is on the disk of this
folder, not in memory, and each commit waits for the disk.

A run fails if a guarded ratio is more than 10% worse than that of the last release in two of three
rounds. `ratios.json` keeps the figures of the last release, and `--release` writes them.

The service on PostgreSQL is measured beside the service on SQLite, if PostgreSQL's programs are
installed. Its database server is not pinned to a core, and its CPU time is measured separately.
"""

import argparse
import os
import platform
import sqlite3
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec
from figures import Figure, table
from growth import Growing
from parts import GROWTH, PARTS, POSTGRES
from performance_page import PAGE, refreshed
from processes import SetupError, program, two_cores
from release import Release, worse
from workbench import Part, Workbench
from wrk import LoadError

from comptoir import __version__

ROUNDS = 3
"""The rounds of a run whose ratios are compared with those of the last release."""

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
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="bench-", dir=build)))
            seconds, data, quick = arguments.seconds, arguments.data, arguments.quick
            bench = Workbench(stack, build, folder, cores, seconds, data, quick=quick)
            _measure(arguments, bench)
    except (SetupError, LoadError) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted.")


def _usual_parts(bench: Workbench) -> Sequence[str]:
    return [each for each in PARTS if each != GROWTH and (each != POSTGRES or _has_postgres(bench))]


def _has_postgres(bench: Workbench) -> bool:
    """Whether PostgreSQL can be measured; prints a line if not."""
    try:
        return bench.postgres is not None
    except SetupError as error:
        print(f"bench: on SQLite alone, since {error}", file=sys.stderr)
        return False


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the service.")
    parser.add_argument(
        "--quick", action="store_true", help="one short round, without $search on PostgreSQL"
    )
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, metavar="PART", help=f"measure only: {', '.join(PARTS)}"
    )
    parser.add_argument(
        "--release",
        action="store_true",
        help="keep the figures as those of this release, and write them into the documentation",
    )
    parser.add_argument(
        "--growth",
        action="store_const",
        dest="only",
        const=[GROWTH],
        help="measure how cost grows up to ten million records, and draw it; about 30 minutes",
    )
    parser.add_argument("--rounds", type=int, help="how many rounds (3)")
    parser.add_argument(
        "--seconds", type=int, default=1, help="how long each run of a round takes (1)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures as JSON")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        default=REAL_RECORDS if REAL_RECORDS.is_dir() else None,
        help="customersExt.csv and contactsExt.csv to load, instead of generated ones",
    )
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (1 if arguments.quick else ROUNDS)
    return arguments


def _measure(arguments: argparse.Namespace, bench: Workbench) -> None:
    began, load_before = time.monotonic(), os.getloadavg()[0]
    names = arguments.only or _usual_parts(bench)
    parts = _measured(bench, names, arguments.rounds)
    figures = [figure for part in parts.values() for figure in part.figures]
    last = Release.read()
    for line in table(figures, last.ratios):
        print(line)
    for part in parts.values():
        for note in part.notes:
            print(note)
    machine: dict[str, str | float] = {
        "processor": _processor(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "load_average_before": round(load_before, 2),
        "seconds": round(time.monotonic() - began),
    }
    if bench.shares:
        machine["core_share_median"] = round(median(bench.shares), 3)
        machine["core_share_lowest"] = round(min(bench.shares), 3)
    for part in parts.values():
        if isinstance(part, Growing) and not bench.quick:
            growth = part.growth(machine)
            growth.write()
            growth.draw()
    machine["records"] = "generated" if arguments.data is None else arguments.data.name
    print()
    print(", ".join(f"{name.replace('_', ' ')} {value}" for name, value in machine.items()))
    if arguments.json:
        content = {"machine": machine, "figures": [each.json() for each in figures]}
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")
    if arguments.release:
        described = f"{machine['processor']}, Python {machine['python']}"
        # curves of their own keep how cost grows
        kept = {name: part.figures for name, part in parts.items() if name != GROWTH}
        _keep(last.updated(__version__, described, kept))
    elif arguments.rounds >= ROUNDS:
        _compare(figures, last)


def _measured(bench: Workbench, names: Sequence[str], rounds: int) -> Mapping[str, Part]:
    """Prepare parts, and measure each of them in every round."""
    parts: dict[str, Part] = {}
    for name in names:
        _say(f"preparing {name}")
        parts[name] = PARTS[name](bench)
    for name, part in parts.items():
        _say(f"warming up {name}")
        part.warm_up()
    for number in range(1, rounds + 1):
        for name, part in parts.items():
            _say(f"round {number} of {rounds}: {name}")
            part.measure()
    _say("")
    return parts


def _keep(release: Release) -> None:
    """Keep the figures of a release, and write them into the documentation."""
    release.write()
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), release), encoding="utf-8")


def _compare(figures: Sequence[Figure], last: Release) -> None:
    """Exit with one line if ratios are worse than those of the last release."""
    found = list(worse(figures, last.ratios))
    if found:
        sys.exit(
            f"bench: worse than release {last.version} by more than 10% in two of three rounds: "
            f"{'; '.join(found)}."
        )


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
