"""`comptoir load`, `comptoir dump` and `comptoir copy`: move companies in bulk."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.runner import (
    database_settings,
    known_company,
    need_database,
    opened,
    progress_bar,
    run,
)
from comptoir.config import Settings, environment_name
from comptoir.edm.model import EntitySet
from comptoir.errors import OperatorError
from comptoir.messages import quoted, suggestion
from comptoir.transfer import ShowProgress
from comptoir.transfer.copy import Copy, CopyReport
from comptoir.transfer.dump import Dumper, DumpFormat, dump_file, file_exists
from comptoir.transfer.files import SUFFIXES, FileSource
from comptoir.transfer.load import FAULTS_KEPT, Loader, LoadReport
from comptoir.transfer.snapshot import open_snapshot

_STAGES = {"check": "checking", "write": "writing"}
_SUFFIXES = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


def load(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH…",
            help="Files, or folders of files, each named after its entity set: contactsExt.csv, "
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
            help="Write the valid rows of a file that has faults. By default, nothing of such a "
            "file is written.",
        ),
    ] = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Load files into a company. Each file is checked completely before it is written.

    A row matches a record by the key if the file has that column, else by the entity type's unique
    rule. A row that matches updates its record; any other row is inserted. An update does not
    change properties for which the file has no column. After an interrupt, the same command
    resumes.
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
    settings: Settings, company_id: str, files: dict[EntitySet, Path], *, keep_good: bool
) -> list[LoadReport]:
    reports: list[LoadReport] = []
    async with opened(settings) as store:
        company = await known_company(store, company_id)
        for entity_set, path in files.items():
            with load_progress(entity_set.name) as progress:
                loader = Loader(store, company, progress, settings.body_bytes)
                report = await loader.load(FileSource(path), entity_set, keep_good=keep_good)
            _print_load(str(path), report)
            reports.append(report)
    return reports


@contextmanager
def load_progress(name: str) -> Iterator[ShowProgress]:
    """A progress bar for the stages of a load."""
    with progress_bar(name) as show:
        yield lambda stage, done, rows: show(f"{_STAGES[stage]} {name}", done, rows)


def _print_load(name: str, report: LoadReport) -> None:
    for fault in report.faults:
        place = ":".join([name, *([str(fault.line)] if fault.line else [])])
        column = f"{fault.column}: " if fault.column else ""
        typer.echo(f"{place}: {column}{fault.reason}", err=True)
    if len(report.faults) == FAULTS_KEPT and report.refused > FAULTS_KEPT:
        typer.echo(f"{name}: {report.refused} lines are refused; the first are shown.", err=True)
    typer.echo(f"{name}: {summary(report)}")


def summary(report: LoadReport) -> str:
    """The counts of a report in words."""
    resumed = f", resumed at row {report.resumed_at}" if report.resumed_at else ""
    counted = (
        f"{report.rows} rows: {report.inserted} inserted, {report.updated} updated, "
        f"{report.unchanged} unchanged, {report.refused} refused{resumed}"
    )
    return counted if report.written else f"{counted}; nothing was written"


def total(reports: list[LoadReport]) -> LoadReport:
    """The sum of several reports."""
    return LoadReport(
        rows=sum(each.rows for each in reports),
        inserted=sum(each.inserted for each in reports),
        updated=sum(each.updated for each in reports),
        unchanged=sum(each.unchanged for each in reports),
        refused=sum(each.refused for each in reports),
        written=any(each.written for each in reports),
    )


def find_files(paths: Iterable[Path]) -> dict[EntitySet, Path]:
    """The named files and those in the named folders, by the entity set that they are named after.

    Files in a folder that cannot be loaded are left out. Raises `OperatorError` for a path that
    does not exist, a file that is not named after an entity set, a folder without files to load,
    and two files for one entity set.
    """
    found: dict[EntitySet, Path] = {}
    for path in paths:
        for each in _files_at(path):
            entity_set = _entity_set(each)
            other = found.setdefault(entity_set, each)
            if other is not each:
                raise OperatorError(
                    f"{other} and {each} are both for {entity_set.name}",
                    "Load them one after the other.",
                )
    return found


def _files_at(path: Path) -> list[Path]:
    if path.is_dir():
        return _files_in(path)
    if not path.exists():
        raise OperatorError(f"{path} does not exist", "Correct the path.")
    if not path.is_file():
        raise OperatorError(f"{path} is not a file", "Name a file, which can be read twice.")
    if path.suffix not in SUFFIXES:
        raise OperatorError(f"{path} cannot be loaded", f"Name a file that ends in {_SUFFIXES}.")
    return [path]


def _files_in(folder: Path) -> list[Path]:
    try:
        listed = sorted(folder.iterdir())
    except OSError as fault:
        raise OperatorError(
            f"the folder {folder} cannot be read: {fault.strerror}", "Check its permissions."
        ) from fault
    # a name with a leading dot is a draft or a file of the operating system
    found = [
        each
        for each in listed
        if each.suffix in SUFFIXES and not each.name.startswith(".") and each.is_file()
    ]
    if not found:
        raise OperatorError(
            f"the folder {folder} contains no file that can be loaded",
            f"Name a folder with files that end in {_SUFFIXES}.",
        )
    return found


def _entity_set(path: Path) -> EntitySet:
    stored = {each.name: each for each in MODEL.stored}
    entity_set = stored.get(path.stem)
    if entity_set is not None:
        return entity_set
    if path.stem in MODEL.by_name:
        raise OperatorError(
            f"{path} cannot be loaded, since {path.stem} has no records of its own",
            f"Load one of: {', '.join(stored)}.",
        )
    raise OperatorError(
        f"{path} is not named after an entity set: {quoted(path.stem)} does not exist",
        suggestion(path.stem, stored) or f"Name it after one of: {', '.join(stored)}.",
    )


def dump(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the files.")],
    *,
    company: options.Company,
    form: Annotated[
        DumpFormat,
        typer.Option(
            "--format", envvar=environment_name("format"), help="The format of the files."
        ),
    ] = DumpFormat.NDJSON,
    with_secrets: Annotated[
        bool,
        typer.Option(
            "--with-secrets",
            envvar=environment_name("with_secrets"),
            help="Include passwords. Only the owner of the files can then read them.",
        ),
    ] = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Write a company's records to files, one for each entity set and named after it.

    The files show the company at one point in time, even if it is written to meanwhile. Loaded into
    an empty company, they give equal records. An entity set without records gets no file. No file
    is overwritten.
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
                with progress_bar(entity_set.name) as progress:
                    dumper = Dumper(snapshot, company, form, progress, with_secrets=with_secrets)
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
            f"the folder {folder} cannot be created: {fault.strerror}", "Name another one."
        ) from fault
    for entity_set in MODEL.stored:
        target = dump_file(folder, entity_set, form)
        if target.exists():
            raise file_exists(target)


def copy(
    *,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="URL",
            envvar=environment_name("from"),
            help="The database that contains the companies: `sqlite:///PATH` or "
            "`postgresql://USER@HOST/NAME`.",
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="URL",
            envvar=environment_name("to"),
            help="The database to copy them to. It must have the current schema.",
        ),
    ],
    company: Annotated[
        list[str] | None,
        typer.Option(
            "--company",
            metavar="GUID",
            envvar=environment_name("company"),
            help="A company to copy. May be repeated; by default, all companies.",
            show_default=False,
        ),
    ] = None,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            envvar=environment_name("restart"),
            help="Drop an unfinished copy in the target, and start again.",
        ),
    ] = False,
    config: options.Config = None,
) -> None:
    """Copy companies to another database, with ids, entity tags and the change log.

    A copy is compared with its source row by row, and only then becomes visible in the target.
    After an interrupt, the same command resumes. The source may be in use; at the end, stop its
    writers and repeat the command until it succeeds.
    """
    here, there = (database_settings(each, config) for each in (source, target))
    wanted = options.guids(company)
    if here.database == there.database:
        raise OperatorError(
            "the source and the target are the same database", "Name another one with --to."
        )
    for settings in (here, there):
        need_database(settings)
    run(lambda: _copy(here, there, wanted, restart=restart), resumes=True)


async def _copy(here: Settings, there: Settings, wanted: Sequence[str], *, restart: bool) -> None:
    async with opened(here) as source, opened(there) as target:
        names = await source.company_names()
        companies = [await known_company(source, each) for each in wanted or names]
        with progress_bar("companies") as progress:
            copies = {each.id: Copy(MODEL, source, target, each, progress) for each in companies}
            for each in copies.values():
                await each.check(restart=restart)
            for company_id, each in copies.items():
                _print_copy(f"{names[company_id]} {company_id}", await each.run(restart=restart))


def _print_copy(name: str, report: CopyReport) -> None:
    found = [f"{report.records} records"]
    if report.was_complete:
        found.append("all of them there before")
    elif report.resumed_at:
        found.append(f"{report.resumed_at} of them there before")
    if report.followed:
        found.append(f"{report.followed} changes followed")
    typer.echo(f"{name}: {', '.join(found)}; equal up to change {report.number}")
