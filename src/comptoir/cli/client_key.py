"""`comptoir client key`: the public keys with which a client may authenticate itself."""

import time
from pathlib import Path
from typing import Annotated

import typer

from comptoir.auth.client_keys import read_client_key
from comptoir.auth.client_terms import LONGEST_DAYS, USUAL_DAYS
from comptoir.auth.limits import DAY
from comptoir.auth.records import ClientKey
from comptoir.cli import options
from comptoir.cli.client_secret import Name
from comptoir.cli.help import Command, Group
from comptoir.cli.runner import database_settings, need_database, opened, operator, run
from comptoir.config import Settings

app = typer.Typer(
    name="key",
    help="Add public keys to a client, and remove them.",
    cls=Group,
    rich_markup_mode=None,
    add_completion=False,
)


@app.command(cls=Command)
def add(
    name: Name,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A PEM file with a public key or a certificate."),
    ],
    *,
    days: Annotated[
        int,
        typer.Option(
            "--days",
            min=1,
            max=LONGEST_DAYS,
            help="The days for which the key is valid; that of a certificate ends with it.",
        ),
    ] = USUAL_DAYS,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Add a public key to a client, which may have five, and print its id (kid).

    The client signs assertions with the private key instead of sending a secret.
    """
    settings = database_settings(database, config)
    now = int(time.time())
    key = read_client_key(file, now, now + days * DAY)
    need_database(settings)
    run(lambda: _add(settings, name, key))
    typer.echo(key.kid)


@app.command(cls=Command)
def remove(
    name: Name,
    kid: Annotated[
        str, typer.Argument(metavar="KID", help="The key's id, as `comptoir client list` prints.")
    ],
    *,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Remove a key of a client. Tokens that the client has remain valid until their end."""
    settings = database_settings(database, config)
    need_database(settings)
    run(lambda: _remove(settings, name, kid))
    typer.echo(f"{name}: key {kid} removed")


async def _add(settings: Settings, name: str, key: ClientKey) -> None:
    async with opened(settings) as store:
        await store.control.add_key(name, key, operator())


async def _remove(settings: Settings, name: str, kid: str) -> None:
    async with opened(settings) as store:
        await store.control.remove_key(name, kid, operator())
