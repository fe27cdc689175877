"""What a quickstart prints, and what a shell does with it."""

import subprocess
from collections.abc import Iterator

import msgspec

from support.client import Page, Record
from support.processes import Process


def lines_of(process: Process) -> Iterator[str]:
    for line in process.stdout:
        yield line.decode().rstrip("\n")


def ready_lines(process: Process) -> list[str]:
    """The lines that a quickstart prints until the service responds."""
    lines: list[str] = []
    for line in lines_of(process):
        lines.append(line)
        if line.endswith("}'"):
            break
    return lines


def company_of(lines: list[str]) -> str:
    """The id of the company that a quickstart serves."""
    (line,) = [line for line in lines if line.startswith("Company: Comptoir Sample ")]
    return line.split()[-1]


def pasted(lines: list[str]) -> tuple[list[Record], Record]:
    """What the commands that a quickstart prints list and change, run in a shell in any folder."""
    first = next(at for at, line in enumerate(lines) if "TOKEN=" in line)
    exports = [line for line in lines[:first] if line.startswith("export ")]
    script = "\n".join([*exports, *lines[first:], ""]).encode()
    ended = subprocess.run(["sh"], input=script, capture_output=True, check=True, cwd="/")
    assert ended.stderr == b""
    listed, changed = ended.stdout.splitlines()
    records = msgspec.json.decode(listed, type=Page).value
    return records, msgspec.json.decode(changed, type=Record)
