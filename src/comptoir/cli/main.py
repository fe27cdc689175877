"""The `comptoir` command: its subcommands, and errors in one line."""

import gc
import signal
import sys
from collections.abc import Mapping
from pkgutil import resolve_name

import click
from typing_extensions import override

from comptoir import __version__
from comptoir import operator_rows as problems
from comptoir.cli import interrupt
from comptoir.cli.interrupt import Interrupted
from comptoir.errors import OperatorError, Refusal

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
        "comptoir.cli.keys:keys",
        "Rotate and list the keys that sign and verify tokens.",
    ),
    "client": (
        "comptoir.cli.client:client",
        "Add, change and remove clients, which get tokens from the token endpoint.",
    ),
    "role": (
        "comptoir.cli.role:role",
        "Add, list and remove roles, which restrict what clients may do with each entity set.",
    ),
    "issuer": (
        "comptoir.cli.issuer:issuer",
        "Add, list, refresh and remove other issuers, whose tokens the service accepts.",
    ),
    "audit": (
        "comptoir.cli.audit:audit",
        "Print the audit log as NDJSON, in the order of the numbers of its entries.",
    ),
    "rehearse": (
        "comptoir.cli.rehearse:rehearse",
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
        "comptoir.cli.company:company",
        "Create, list, renew and delete companies. Every record belongs to one.",
    ),
}
"""Each subcommand and the first paragraph of its help.

Help and completion list the subcommands from this table without importing them.
"""

REMOVED: Mapping[str, str] = {"check": "comptoir migrate --rebuild-json"}
"""Subcommands of the previous release that are removed, and what replaces them."""


class _Subcommands(click.Group):
    """A group that imports a subcommand when it is called."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in REMOVED:
            raise problems.REMOVED_COMMAND(name=args[0], instead=REMOVED[args[0]])
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and imported(args[0]), rest

    @override
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted(signal.SIGINT, "interrupted.") from None


def imported(name: str) -> click.Command:
    """Import a subcommand."""
    found = resolve_name(SUBCOMMANDS[name][0])
    if not isinstance(found, click.Command):
        raise TypeError(f"{SUBCOMMANDS[name][0]} is not a command")
    interrupt.raise_again()
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    return found


@click.group(
    cls=_Subcommands,
    commands={
        name: click.Command(name, short_help=line) for name, (_, line) in SUBCOMMANDS.items()
    },
    context_settings={"show_default": True, "max_content_width": 100},
)
@click.version_option(__version__, message="comptoir %(version)s", help="Show the version.")
def command_line() -> None:
    """A self-hosted OData v4 API for business records."""


def main() -> None:
    """Run the command; an error is one line, and a nonzero exit status."""
    try:
        status = command_line.main(prog_name="comptoir", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.message)
        status = error.exit_code
    except click.ClickException as error:
        problem = " ".join(error.format_message().split())
        status = _failed(f"{problem}{'' if problem[-1:] in '.?!' else '.'} Try --help.")
    except (OperatorError, Refusal) as error:
        status = _failed(" ".join(str(error).split()))
    except Interrupted as end:
        status = _failed(str(end), 128 + end.number)
    sys.exit(status)


def _failed(problem: str, status: int = 1) -> int:
    sys.stderr.write(f"comptoir: {problem}\n")
    return status
