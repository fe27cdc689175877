"""`comptoir load`, `comptoir dump` and `comptoir copy`: move companies in bulk."""

import csv
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click
import msgspec

from comptoir.auth.fields import guids
from comptoir.cli.options import (
    COMPANY,
    PATH,
    checked,
    option_or_variable,
    setting_options,
    settings_options,
)
from comptoir.cli.runner import (
    known_company,
    need_database,
    opened,
    run,
    shown_progress,
    store_command,
    use_store,
)
from comptoir.config import Settings, load_settings
from comptoir.edm.model import Company, EntitySet, Model, Property
from comptoir.edm.numbers import Number
from comptoir.edm.types import TEXT_LENGTH, CodeText, PrimitiveType
from comptoir.errors.messages import quoted, suggestion
from comptoir.features.transfer import errors as problems
from comptoir.features.transfer.copy import Copy, CopyReport
from comptoir.features.transfer.files import SUFFIXES, FileSource
from comptoir.features.transfer.load import ERRORS_KEPT, LoadReport, load_source
from comptoir.plan.read import Row
from comptoir.store.snapshot import ShowProgress, Snapshot, open_snapshot
from comptoir.store.store import Store

_COUNTS = "rows", "inserted", "updated", "unchanged", "refused"
_SUFFIXES = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


@click.command()
@click.argument(
    "paths",
    metavar="PATH…",
    type=PATH,
    nargs=-1,
    required=True,
    help="Files, or folders of files, each named after its entity set: contactsExt.csv, .ndjson, "
    ".json or .parquet.",
)
@COMPANY
@option_or_variable(
    "--keep-good",
    is_flag=True,
    help="Write the valid rows of a file that has errors. By default, nothing of such a file is "
    "written.",
)
@settings_options("database")
def load(settings: Settings, paths: Sequence[Path], company_id: str, keep_good: bool) -> None:
    """Load files into a company. Each file is checked completely before it is written.

    A row matches a record by the key if the file has that column, else by the entity type's unique
    rule. A row that matches updates its record; any other row is inserted. An update does not
    change properties for which the file has no column. After an interrupt, the same command
    resumes.
    """
    model = need_database(settings)
    files = find_files(paths, model)

    async def load_files(store: Store) -> list[LoadReport]:
        reports: list[LoadReport] = []
        company = await known_company(store, company_id)
        for entity_set, path in files.items():
            with shown_progress() as progress:
                report = await load_source(
                    store,
                    company,
                    FileSource(path),
                    entity_set,
                    progress,
                    keep_good=keep_good,
                    longest_text=settings.body_bytes,
                )
            _print_load(str(path), report)
            reports.append(report)
        return reports

    reports = use_store(settings, load_files, model, resumes=True)
    click.echo(f"total: {_summary(reports)}")
    if not all(each.written for each in reports):
        click.get_current_context().exit(1)


def _print_load(name: str, report: LoadReport) -> None:
    for error in report.errors:
        place = ":".join([name, *([str(error.line)] if error.line else [])])
        column = f"{error.column}: " if error.column else ""
        click.echo(f"{place}: {column}{error.reason}", err=True)
    if len(report.errors) == ERRORS_KEPT and report.refused > ERRORS_KEPT:
        click.echo(f"{name}: {report.refused} lines are refused; the first are shown.", err=True)
    resumed = f", resumed at row {report.resumed_at}" if report.resumed_at else ""
    click.echo(f"{name}: {_summary([report])}{resumed}")


def _summary(reports: Sequence[LoadReport]) -> str:
    """The sums of some reports in words."""
    rows, *counts = (f"{sum(getattr(each, name) for each in reports)} {name}" for name in _COUNTS)
    unwritten = "" if any(each.written for each in reports) else "; nothing was written"
    return f"{rows}: {', '.join(counts)}{unwritten}"


def find_files(paths: Iterable[Path], model: Model) -> dict[EntitySet, Path]:
    """The named files and those in the named folders, by the entity set that they are named after.

    Files in a folder that cannot be loaded are left out. Raises `OperatorError` for a path that
    does not exist, a file that is not named after an entity set, a folder without files to load,
    and two files for one entity set.
    """
    found: dict[EntitySet, Path] = {}
    for path in paths:
        for each in _files_at(path):
            entity_set = _entity_set(each, model)
            other = found.setdefault(entity_set, each)
            if other is not each:
                raise problems.TWO_FILES(first=other, second=each, entity_set=entity_set.name)
    return found


def _files_at(path: Path) -> list[Path]:
    if not path.is_dir():
        if not path.exists():
            raise problems.NO_FILE(path=path)
        if not path.is_file():
            raise problems.NOT_A_FILE(path=path)
        if path.suffix not in SUFFIXES:
            raise problems.UNKNOWN_FORMAT(path=path, suffixes=_SUFFIXES)
        return [path]
    try:
        listed = sorted(path.iterdir())
    except OSError as error:
        raise problems.UNREADABLE_FOLDER(folder=path, reason=error.strerror) from error
    # a name with a leading dot is a draft or a file of the operating system
    found = [
        each
        for each in listed
        if each.suffix in SUFFIXES and not each.name.startswith(".") and each.is_file()
    ]
    if not found:
        raise problems.EMPTY_FOLDER(folder=path, suffixes=_SUFFIXES)
    return found


def _entity_set(path: Path, model: Model) -> EntitySet:
    stored = {each.name: each for each in model.stored}
    entity_set = stored.get(path.stem)
    if entity_set is not None:
        return entity_set
    if path.stem in model.by_name:
        raise problems.NO_OWN_RECORDS(path=path, entity_set=path.stem, known=", ".join(stored))
    raise problems.NOT_AN_ENTITY_SET(
        suggested=suggestion(path.stem, stored),
        path=path,
        name=quoted(path.stem),
        known=", ".join(stored),
    )


WriteRow = Callable[[Row], None]


def dump_file(folder: Path, entity_set: EntitySet, file_format: str) -> Path:
    """The file that an entity set is written to, named after it."""
    return folder / f"{entity_set.name}.{file_format}"


@click.command()
@click.argument("folder", metavar="DIR", type=PATH, help="The folder of the files.")
@COMPANY
@option_or_variable(
    "--format",
    "form",
    type=click.Choice(["ndjson", "csv"], case_sensitive=False),
    default="ndjson",
    help="The format of the files.",
)
@option_or_variable(
    "--with-secrets",
    is_flag=True,
    help="Include passwords. Only the owner of the files can then read them.",
)
@store_command
async def dump(store: Store, folder: Path, company_id: str, form: str, with_secrets: bool) -> None:
    """Write a company's records to files, one for each entity set and named after it.

    The files show the company at one point in time, even if it is written to meanwhile. Loaded into
    an empty company, they give equal records. An entity set without records gets no file. No file
    is overwritten.
    """
    company = await known_company(store, company_id)
    stored = store.statements.model.stored
    _prepare(folder, form, stored)
    files = records = 0
    async with open_snapshot(store) as snapshot:
        for entity_set in stored:
            target = dump_file(folder, entity_set, form)
            with shown_progress() as progress:
                count = await dump_records(
                    snapshot, company, entity_set, target, progress, with_secrets=with_secrets
                )
            if count:
                files += 1
                records += count
                click.echo(f"{target}: {count} records")
    click.echo(f"{records} records in {files} files")


def _prepare(folder: Path, form: str, stored: Sequence[EntitySet]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise problems.NO_NEW_FOLDER(folder=folder, reason=error.strerror) from error
    for entity_set in stored:
        target = dump_file(folder, entity_set, form)
        if target.exists():
            raise problems.FILE_EXISTS(path=target)


async def dump_records(
    snapshot: Snapshot,
    company: Company,
    entity_set: EntitySet,
    target: Path,
    show_progress: ShowProgress,
    *,
    with_secrets: bool,
) -> int:
    """Write the records of a company's set in a snapshot to a file, whole or not at all.

    Returns the number of records; a set without records gets no file. Secret properties are left
    out unless `with_secrets`; then only the owner of the file can read it. Raises `OperatorError`
    if the file exists or cannot be written.
    """
    total = await snapshot.count(entity_set.name, company.id)
    if not total:
        return 0
    written = [
        (at, each)
        for at, each in enumerate(entity_set.type.properties, start=1)
        if with_secrets or not each.secret
    ]
    writer = _csv_writer if target.suffix == ".csv" else _ndjson_writer
    with _new_file(target, 0o600 if with_secrets else 0o666) as file:
        write = writer(file, written)
        count = 0
        async for rows in snapshot.rows(entity_set.name, company.id):
            for row in rows:
                write(row)
            count += len(rows)
            show_progress(f"writing {entity_set.name}", count, total)
    return count


@contextmanager
def _new_file(path: Path, mode: int) -> Iterator[TextIO]:
    """A file to write, which appears at a path after a block without errors."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                yield file
                file.flush()
                os.fsync(descriptor)
            if path.exists():
                raise problems.FILE_EXISTS(path=path)
            draft.rename(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise problems.CANNOT_WRITE(path=path, reason=error.strerror) from error


def _csv_writer(file: TextIO, written: Sequence[tuple[int, Property]]) -> WriteRow:
    # Python before 3.13 does not quote a bare CR unless everything is quoted
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow([each.name for _, each in written])

    def write(row: Row) -> None:
        writer.writerow([each.type.to_text(row[at]) for at, each in written])

    return write


def _ndjson_writer(file: TextIO, written: Sequence[tuple[int, Property]]) -> WriteRow:
    encode = msgspec.json.Encoder().encode
    kept = [(at, each.name, each.type.to_wire) for at, each in written]

    def write(row: Row) -> None:
        record = {
            name: row[at] if to_wire is None else to_wire(row[at]) for at, name, to_wire in kept
        }
        file.write(encode(record).decode())
        file.write("\n")

    return write


@click.command()
@option_or_variable(
    "--from",
    "source",
    metavar="URL",
    required=True,
    help="The database that contains the companies: `sqlite:///PATH` or "
    "`postgresql://USER@HOST/NAME`.",
)
@option_or_variable(
    "--to",
    "target",
    metavar="URL",
    required=True,
    help="The database to copy them to. It must have the current schema.",
)
@option_or_variable(
    "--company",
    "wanted",
    metavar="GUID",
    multiple=True,
    callback=checked(guids),
    help="A company to copy. May be repeated; by default, all companies.",
)
@option_or_variable(
    "--restart", is_flag=True, help="Drop an unfinished copy in the target, and start again."
)
@setting_options()
def copy(
    source: str, target: str, wanted: Sequence[str] | None, restart: bool, config: str | None
) -> None:
    """Copy companies to another database, with ids, entity tags and the change log.

    A copy is compared with its source row by row, and only then becomes visible in the target. If
    the target has another catalog, sets and properties that it lacks are left out. After an
    interrupt, the same command resumes. The source may be in use; at the end, stop its writers and
    repeat the command until it succeeds.
    """
    here, there = (load_settings({"database": each, "config": config}) for each in (source, target))
    if here.database == there.database:
        raise problems.SAME_DATABASE()
    model, other = need_database(here), need_database(there)
    if misfits := list(_misfits(model, other)):
        raise problems.MISFITS(misfits="; ".join(misfits))

    async def copy_all() -> None:
        async with opened(here, model) as ours, opened(there, other) as theirs:
            names = await ours.company_names()
            companies = [await known_company(ours, each) for each in wanted or names]
            with shown_progress() as progress:
                copies = {each.id: Copy(ours, theirs, each, progress) for each in companies}
                for each in copies.values():
                    await each.check(restart=restart)
                for company_id, each in copies.items():
                    name = f"{names[company_id]} {company_id}"
                    _print_copy(name, await each.run(restart=restart))

    run(copy_all, resumes=True)


def _misfits(source: Model, target: Model) -> Iterator[str]:
    """What records of a source may have and a target with another catalog does not accept."""
    for theirs in target.stored:
        ours = source.by_name.get(theirs.name)
        if ours is None:
            continue
        if ours.type.key != theirs.type.key:
            yield f"{theirs.name} has the key {theirs.type.key} and not {ours.type.key}"
        for each in theirs.type.properties:
            own = ours.type.by_name.get(each.name)
            if own is not None and not _fits(own.type, each.type):
                types = f"{_title(each.type)} and not {_title(own.type)}"
                yield f"{theirs.name}.{each.name} is {types}"
        known = [(each.properties, each.blank_is_free) for each in ours.type.unique]
        for rule in theirs.type.unique:
            if (rule.properties, rule.blank_is_free) not in known:
                yield f"{theirs.name} has the alternate key {rule.name}"


def _fits(own: PrimitiveType, wanted: PrimitiveType) -> bool:
    """Whether a type has every value of another one."""
    unlimited = TEXT_LENGTH + 1
    limits = wanted.facets.items()
    if isinstance(own, Number) and isinstance(wanted, Number):
        fits = wanted.least <= own.least and own.most <= wanted.most
    else:
        fits = isinstance(own, CodeText) or not isinstance(wanted, CodeText)
    is_same = fits and own.edm_name == wanted.edm_name
    return is_same and all(own.facets.get(name, unlimited) <= limit for name, limit in limits)


def _title(each: PrimitiveType) -> str:
    bounds = [f"{term} {bound}" for term, bound in each.bounds.items()]
    code = ["code"] if isinstance(each, CodeText) else []
    facets = ",".join([*map(str, each.facets.values()), *bounds, *code])
    return f"{each.edm_name}({facets})" if facets else each.edm_name


def _print_copy(name: str, report: CopyReport) -> None:
    found = [f"{report.records} records"]
    if report.was_complete:
        found.append("all of them there before")
    elif report.resumed_at:
        found.append(f"{report.resumed_at} of them there before")
    if report.followed:
        found.append(f"{report.followed} changes followed")
    click.echo(f"{name}: {', '.join(found)}; equal up to change {report.number}")
    for what, count in report.left_out.items():
        click.echo(f"left out, since the target does not have it: {what} of {count} records")
