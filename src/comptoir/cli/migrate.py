"""`comptoir migrate`: bring a database to the current schema."""

from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.runner import database_settings, opened, progress_bar, run
from comptoir.config import Settings, environment_name
from comptoir.store.migration import migrate as bring_up_to_date
from comptoir.store.urls import redacted
from comptoir.transfer.rebuild import rebuild_json as rebuild_json_of


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
    rebuild_json: Annotated[
        bool,
        typer.Option(
            "--rebuild-json",
            envvar=environment_name("rebuild_json"),
            help="Encode the stored JSON of all records again, from their columns.",
        ),
    ] = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Bring a database to the current schema, and create it if missing.

    Does nothing if the database is up to date.

    Services send the stored JSON of records without reading the columns. With `--rebuild-json`, it
    is encoded again from the columns of all records. This changes neither entity tags nor the
    change log. Services may be running. After an interrupt, run the same command again.
    """
    settings = database_settings(database, config)
    tell = partial(typer.echo, err=True)
    revision = bring_up_to_date(settings, MODEL, tell, distribute=distribute is not None)
    typer.echo(f"{redacted(settings.database)} has schema {revision}.")
    if rebuild_json:
        count = run(lambda: _rebuild_json(settings))
        typer.echo(f"The JSON of {count} records is encoded again.")


async def _rebuild_json(settings: Settings) -> int:
    count = 0
    async with opened(settings) as store:
        for company_id, name in (await store.company_names()).items():
            with progress_bar(f"{name} {company_id}") as progress:
                for each in MODEL.stored:
                    count += await rebuild_json_of(store, company_id, each.name, progress)
    return count
