"""`comptoir migrate`: bring a database to the current schema."""

from collections.abc import Iterable
from functools import partial

import click

from comptoir.cli.options import option_or_variable, settings_options
from comptoir.cli.runner import model_of, shown_progress, use_store
from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model
from comptoir.store.company_steps import rebuild_json as rebuild_json_of
from comptoir.store.migration import migrate as bring_up_to_date
from comptoir.store.store import Store
from comptoir.store.urls import redacted


@click.command()
@option_or_variable(
    "--distribute",
    type=click.Choice(["citus"]),
    help="Distribute the tables by company over a Citus cluster. Can be repeated.",
)
@option_or_variable(
    "--rebuild-json",
    is_flag=True,
    help="Encode the stored JSON of all records again, from their columns.",
)
@settings_options("database")
def migrate(settings: Settings, distribute: str | None, rebuild_json: bool) -> None:
    """Bring a database to the current schema, and create it if missing.

    Does nothing if the database is up to date.

    Services send the stored JSON of records without reading the columns. With `--rebuild-json`, it
    is encoded again from the columns of all records. This changes neither entity tags nor the
    change log. Services may be running. After an interrupt, run the same command again.
    """
    tell = partial(click.echo, err=True)
    model = model_of(settings)
    revision = bring_up_to_date(settings, model, tell, distribute=distribute is not None)
    click.echo(f"{redacted(settings.database)} has schema {revision}.")
    if rebuild_json:
        encode_again(settings, model, model.stored)


def encode_again(settings: Settings, model: Model, sets: Iterable[EntitySet]) -> None:
    """Encode the stored JSON of the records of some sets again, and print their number."""
    count = use_store(settings, partial(_rebuild_json, sets), model)
    click.echo(f"The JSON of {count} records is encoded again.")


async def _rebuild_json(sets: Iterable[EntitySet], store: Store) -> int:
    count = 0
    with shown_progress() as progress:
        for company_id in await store.company_names():
            for each in sets:
                count += await rebuild_json_of(store, company_id, each.name, progress)
    return count
