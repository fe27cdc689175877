"""The `comptoir` command: its subcommands, and errors in one line."""

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
"""The exit status after an interrupt, as in shells."""

SUBCOMMANDS: Mapping[str, tuple[str, str]] = {
    "serve": ("comptoir.cli.serve:serve", "Serve the API."),
    "migrate": (
        "comptoir.cli.migrate:migrate",
        "Bring a database to the current schema, and create it if missing.",
    ),
    "load": (
        "comptoir.cli.transfer:load",
        "Load files into a company. Each file is checked completely before it is written.",
    ),
    "dump": (
        "comptoir.cli.transfer:dump",
        "Write a company's records to files, one for each entity set and named after it.",
    ),
    "copy": (
        "comptoir.cli.transfer:copy",
        "Copy companies to another database, with ids, entity tags and the change log.",
    ),
    "changes": (
        "comptoir.cli.changes:changes",
        "Print a company's change log as NDJSON, in the order of the change numbers.",
    ),
    "token": (
        "comptoir.cli.token:token",
        "Issue a bearer token, and print it on the last line.",
    ),
    "console": (
        "comptoir.cli.console:console",
        "Print a link that logs in to the web console.",
    ),
    "keys": (
        "comptoir.cli.keys:app",
        "Rotate and list the keys that sign and verify tokens.",
    ),
    "client": (
        "comptoir.cli.client:app",
        "Add, change and remove clients, which get tokens from the token endpoint.",
    ),
    "role": (
        "comptoir.cli.role:app",
        "Add, list and remove roles, which restrict what clients may do with each entity set.",
    ),
    "issuer": (
        "comptoir.cli.issuer:app",
        "Add, list, refresh and remove other issuers, whose tokens the service accepts.",
    ),
    "audit": (
        "comptoir.cli.audit:audit",
        "Print the audit log as NDJSON, in the order of the numbers of its entries.",
    ),
    "rehearse": (
        "comptoir.cli.rehearse:app",
        "Report what the clients of a service with faults have met.",
    ),
    "sample": (
        "comptoir.cli.sample:sample",
        "Create a sample company and print its id at the end. Creates the database if missing.",
    ),
    "reset": (
        "comptoir.cli.reset:reset",
        "Bring the sample company of `serve --quickstart` back to its first state.",
    ),
    "company": (
        "comptoir.cli.company:app",
        "Create, list, renew and delete companies. Every record belongs to one.",
    ),
}
"""Each subcommand's function or group, and the first paragraph of its help.

Help and completion list the subcommands from this table without importing them.
"""

REMOVED: Mapping[str, str] = {"check": "comptoir migrate --rebuild-json"}
"""Subcommands of the previous release that are removed, and what replaces them."""

_app = typer.Typer(
    name="comptoir",
    help="A self-hosted OData v4 API for business records.",
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
    """A self-hosted OData v4 API for business records."""


def command_line() -> Group:
    """The command with its subcommands, which are not imported yet."""
    group = built(_app)
    if not isinstance(group, Group):
        raise TypeError("typer returned a command without subcommands")
    group.removed = REMOVED
    for name, (target, line) in SUBCOMMANDS.items():
        group.add_command(LateCommand(name, target, line))
    return group


def main() -> None:
    """Run the command; an error is one line, and a nonzero exit status."""
    try:
        status = command_line()(prog_name="comptoir", standalone_mode=False)
        if status == INTERRUPTED:
            # typer has caught the interrupt
            raise KeyboardInterrupt
        sys.stdout.flush()
    except typer.TyperException as fault:
        problem = " ".join(fault.format_message().split())
        status = _failed(f"{problem}{'' if problem[-1:] in '.?!' else '.'} Try --help.")
    except (OperatorError, Refusal) as fault:
        status = _failed(" ".join(str(fault).split()))
    except Interrupted as end:
        status = _failed(str(end), 128 + end.number)
    except (typer.Abort, KeyboardInterrupt):
        status = _failed("interrupted.", INTERRUPTED)
    except BrokenPipeError:
        # the reader of the output has closed the pipe, and would not see an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)


def _failed(fault: str, status: int = 1) -> int:
    sys.stderr.write(f"comptoir: {fault}\n")
    return status
