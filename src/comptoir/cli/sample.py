"""`comptoir sample`: make a believable company, and fill it by the way that loading writes."""

from typing import Annotated
from uuid import uuid4

import typer

from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.company import checked_name, new_company
from comptoir.cli.report import progress
from comptoir.cli.running import database_settings, opened, run
from comptoir.config import Settings, environment_name
from comptoir.edm.model import Company
from comptoir.errors import OperatorError
from comptoir.samples import SampleSize, sample_company
from comptoir.store.migrate import make_ready
from comptoir.store.store import Store
from comptoir.transfer.load import Loader
from comptoir.transfer.source import TableSource

SAMPLE_NAME = "Comptoir Sample"
"""What a sample company is called by default."""


def sample(
    *,
    company_name: Annotated[
        str,
        typer.Option(
            "--company-name",
            envvar=environment_name("company_name"),
            help="What the company is called.",
        ),
    ] = SAMPLE_NAME,
    size: Annotated[
        SampleSize,
        typer.Option(
            "--size",
            envvar=environment_name("size"),
            help="Hundreds of records, hundreds of thousands, or millions.",
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
    """Make a sample company, and print its id last. Makes a new database as well."""
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


async def fill(store: Store, company: Company, size: SampleSize, seed: int = 1) -> None:
    """Load every table of a sample into a company; what is in it already stays as it is."""
    for table in sample_company(size, seed):
        identity = f"sample {size} {seed} {table.entity_set}"
        source = TableSource(identity, table.columns, table.rows)
        entity_set = MODEL.by_name[table.entity_set]
        with progress(table.entity_set) as listener:
            report = await Loader(store, company, listener).load(
                source, entity_set, keep_good=False
            )
        if not report.written:
            raise OperatorError(
                f"{table.entity_set} of the sample was refused: line {report.faults[0].line}: "
                f"{report.faults[0].column}: {report.faults[0].reason}"
            )
