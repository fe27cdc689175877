"""The unit for systemd: hardened, with no more rights than the service needs."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from comptoir.config import Settings
from deploy.compose import ROOT
from support.client import record
from support.databases import FreshDatabase
from support.programs import finished, needed
from support.server import Server
from support.traces import ended
from support.waiting import PATIENCE_SECONDS, until

UNIT = ROOT / "deploy" / "systemd" / "comptoir.service"
EXPOSURE = 3.0

AS_ROOT = {"fchown"}
"""The calls of SQLite if it runs as root, as in these tests: to keep a file's owner."""

UNTRACED = {"close", "getdents64", "ioctl", "lseek", "munmap", "newfstatat", "openat", "read"}
"""The calls of imports: the unit allows them, and tracing them costs more than all others."""

_CALL = re.compile(r"\d+ +(?P<name>\w+)\((?P<arguments>.*)")


@cache
def settings(name: str) -> tuple[str, ...]:
    """The values of the unit, in order."""
    return tuple(re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE))


def analyze(*arguments: str | Path) -> str:
    program = needed("systemd-analyze", "systemd")
    return finished([program, "--no-pager", *map(str, arguments)], {})


def calls_of(group: str) -> set[str]:
    """The system calls of a group of systemd, with those of the groups in it."""
    found = set()
    for line in analyze("syscall-filter", group).splitlines()[1:]:
        each = line.strip()
        if each.startswith("@"):
            found |= calls_of(each)
        elif each and not each.startswith("#"):
            found.add(each)
    return found


def allowed() -> set[str]:
    """The system calls that the unit allows."""
    calls: set[str] = set()
    for each in settings("SystemCallFilter"):
        if each.startswith("~"):
            calls -= calls_of(each[1:])
        else:
            calls |= calls_of(each)
    return calls


def test_the_unit_exposes_little() -> None:
    told = analyze("security", "--offline=true", UNIT)
    found = re.search(r"exposure level for comptoir\.service: ([\d.]+)", told)
    assert found is not None
    assert float(found[1]) < EXPOSURE


def test_systemd_knows_all_that_the_unit_says(tmp_path: Path) -> None:
    program = needed("systemd-analyze", "systemd")
    unit = tmp_path / UNIT.name
    command = settings("ExecStart")[0].split()[0]
    unit.write_text(UNIT.read_text().replace(command, sys.executable))
    told = subprocess.run(
        [program, "verify", "--recursive-errors=no", unit],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert (told.returncode, [line for line in told.stderr.splitlines() if UNIT.name in line]) == (
        0,
        [],
    )


def test_the_service_starts_when_the_network_is_there_and_stops_in_its_own_time() -> None:
    assert "network-online.target" in settings("After")[0].split()
    assert settings("Wants") == ("network-online.target",)
    assert float(settings("TimeoutStopSec")[0]) > Settings().stop_seconds


def calls(trace: str) -> Iterator[tuple[str, str]]:
    """The system calls of a trace, with their arguments."""
    for line in trace.splitlines():
        match = _CALL.match(line)
        if match is not None:
            yield match["name"], match["arguments"]


@pytest.mark.parametrize(
    ("fresh_database", "workers"), [("sqlite", 1), ("postgres", 2)], indirect=["fresh_database"]
)
def test_the_service_does_nothing_that_the_unit_forbids(
    workers: int, fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    """It is traced without systemd, which does not run in the tests."""
    trace = tmp_path / "trace"
    traced = f"trace=!{','.join(sorted(UNTRACED))}"
    options = ("-D", "-f", "--seccomp-bpf", "-e", traced, "-s", "1", "-o", str(trace))
    strace = (needed("strace", "strace"), *options)
    with Server.over(fresh_database, tmp_path, workers, strace) as server:
        company = server.new_company()
        created = record(company.post("shippingAgentsExt", {"code": "A"}), 201)
        assert company.get("shippingAgentsExt", "$search=A").status_code == 200
        assert company.get(f"shippingAgentsExt({created['id']})").status_code == 200
        assert server.origin.get("metrics").status_code == 200
        server.ask_to_stop()
        server.wait()
        made = list(calls(until(lambda: ended(trace, server.pid), "the end of the trace")))

    names = {name for name, _ in made}
    assert {"execve", "bind", "fsync", "mmap"} <= names
    assert (names | UNTRACED) - allowed() - AS_ROOT == set()
    families = set(settings("RestrictAddressFamilies")[0].split())
    sockets = {arguments.split(",")[0] for name, arguments in made if name.startswith("socket")}
    assert sockets <= families
    # MemoryDenyWriteExecute refuses this
    executable = [each for each in made if "PROT_EXEC" in each[1]]
    assert [each for each in executable if each[0] != "mmap" or "PROT_WRITE" in each[1]] == []
