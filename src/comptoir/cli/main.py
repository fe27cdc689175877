"""The `comptoir` command: its subcommands, and the one line that says what went wrong."""

import os
import signal
import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from comptoir import __version__
from comptoir.cli.help import Group, LateCommand, built
from comptoir.cli.interrupt import Interrupted
from comptoir.errors import OperatorError, Refusal

INTERRUPTED = 128 + signal.SIGINT
"""The status after an interrupt, as shells have it."""

SUBCOMMANDS: Mapping[str, tuple[str, str]] = {
    "serve": ("comptoir.cli.serve:serve", "Serve the interface."),
    "migrate": (
        "comptoir.cli.migrate:migrate",
        "Bring a database to the current schema, and make it when it is not there.",
    ),
    "load": (
        "comptoir.cli.load:load",
        "Load files into a company: each is checked whole, then written.",
    ),
    "dump": (
        "comptoir.cli.dump:dump",
        "Write a company's records to files, one per kind and named after it.",
    ),
    "copy": (
        "comptoir.cli.copy:copy",
        "Copy companies to another database: records with their ids and tags, and the change log.",
    ),
    "changes": (
        "comptoir.cli.changes:changes",
        "Print a company's change log as NDJSON: each change once, in the order of the numbers.",
    ),
    "token": (
        "comptoir.cli.token:token",
        "Issue a bearer token, and print it as the last line.",
    ),
    "sample": (
        "comptoir.cli.sample:sample",
        "Make a sample company, and print its id last. Makes a new database as well.",
    ),
    "company": (
        "comptoir.cli.company:app",
        "Make, list, renew and delete companies. Every record belongs to one.",
    ),
}
"""For each subcommand the function or group that it is, and the first paragraph of its help.

Help and completion list the subcommands from this table, without importing them.
"""

_app = typer.Typer(
    name="comptoir",
    help="A self-hosted service for the business records of an ERP.",
    cls=Group,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=True,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"comptoir {__version__}")
        raise typer.Exit


@_app.callback()
def root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """A self-hosted service for the business records of an ERP."""


def command_line() -> Group:
    """The command with its subcommands, none of which is imported yet."""
    group = built(_app)
    if not isinstance(group, Group):
        raise TypeError("typer made a command without subcommands")
    for name, (target, line) in SUBCOMMANDS.items():
        group.add_command(LateCommand(name, target, line))
    return group


def main() -> None:
    """Run the command; exits with a status that is not 0 after an error in one line."""
    try:
        status = command_line()(prog_name="comptoir", standalone_mode=False)
        if status == INTERRUPTED:
            # typer has caught the interrupt
            raise KeyboardInterrupt
        sys.stdout.flush()
    except typer.TyperException as fault:
        status = _said(f"{' '.join(fault.format_message().split())} Try --help.")
    except (OperatorError, Refusal) as fault:
        status = _said(" ".join(str(fault).split()))
    except Interrupted as end:
        status = _said(str(end), 128 + end.number)
    except (typer.Abort, KeyboardInterrupt):
        status = _said("interrupted.", INTERRUPTED)
    except BrokenPipeError:
        # the reader of the output is gone, and so is the reader of an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)


def _said(fault: str, status: int = 1) -> int:
    sys.stderr.write(f"comptoir: {fault}\n")
    return status
