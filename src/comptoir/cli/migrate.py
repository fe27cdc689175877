"""`comptoir migrate`: bring a database to the current schema."""

from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.runner import database_settings
from comptoir.config import environment_name
from comptoir.store.migration import migrate as bring_up_to_date
from comptoir.store.urls import redacted


class Cluster(StrEnum):
    """The cluster systems that tables can be distributed over."""

    CITUS = "citus"


def migrate(
    *,
    distribute: Annotated[
        Cluster | None,
        typer.Option(
            "--distribute",
            envvar=environment_name("distribute"),
            help="Distribute the tables by company over a Citus cluster. Can be repeated.",
        ),
    ] = None,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Bring a database to the current schema, and create it if missing.

    Does nothing if the database is up to date.
    """
    settings = database_settings(database, config)
    tell = partial(typer.echo, err=True)
    revision = bring_up_to_date(settings, MODEL, tell, distribute=distribute is not None)
    typer.echo(f"{redacted(settings.database)} has schema {revision}.")
