"""`comptoir client secret`: replace the secret of a client without a gap."""

from typing import Annotated

import typer

from comptoir.auth.client_terms import LONGEST_DAYS, USUAL_DAYS, secret_for
from comptoir.auth.records import Secret
from comptoir.cli import options
from comptoir.cli.help import Command, Group
from comptoir.cli.runner import database_settings, need_database, opened, operator, run
from comptoir.config import Settings

Name = Annotated[str, typer.Argument(metavar="NAME", help="The client's name.")]
Days = Annotated[
    int,
    typer.Option("--days", min=1, max=LONGEST_DAYS, help="The days for which the secret is valid."),
]

app = typer.Typer(
    name="secret",
    help="Add a second secret to a client, and remove the first one.",
    cls=Group,
    rich_markup_mode=None,
    add_completion=False,
)


@app.command(cls=Command)
def add(
    name: Name,
    *,
    days: Days = USUAL_DAYS,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Add a secret to a client, which may have two, and print it on the last line."""
    settings = database_settings(database, config)
    secret, text = secret_for(days)
    need_database(settings)
    run(lambda: _add(settings, name, secret))
    typer.echo(text)


@app.command(cls=Command)
def remove(
    name: Name,
    hint: Annotated[
        str,
        typer.Argument(
            metavar="HINT", help="The secret's first characters, as `comptoir client list` prints."
        ),
    ],
    *,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Remove a secret of a client. Tokens that the client has remain valid until their end."""
    settings = database_settings(database, config)
    need_database(settings)
    run(lambda: _remove(settings, name, hint))
    typer.echo(f"{name}: secret {hint}… removed")


async def _add(settings: Settings, name: str, secret: Secret) -> None:
    async with opened(settings) as store:
        await store.control.add_secret(name, secret, operator())


async def _remove(settings: Settings, name: str, hint: str) -> None:
    async with opened(settings) as store:
        await store.control.remove_secret(name, hint, operator())
