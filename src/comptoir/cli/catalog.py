"""`comptoir catalog`: check a file that declares entity sets, and compare it with a database."""

from pathlib import Path

import click

from comptoir.catalog import read_catalog
from comptoir.cli.options import PATH, settings_options
from comptoir.cli.runner import model_of, need_file
from comptoir.config import Settings
from comptoir.store.growth import changes

_FILE = click.argument("file", metavar="FILE", type=PATH, help="A file in TOML.")


@click.group()
def catalog() -> None:
    """Check files that declare entity sets, and compare them with a database.

    `comptoir migrate --catalog FILE` applies one.
    """


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
