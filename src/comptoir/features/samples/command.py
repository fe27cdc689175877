"""`comptoir sample`: create a company with the records of the sample files."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from uuid import uuid4

import click

from comptoir.catalog import MODEL
from comptoir.cli.company import checked_name, new_company
from comptoir.cli.options import option_or_variable, settings_options
from comptoir.cli.runner import use_store
from comptoir.config import Settings
from comptoir.edm.model import Company, EntitySet
from comptoir.features.samples import errors as problems
from comptoir.features.transfer.commands import find_files, load_progress
from comptoir.features.transfer.files import FileSource
from comptoir.features.transfer.load import Loader
from comptoir.store.migration import make_ready
from comptoir.store.snapshot import ShowProgress
from comptoir.store.store import Store

SAMPLE_NAME = "Comptoir Sample"
"""The default name of a sample company."""

_FOLDER = Path(__file__).parent


@click.command()
@option_or_variable("--company-name", default=SAMPLE_NAME, help="The company's name.")
@settings_options("database")
def sample(settings: Settings, company_name: str) -> None:
    """Create a sample company and print its id at the end. Creates the database if missing."""
    checked_name(company_name)
    make_ready(settings, MODEL)
    company_id = use_store(settings, lambda store: _sample(store, company_name))
    click.echo(f"{company_name}\n{company_id}")


async def _sample(store: Store, name: str) -> str:
    company = await new_company(store, str(uuid4()), name)
    await fill(store, company)
    return company.id


def sample_files() -> Mapping[EntitySet, Path]:
    """The sample's files by their entity sets, in the order in which `fill` loads them."""
    return find_files([_FOLDER])


async def fill(
    store: Store,
    company: Company,
    progress_of: Callable[[str], AbstractContextManager[ShowProgress]] = load_progress,
) -> None:
    """Load the sample's files into a company; records that are equal are left unchanged."""
    for entity_set, path in sample_files().items():
        with progress_of(entity_set.name) as progress:
            report = await Loader(store, company, progress).load(
                FileSource(path), entity_set, keep_good=False
            )
        if not report.written:
            found = report.faults[0]
            raise problems.UNUSABLE_SAMPLE(
                path=path, line=found.line, column=found.column, reason=found.reason
            )
