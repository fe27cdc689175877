"""Assembles the subcommands, and says in one line what went wrong."""

import sys

import click
import typer

from comptoir import __version__
from comptoir.cli import serve
from comptoir.errors import OperatorError, Refusal

app = typer.Typer(
    name="comptoir",
    help="A self-hosted service for the business records of an ERP.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)
app.command("serve")(serve.serve)


def _version(wanted: bool) -> None:  # noqa: FBT001 - the form that Typer calls back
    if wanted:
        typer.echo(f"comptoir {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(  # noqa: FBT001 - a flag on the command line
        False, "--version", callback=_version, is_eager=True, help="Show the version, and exit."
    ),
) -> None:
    """A self-hosted service for the business records of an ERP."""


def main() -> None:
    """Run the command; exits with a status that is not 0 after an error in one line."""
    try:
        app(standalone_mode=False)
    except click.ClickException as fault:
        sys.exit(f"comptoir: {fault.format_message()} Try --help.")
    except (OperatorError, Refusal) as fault:
        sys.exit(f"comptoir: {fault}")
    except (click.Abort, KeyboardInterrupt):
        sys.exit("comptoir: interrupted.")
