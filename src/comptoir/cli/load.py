"""`comptoir load`: load files into a company."""

from pathlib import Path
from typing import Annotated

import typer

from comptoir.cli import options
from comptoir.cli.files import LoadFile, find_files
from comptoir.cli.report import progress, summary, tell, total
from comptoir.cli.running import (
    database_settings,
    known_company,
    need_database,
    opened,
    run,
)
from comptoir.config import Settings, environment_name
from comptoir.transfer.load import Loader, LoadReport
from comptoir.transfer.source import FileSource


def load(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH…",
            help="Files, or folders of files, each named after its resource: contactsExt.csv, "
            ".ndjson, .json or .parquet.",
        ),
    ],
    *,
    company: options.Company,
    keep_good: Annotated[
        bool,
        typer.Option(
            "--keep-good",
            envvar=environment_name("keep_good"),
            help="Write the good rows of a file that has bad ones; else nothing of it is written.",
        ),
    ] = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Load files into a company: each is checked whole, then written.

    A row is matched by its key if the file has that column, else by the kind's unique rule; what
    it matches is updated, what it does not is inserted. A column that the file leaves out stays as
    it is in a record that exists. Interrupted, the same command goes on.
    """
    settings = database_settings(database, config)
    company_id = options.guid(company)
    files = find_files(paths)
    need_database(settings)
    reports = run(lambda: _load(settings, company_id, files, keep_good=keep_good), resumes=True)
    typer.echo(f"total: {summary(total(reports))}")
    if not all(each.written for each in reports):
        raise typer.Exit(1)


async def _load(
    settings: Settings, company_id: str, files: list[LoadFile], *, keep_good: bool
) -> list[LoadReport]:
    reports: list[LoadReport] = []
    async with opened(settings) as store:
        company = await known_company(store, company_id)
        for each in files:
            with progress(each.entity_set.name) as listener:
                loader = Loader(store, company, listener, settings.body_bytes)
                source = FileSource(each.path)
                report = await loader.load(source, each.entity_set, keep_good=keep_good)
            tell(str(each.path), report)
            reports.append(report)
    return reports
