"""`comptoir sample`: create a realistic company by loading generated records."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated
from uuid import uuid4

import typer

from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.company import checked_name, new_company
from comptoir.cli.runner import database_settings, opened, run
from comptoir.cli.transfer import load_progress
from comptoir.config import Settings, environment_name
from comptoir.edm.model import Company
from comptoir.errors import OperatorError
from comptoir.samples import SampleSize, sample_company
from comptoir.store.migration import make_ready
from comptoir.store.store import Store
from comptoir.transfer import ShowProgress
from comptoir.transfer.files import TableSource
from comptoir.transfer.load import Loader

SAMPLE_NAME = "Comptoir Sample"
"""The default name of a sample company."""


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
    size: Annotated[
        SampleSize,
        typer.Option(
            "--size",
            envvar=environment_name("size"),
            help="small: hundreds of records; medium: hundreds of thousands; large: millions.",
        ),
    ] = SampleSize.SMALL,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="N",
            envvar=environment_name("seed"),
            help="The same size and seed give the same records.",
        ),
    ] = 1,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Create a sample company and print its id at the end. Creates the database if missing."""
    settings = database_settings(database, config)
    checked_name(company_name)
    make_ready(settings, MODEL)
    company_id = run(lambda: _sample(settings, company_name, size, seed))
    typer.echo(f"{company_name}\n{company_id}")


async def _sample(settings: Settings, name: str, size: SampleSize, seed: int) -> str:
    async with opened(settings) as store:
        company = await new_company(store, str(uuid4()), name)
        await fill(store, company, size, seed)
        return company.id


async def fill(
    store: Store,
    company: Company,
    size: SampleSize,
    seed: int = 1,
    progress_of: Callable[[str], AbstractContextManager[ShowProgress]] = load_progress,
) -> None:
    """Load all tables of a sample into a company; records that are equal are left unchanged."""
    for table in sample_company(size, seed):
        identity = f"sample {size} {seed} {table.entity_set}"
        source = TableSource(identity, table.columns, table.rows)
        entity_set = MODEL.by_name[table.entity_set]
        with progress_of(table.entity_set) as progress:
            report = await Loader(store, company, progress).load(
                source, entity_set, keep_good=False
            )
        if not report.written:
            fault = report.faults[0]
            raise OperatorError(
                f"the sample's {table.entity_set} cannot be loaded: line {fault.line}: "
                f"{fault.column}: {fault.reason}",
                "Report this defect.",
            )
