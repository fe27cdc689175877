"""`comptoir sample`: create a company with the records of the sample files."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer

from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.company import checked_name, new_company
from comptoir.cli.runner import database_settings, opened, run
from comptoir.cli.transfer import find_files, load_progress
from comptoir.config import Settings, environment_name
from comptoir.edm.model import Company, EntitySet
from comptoir.errors import OperatorError
from comptoir.store.migration import make_ready
from comptoir.store.store import Store
from comptoir.transfer import ShowProgress
from comptoir.transfer.files import FileSource
from comptoir.transfer.load import Loader

SAMPLE_NAME = "Comptoir Sample"
"""The default name of a sample company."""

_FOLDER = Path(__file__).parent.parent / "samples"


def sample(
    *,
    company_name: Annotated[
        str,
        typer.Option(
            "--company-name",
            envvar=environment_name("company_name"),
            help="The company's name.",
        ),
    ] = SAMPLE_NAME,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Create a sample company and print its id at the end. Creates the database if missing."""
    settings = database_settings(database, config)
    checked_name(company_name)
    make_ready(settings, MODEL)
    company_id = run(lambda: _sample(settings, company_name))
    typer.echo(f"{company_name}\n{company_id}")


async def _sample(settings: Settings, name: str) -> str:
    async with opened(settings) as store:
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
            raise OperatorError(
                f"{path} cannot be loaded: line {found.line}: {found.column}: {found.reason}",
                "Install the package again.",
            )
