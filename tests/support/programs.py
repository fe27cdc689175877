"""Programs other than Python that some tests need."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from support.effort import go_without
from support.waiting import PATIENCE_SECONDS

PROGRAM_SECONDS = 5 * PATIENCE_SECONDS
"""The time limit of a program, which has several steps: the slowest generates a client."""

NODE_OPTIONS = ("--single-threaded", "--max-semi-space-size=64", "--interrupt-budget=1000000")
"""Further threads, a small heap and early optimization cost more than they save in seconds."""


def needed(program: str, package: str) -> str:
    """The path of a program; skips the test if it is missing, but fails it in CI."""
    # daemons may be in folders that are not in every user's PATH
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin")
    if path is None:
        go_without(f"{program} is missing: install the package {package}")
    return path


def needed_module(name: str, package: str) -> ModuleType:
    """A Python module; skips the test if it is missing, but fails it in CI."""
    if find_spec(name) is None:
        go_without(f"{name} is missing: install the package {package}")
    return import_module(name)


@dataclass(frozen=True)
class Node:
    """Node.js with the packages of `tests/clients/package.json`, as `make test` installs them."""

    program: str
    packages: Path

    def run(self, *arguments: str | Path, **variables: str) -> str:
        """The output of a script; a failure fails the test with the script's errors."""
        return finished([self.program, *NODE_OPTIONS, *map(str, arguments)], variables)


def node() -> Node:
    """Node.js; skips the test if it or its packages are missing, but fails it in CI."""
    program = needed("node", "nodejs")
    if not Path(sys.prefix, ".node").exists():
        go_without("JavaScript packages are missing: install the package npm, then `make test`")
    return Node(program, Path(sys.prefix, "node", "node_modules"))


def finished(
    command: list[str], variables: Mapping[str, str], seconds: float = PROGRAM_SECONDS
) -> str:
    """The output of a command; a failure fails the test with the command's errors."""
    ended = subprocess.run(
        command,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return ended.stdout
