"""`comptoir serve` as a process."""

import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator

import httpx
import msgspec
import pytest

from support.command import Command
from support.effort import go_without
from support.processes import Process


@pytest.fixture
def curl() -> str:
    found = shutil.which("curl")
    if found is None:
        go_without("install the package curl")
    return found


def lines_of(process: Process) -> Iterator[str]:
    for line in process.stdout:
        yield line.decode().rstrip("\n")


def pasted(lines: list[str]) -> list[dict[str, str]]:
    """The responses to the commands that a quickstart prints, run in a shell."""
    first = next(at for at, line in enumerate(lines) if "TOKEN=" in line)
    script = "\n".join([*lines[first:], ""])
    ended = subprocess.run(["sh"], input=script.encode(), capture_output=True, check=True)
    assert ended.stderr == b""
    return [msgspec.json.decode(line) for line in ended.stdout.splitlines()]


def ready_lines(process: Process) -> list[str]:
    """The lines that a quickstart prints until the service responds."""
    lines: list[str] = []
    for line in lines_of(process):
        lines.append(line)
        if line.endswith("}'"):
            break
    return lines


def test_a_port_in_use_is_an_error_in_one_line(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        fault = command.run("serve", "--port", port, "--quickstart").fault()
    assert f"port {port} of 127.0.0.1 is in use" in fault
    assert not command.database.exists()


def test_serve_creates_its_database_and_stops_after_an_interrupt(command: Command) -> None:
    with command.started("serve", "--port", "0") as process:
        assert next(lines_of(process)).startswith("Serving http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    assert command.done("company", "list").out == ""


@pytest.mark.usefixtures("curl")
def test_the_commands_of_a_quickstart_work_when_pasted(migrated: Command) -> None:
    companies = set()
    for name in ("first", "second"):
        with migrated.started("serve", "--port", "0", "--quickstart") as process:
            lines = ready_lines(process)
            companies.add(next(line for line in lines if line.startswith("COMPANY=")))
            before, after = pasted(lines)
            assert before["id"] == after["id"]
            assert after["displayName"] == "Renamed by curl"
            assert after["searchName"] == "RENAMED BY CURL"
            # the second time, the record has the values already
            assert (after["@odata.etag"] != before["@odata.etag"]) == (name == "first")
            process.send_signal(signal.SIGTERM)
            process.wait()
    assert len(companies) == 1
    assert len(migrated.done("company", "list").out.splitlines()) == 1


def test_an_interrupted_quickstart_is_completed(migrated: Command) -> None:
    migrated.done("company", "create", "Comptoir Sample")
    with migrated.started("serve", "--port", "0", "--quickstart") as process:
        assert any("-X PATCH" in line for line in ready_lines(process))


def test_a_quickstart_is_short_and_names_the_documentation(migrated: Command) -> None:
    migrated.done("sample", "--company-name", "Comptoir Sample")
    with migrated.started("serve", "--port", "0", "--quickstart") as process:
        lines = ready_lines(process)
        (token,) = [line for line in lines if "eyJ" in line]
        assert token.startswith("export TOKEN=eyJ")
        assert [line for line in lines if len(line) > 100 and line != token] == []
        assert len(lines) <= 12
        (docs,) = [line.split()[-1] for line in lines if line.endswith("/docs")]
        assert httpx.get(docs).status_code == 200
