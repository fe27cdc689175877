"""Runs the command on a database of its own, as a process or within this one."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Self
from unittest.mock import patch

from comptoir.cli.main import main
from comptoir.store.sqlite.connection import database_path
from support.processes import Process

COMPANY = "c0ffee00-0000-4000-8000-000000000001"
OTHER_COMPANY = "c0ffee00-0000-4000-8000-000000000002"


def guids(count: int) -> list[str]:
    """Ids of companies that do not exist."""
    return [f"decade00-0000-4000-8000-{number:012}" for number in range(count)]


@dataclass(frozen=True)
class Result:
    """The result of a command."""

    status: int
    out: str
    err: str

    @property
    def last(self) -> str:
        return self.out.splitlines()[-1]

    @property
    def last_word(self) -> str:
        return self.last.split()[-1]

    def error(self) -> str:
        """The error of a command that failed, in one line."""
        assert self.status != 0, self.out
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        return lines[0]


@dataclass(frozen=True)
class Command:
    """The command with a database and its own folder for keys."""

    folder: Path
    url: str
    columns: int = 200

    @classmethod
    def without_database(cls, folder: Path) -> Self:
        """The command with an SQLite file that does not exist yet."""
        return cls(folder, f"sqlite:///{folder / 'comptoir.db'}")

    @property
    def database(self) -> Path:
        """The file of an SQLite database."""
        return database_path(self.url)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if "COMPTOIR" not in name}
        return {
            **kept,
            "COMPTOIR_DATABASE": self.url,
            "COMPTOIR_KEYS": str(self.folder / "keys"),
            "COLUMNS": str(self.columns),
        }

    def arguments(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "comptoir", *map(str, arguments)]

    def run(self, *arguments: str | Path, through: Sequence[str] = ()) -> Result:
        """Run a command in a process, which the command `through` starts if it is given."""
        if through:
            command = [*through, *self.arguments(*arguments)]
            ended = subprocess.run(
                command, env=self.environment, cwd=self.folder, capture_output=True, check=False
            )
            return Result(ended.returncode, ended.stdout.decode(), ended.stderr.decode())
        with (
            ThreadPoolExecutor(1) as reader,
            Process([str(each) for each in arguments], self.environment, self.folder) as process,
        ):
            errors = reader.submit(process.stderr.read)
            out = process.stdout.read()
            return Result(process.wait(), out.decode(), errors.result().decode())

    def on_terminal(self, *arguments: str | Path, typed: str = "") -> Result:
        """Run a command in a process on a terminal; its errors are all that this shows."""
        ours, theirs = os.openpty()
        shown = b""
        with os.fdopen(ours, "r+b", 0) as terminal:
            terminal.write(typed.encode())
            with os.fdopen(theirs, "r+b", 0) as given:
                command = [str(each) for each in arguments]
                process = Process(
                    command, self.environment, self.folder, entered=given, errors=given
                )
            # Linux ends the output with an error when the process has closed the terminal
            with process:
                with suppress(OSError):
                    while chunk := terminal.read(1 << 16):
                        shown += chunk
                out = process.stdout.read()
        return Result(process.wait(), out.decode(), shown.decode())

    def here(self, *arguments: str | Path) -> Result:
        """Run a command within this process, which takes a tenth of the time."""
        out, err = (TextIOWrapper(BytesIO(), encoding="utf-8") for _ in range(2))
        status: object = 0
        with (
            patch.dict(os.environ, self.environment, clear=True),
            patch("sys.argv", ["comptoir", *map(str, arguments)]),
            chdir(self.folder),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                main()
            except SystemExit as end:
                status = end.code or 0
        assert isinstance(status, int)
        return Result(status, _written(out), _written(err))

    def done(self, *arguments: str | Path) -> Result:
        """Run a command within this process, which must succeed."""
        result = self.here(*arguments)
        assert result.status == 0, result.err
        return result

    def error(self, *arguments: str | Path) -> str:
        """The error of a command within this process, which must fail."""
        return self.here(*arguments).error()

    def config(self, text: str) -> Path:
        """A config file with this text."""
        path = self.folder / "comptoir.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def refused(self, config: str, *options: str) -> str:
        """The error of `serve` with a config file of this text."""
        return self.error("serve", "--config", self.config(config), *options)

    @contextmanager
    def started(self, *arguments: str | Path) -> Iterator[Process]:
        """A command that keeps running; it is killed at the end of the block."""
        with Process([str(each) for each in arguments], self.environment, self.folder) as process:
            try:
                yield process
            finally:
                process.kill()


NewPlace = Callable[[Command], Command]
"""The command with a folder of its own, and a place for a database of the same kind."""


def _written(stream: TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
