"""`comptoir dump`: write every kind of a company's records to files."""

from pathlib import Path
from typing import Annotated

import typer

from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.report import bar
from comptoir.cli.running import (
    database_settings,
    known_company,
    need_database,
    opened,
    run,
)
from comptoir.config import Settings, environment_name
from comptoir.errors import OperatorError
from comptoir.transfer.dump import Dumper, DumpFormat, dump_file, file_exists
from comptoir.transfer.snapshot import open_snapshot


def dump(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go.")],
    *,
    company: options.Company,
    form: Annotated[
        DumpFormat,
        typer.Option("--format", envvar=environment_name("format"), help="The form of the files."),
    ] = DumpFormat.NDJSON,
    with_secrets: Annotated[
        bool,
        typer.Option(
            "--with-secrets",
            envvar=environment_name("with_secrets"),
            help="Write passwords as well; then only the files' owner can read them.",
        ),
    ] = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Write a company's records to files, one per kind and named after it.

    All are as they were at one moment, whatever is written meanwhile. Loading them into an empty
    company gives equal records. A kind without records gets no file, and no file is overwritten.
    """
    settings = database_settings(database, config)
    company_id = options.guid(company)
    need_database(settings)
    run(lambda: _dump(settings, company_id, folder, form, with_secrets=with_secrets))


async def _dump(
    settings: Settings, company_id: str, folder: Path, form: DumpFormat, *, with_secrets: bool
) -> None:
    async with opened(settings) as store:
        company = await known_company(store, company_id)
        _prepare(folder, form)
        files = records = 0
        async with open_snapshot(store) as snapshot:
            for entity_set in MODEL.stored:
                with bar(entity_set.name) as listener:
                    dumper = Dumper(snapshot, company, form, listener, with_secrets=with_secrets)
                    count = await dumper.dump(entity_set, folder)
                if count:
                    files += 1
                    records += count
                    typer.echo(f"{dump_file(folder, entity_set, form)}: {count} records")
        typer.echo(f"{records} records in {files} files")


def _prepare(folder: Path, form: DumpFormat) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise OperatorError(
            f"cannot make the folder {folder}: {fault.strerror}. Name another one."
        ) from fault
    for entity_set in MODEL.stored:
        target = dump_file(folder, entity_set, form)
        if target.exists():
            raise file_exists(target)
