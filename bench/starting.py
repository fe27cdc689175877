"""The cost of a start: CPU time of commands and of `serve` to its first response, and memory.

Usage: python bench/starting.py [--against CHECKOUT] [--rounds N]

`--against` measures another checkout in the same rounds, and adds ratios to the table. Figures are
medians over the rounds; CPU time is user and system. The service runs on a sample company in an
SQLite file whose schema is current. Both checkouts run with the packages of this one. The memory is
read from `/proc`, which needs Linux.
"""

import argparse
import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from processes import cpu_seconds_of

HERE = Path(__file__).resolve().parents[1]
COMMANDS = (("--help",), ("token",))
REST_SECONDS = 1.5
"""Seconds without a request before the memory of a service is read."""

_MEBIBYTE = 1024
_MEMORY = re.compile(r"^(Rss|Pss): +(\d+) kB", re.MULTILINE)


@dataclass(frozen=True)
class Checkout:
    """The sources of a checkout, with a database and keys in a folder."""

    root: Path
    folder: Path

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(self.root / "src"),
            "COMPTOIR_DATABASE": f"sqlite:///{self.folder / 'sample.db'}",
            "COMPTOIR_KEYS": str(self.folder / "keys"),
            "COMPTOIR_LOG_LEVEL": "off",
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "comptoir", *arguments]

    def last_line(self, *arguments: str) -> str:
        """The last line of a command's output."""
        done = subprocess.run(
            self.command(*arguments),
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[-1]

    def cpu_of(self, *arguments: str) -> float:
        """The CPU seconds of a command."""
        before = os.times()
        self.last_line(*arguments)
        after = os.times()
        return sum(after[2:4]) - sum(before[2:4])

    def service(self, path: str, token: str) -> Mapping[str, float]:
        """The cost of `serve` until its first response, and its memory at rest."""
        with subprocess.Popen(
            self.command("serve", "--port", "0"),
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                address = urlsplit(process.stdout.readline().split()[-1])
                _ask(address.netloc, address.path + path, token)
                first = cpu_seconds_of(process.pid)
                time.sleep(REST_SECONDS)
                memory = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
            finally:
                process.send_signal(signal.SIGTERM)
        found = {name: int(size) / _MEBIBYTE for name, size in _MEMORY.findall(memory)}
        return {
            "serve, first answer (CPU s)": first,
            "serve, RSS at rest (MiB)": found["Rss"],
            "serve, PSS at rest (MiB)": found["Pss"],
        }


def _ask(address: str, path: str, token: str) -> None:
    connection = http.client.HTTPConnection(address, timeout=60)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise SystemExit(f"bench: {path} was answered by {answer.status}")
    finally:
        connection.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What starting costs.")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout")
    parser.add_argument("--rounds", type=int, default=5, help="how many rounds (5)")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="bench-starting-") as folder:
        roots = [HERE, *([arguments.against.resolve()] if arguments.against else [])]
        for line in _table(_measured([Checkout(each, Path(folder)) for each in roots], arguments)):
            print(line)


def _measured(
    checkouts: Sequence[Checkout], arguments: argparse.Namespace
) -> list[dict[str, list[float]]]:
    """The figures of all rounds by name, for each checkout."""
    company = checkouts[0].last_line("sample")
    token = checkouts[0].last_line("token")
    path = f"/companies({company})/contactsExt?$top=5"
    found: list[dict[str, list[float]]] = [{} for _ in checkouts]
    for _ in range(arguments.rounds):
        for checkout, figures in zip(checkouts, found, strict=True):
            costs = {
                f"{' '.join(each)} (CPU s)": checkout.cpu_of(*each) for each in COMMANDS
            } | dict(checkout.service(path, token))
            for name, cost in costs.items():
                figures.setdefault(name, []).append(cost)
    return found


def _table(found: Sequence[Mapping[str, Sequence[float]]]) -> list[str]:
    own, *others = found
    lines = [f"{'':30}{'here':>9}" + "".join(f"{'other':>9}{'ratio':>9}" for _ in others)]
    for name, figures in own.items():
        here = median(figures)
        line = f"{name:30}{here:9.2f}"
        for other in others:
            there = median(other[name])
            line += f"{there:9.2f}{here / there:9.2f}"
        lines.append(line)
    return lines


if __name__ == "__main__":
    main()
