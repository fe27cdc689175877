"""The `comptoir` command: its subcommands, and errors in one line."""

import gc
import signal
import sys
from collections.abc import Mapping
from pkgutil import resolve_name  # noqa: TID251 - only what a command uses

import click
from typing_extensions import override

from comptoir import __version__
from comptoir.cli import interrupt
from comptoir.cli.interrupt import Interrupted
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.features import FEATURES

_OWN = {
    "serve": ("serve", "Serve the API."),
    "doctor": ("doctor", "Print the settings in force, and what is wrong with what they name."),
    "migrate": ("catalog", "Bring a database to the current schema, and create it if missing."),
    "catalog": ("catalog", "Check files that declare entity sets, and bring databases to them."),
    "changes": (
        "logs",
        "Print a company's change log as NDJSON, in the order of the change numbers.",
    ),
    "token": ("token", "Issue a bearer token, and print it on the last line."),
    "keys": ("keys", "Rotate and list the keys that sign and verify tokens."),
    "client": (
        "client",
        "Add, change and remove clients, which get tokens from the token endpoint.",
    ),
    "role": (
        "client",
        "Add, list and remove roles, which restrict what clients may do with each entity set.",
    ),
    "issuer": (
        "issuer",
        "Add, list, refresh and remove other issuers, whose tokens the service accepts.",
    ),
    "audit": ("logs", "Print the audit log as NDJSON, in the order of the numbers of its entries."),
    "company": (
        "company",
        "Create, list, rename, renew and delete companies. Every record belongs to one.",
    ),
}
"""The module of each subcommand of this folder, and the first paragraph of its help."""

SUBCOMMANDS: Mapping[str, tuple[str, str]] = {
    **{name: (f"comptoir.cli.{module}:{name}", text) for name, (module, text) in _OWN.items()},
    **{name: it for each in FEATURES for name, it in each.commands.items()},
}
"""The place of each subcommand, and the first paragraph of its help.

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
    """Run the command; an error is a line, with its details, and a nonzero exit status."""
    try:
        status = command_line.main(prog_name="comptoir", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.message)
        status = error.exit_code
    except click.ClickException as error:
        problem = " ".join(error.format_message().split())
        status = _failed(f"{problem}{'' if problem[-1:] in '.?!' else '.'} Try --help.")
    except (OperatorError, Refusal) as error:
        details = error.details if isinstance(error, OperatorError) else ()
        lines = [str(error), *details]
        status = _failed("\n".join(" ".join(each.split()) for each in lines))
    except Interrupted as end:
        status = _failed(str(end), 128 + end.number)
    sys.exit(status)


def _failed(problem: str, status: int = 1) -> int:
    sys.stderr.write(f"comptoir: {problem}\n")
    return status
