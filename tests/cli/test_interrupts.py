"""An interrupt during the start of a command ends it in one line and with status 130."""

import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Timer

import pytest

from support.command import Command
from support.databases import writes_held
from support.ports import LOOPBACK
from support.processes import Process
from support.waiting import PATIENCE_SECONDS, until

CREATING = (
    ("serve", "--port", "0"),
    ("serve", "--port", "0", "--quickstart"),
    ("migrate",),
    ("sample",),
)
"""Commands that create a database."""

COMMANDS = (
    ("serve", "--port", "0", "--quickstart"),
    ("load", "--company", "c0ffee00-0000-4000-8000-000000000001", "itemsExt.csv"),
    ("migrate", "--rebuild-json"),
    ("copy", "--from", "postgresql://127.0.0.1/a", "--to", "postgresql://127.0.0.1/b"),
)
MOMENTS = ("click", "comptoir.cli.main", "sqlalchemy.sql", "comptoir.cli.runner")
"""Modules that are imported one after the other while a command starts."""


def in_shell(status: int) -> int:
    """A status as in a shell: Python ends some interrupted programs by the signal itself."""
    return 128 - status if status < 0 else status


@contextmanager
def silent_database(command: Command) -> Iterator[tuple[socket.socket, Mapping[str, str]]]:
    """A database that never answers, so no command over it ends; and the environment with it."""
    with socket.create_server((LOOPBACK, 0)) as database:
        yield (
            database,
            {
                **command.environment,
                "COMPTOIR_DATABASE": f"postgresql://{LOOPBACK}/a",
                "COMPTOIR_CONNECT_SECONDS": str(PATIENCE_SECONDS),
                "PGPORT": str(database.getsockname()[1]),
            },
        )


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupt_of_the_imports_leaves_no_traceback(command: Command, moment: str) -> None:
    python, *arguments = command.arguments("company", "list")
    with (
        silent_database(command) as (_, environment),
        subprocess.Popen(
            [python, "-X", "importtime", *arguments],
            env=environment,
            cwd=command.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        assert process.stderr is not None
        for line in process.stderr:
            if line.split()[-1].decode() == moment:
                break
        process.send_signal(signal.SIGINT)
        # one that comes right before the event loop waits is noticed when that wakes up
        again = Timer(PATIENCE_SECONDS / 4, process.send_signal, [signal.SIGINT])
        again.start()
        lines = [line.decode().rstrip("\n") for line in process.stderr]
        again.cancel()
        printed = [line for line in lines if line and not line.startswith("import time:")]
        assert in_shell(process.wait()) == 130
        assert printed == ["comptoir: interrupted."]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_an_interrupt_of_a_start_leaves_no_traceback(
    command: Command, arguments: tuple[str, ...]
) -> None:
    (command.folder / "itemsExt.csv").write_text("number\n", encoding="utf-8")
    with (
        silent_database(command) as (database, environment),
        Process(arguments, environment, command.folder) as process,
        database.accept()[0],
    ):
        process.send_signal(signal.SIGINT)
        status, said = in_shell(process.wait()), process.stderr.read().decode()
    assert (status, said[:22]) == (130, "comptoir: interrupted.")
    assert said.count("\n") == 1


@pytest.mark.parametrize("arguments", CREATING, ids=" ".join)
def test_an_interrupt_while_the_database_is_created_leaves_no_traceback(
    command: Command, arguments: tuple[str, ...]
) -> None:
    with command.started(*arguments) as process:
        until(lambda: command.database.exists() or None, "a database")
        process.send_signal(signal.SIGINT)
        # it may have responded already, and then it ends with status 0
        assert in_shell(process.wait()) in (0, 130)
        said = process.stderr.read().decode()
    assert "Traceback" not in said


def test_an_interrupted_quickstart_says_that_it_resumes(command: Command) -> None:
    command.done("migrate")
    config = command.folder / "config.toml"
    config.write_text(f"lock_seconds = {PATIENCE_SECONDS}\n", encoding="utf-8")
    with (
        # it cannot end before the interrupt arrives
        writes_held(command.url) as let_go,
        command.started("serve", "--port", "0", "--quickstart", "--config", config) as process,
    ):
        assert process.stdout.readline().startswith(b"Creating the company")
        process.send_signal(signal.SIGINT)
        let_go()
        assert in_shell(process.wait()) == 130
        said = process.stderr.read().decode()
    assert said == "comptoir: interrupted. The same command resumes.\n"
