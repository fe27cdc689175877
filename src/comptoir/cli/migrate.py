"""`comptoir migrate`: bring a database to the current schema."""

from functools import partial

import typer

from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.running import database_settings
from comptoir.store.migrate import migrate as bring_up_to_date
from comptoir.store.urls import shown


def migrate(*, database: options.Database = None, config: options.Config = None) -> None:
    """Bring a database to the current schema, and make it when it is not there.

    Safe to repeat: a database that is up to date stays as it is.
    """
    settings = database_settings(database, config)
    revision = bring_up_to_date(settings, MODEL, partial(typer.echo, err=True))
    typer.echo(f"{shown(settings.database)} has schema {revision}.")
