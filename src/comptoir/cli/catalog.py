"""`comptoir migrate` and `comptoir catalog`: the schema and the entity sets of a database."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import click
import msgspec

from comptoir.catalog import read_catalog
from comptoir.catalog.csdl import Document
from comptoir.catalog.importing import import_catalog, toml_of
from comptoir.catalog.options import json_schema
from comptoir.cli.options import PATH, option_or_variable, settings_options
from comptoir.cli.runner import model_of, need_file, shown_progress, use_store
from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model
from comptoir.edm.record_json import record_encoder
from comptoir.errors import operator_rows as problems
from comptoir.store.company_steps import rebuild_json as rebuild_json_of
from comptoir.store.growth import changes, is_earlier
from comptoir.store.migration import accepted_catalog
from comptoir.store.migration import migrate as bring_up_to_date
from comptoir.store.store import Store
from comptoir.store.urls import redacted

_FILE = click.argument(
    "file", metavar="FILE", type=PATH, help="A file in TOML, or `business-central-v2`."
)


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
        _encode_again(settings, model, model.stored)


@click.group()
def catalog() -> None:
    """Check files that declare entity sets, and bring databases to them."""


@catalog.command()
@_FILE
def check(file: Path) -> None:
    """Report all faults of a file, each with its line and a remedy; needs no database."""
    model = read_catalog(file)
    sets = model.per_company
    properties = sum(len(each.type.properties) for each in sets)
    click.echo(f"{file}: {len(sets)} entity sets with {properties} properties")


@catalog.command()
@_FILE
@settings_options("database")
def diff(settings: Settings, file: Path) -> None:
    """Print what a file adds to the catalog of a database, and what would be refused.

    The status is 1 if anything is refused.
    """
    need_file(settings)
    found = changes(model_of(settings).source, read_catalog(file).source)
    for each in found:
        click.echo(f"{'added' if each.is_addition else 'refused'}: {each.text}")
    if not all(each.is_addition for each in found):
        click.get_current_context().exit(1)


@catalog.command()
@_FILE
@settings_options("database")
def apply(settings: Settings, file: Path) -> None:
    """Bring a database to the catalog of a file, or change nothing; creates a missing database.

    Additions are applied, and everything else is refused by its name. Then the stored JSON of the
    sets with new properties is encoded again; after an interrupt, `comptoir migrate --rebuild-json`
    does that. Services may be running. They serve the new catalog after a restart.
    """
    wanted, accepted = read_catalog(file), accepted_catalog(settings)
    name = redacted(settings.database)
    if accepted is not None and is_earlier(wanted.source, accepted):
        raise problems.EARLIER_CATALOG(file=file, name=name)
    former = model_of(settings)
    revision = bring_up_to_date(settings, wanted, partial(click.echo, err=True))
    click.echo(f"{name} has schema {revision} and the catalog of {file}.")
    changed = [each for each in wanted.stored if _is_changed(former, each)]
    if accepted is not None and changed:
        _encode_again(settings, wanted, changed)


@catalog.command()
@settings_options("database")
def export(settings: Settings) -> None:
    """Print the catalog of a database, as a file for `comptoir catalog apply`.

    Comments of the file that was applied are not kept.
    """
    need_file(settings)
    click.echo(toml_of(msgspec.json.decode(model_of(settings).source)), nl=False)


@catalog.command()
def schema() -> None:
    """Print the JSON Schema of the file, by which editors complete and check it."""
    click.echo(msgspec.json.format(msgspec.json.encode(json_schema())))


@catalog.command("import")
@click.argument("metadata", metavar="METADATA", type=PATH, help="A file in CSDL XML or JSON.")
@click.option("--output", type=PATH, metavar="FILE", help="Write the catalog to a file.")
@click.option("--only", multiple=True, metavar="SET", help="Import this set. May be repeated.")
def import_metadata(metadata: Path, output: Path | None, only: Sequence[str]) -> None:
    """Print the catalog of the `$metadata` of another service, and a report on standard error.

    Names and types stay. What is not served is a comment in the catalog, and a line of the report.
    """
    imported = import_catalog(Document(metadata), only)
    if output is None:
        click.echo(imported.text, nl=False)
    else:
        try:
            output.write_text(imported.text, encoding="utf-8")
        except OSError as error:
            raise problems.UNWRITABLE(path=output, reason=error.strerror) from error
    click.echo("\n".join(imported.report), err=True)


def _is_changed(former: Model, entity_set: EntitySet) -> bool:
    """Whether records of a former model have other JSON."""
    known = former.by_name.get(entity_set.name)
    layouts = [record_encoder(each.type).layout for each in (known, entity_set) if each is not None]
    return len(set(layouts)) > 1


def _encode_again(settings: Settings, model: Model, sets: Iterable[EntitySet]) -> None:
    """Encode the stored JSON of the records of some sets again, and print their number."""

    async def encode(store: Store) -> int:
        count = 0
        with shown_progress() as progress:
            for company_id in await store.company_names():
                for each in sets:
                    count += await rebuild_json_of(store, company_id, each.name, progress)
        return count

    count = use_store(settings, encode, model)
    click.echo(f"The JSON of {count} records is encoded again.")
