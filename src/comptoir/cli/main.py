"""Assembles the subcommands, and says in one line what went wrong."""

import os
import signal
import sys
from typing import Annotated

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError

from comptoir import __version__
from comptoir.cli import changes, company, copy, dump, load, migrate, sample, serve, token
from comptoir.cli.help import Command, Group
from comptoir.cli.running import Interrupted
from comptoir.errors import OperatorError, Refusal

INTERRUPTED = 128 + signal.SIGINT
"""The status after an interrupt, as shells have it."""

app = typer.Typer(
    name="comptoir",
    help="A self-hosted service for the business records of an ERP.",
    cls=Group,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)
app.command("serve", cls=Command)(serve.serve)
app.command("migrate", cls=Command)(migrate.migrate)
app.add_typer(company.app)
app.command("load", cls=Command)(load.load)
app.command("dump", cls=Command)(dump.dump)
app.command("copy", cls=Command)(copy.copy)
app.command("changes", cls=Command)(changes.changes)
app.command("token", cls=Command)(token.token)
app.command("sample", cls=Command)(sample.sample)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"comptoir {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """A self-hosted service for the business records of an ERP."""


def main() -> None:
    """Run the command; exits with a status that is not 0 after an error in one line."""
    try:
        status = app(prog_name="comptoir", standalone_mode=False)
        if status == INTERRUPTED:
            # typer's own word for it
            raise KeyboardInterrupt
        sys.stdout.flush()
    except NoArgsIsHelpError as fault:
        typer.echo(fault.format_message())
        status = 2
    except ClickException as fault:
        status = _said(f"{' '.join(fault.format_message().split())} Try --help.")
    except (OperatorError, Refusal) as fault:
        status = _said(" ".join(str(fault).split()))
    except Interrupted as end:
        status = _said(str(end), 128 + end.number)
    except (typer.Abort, KeyboardInterrupt):
        status = _said("interrupted.", INTERRUPTED)
    except BrokenPipeError:
        # nobody reads what is printed any more, so nobody is told
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)


def _said(fault: str, status: int = 1) -> int:
    sys.stderr.write(f"comptoir: {fault}\n")
    return status
