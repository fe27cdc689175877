"""`comptoir backup` and `comptoir restore`: one file with all data, and the way back."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from comptoir.cli.keys import key_path
from comptoir.cli.options import PATH, YES, settings_options
from comptoir.cli.runner import answer, need_file, shown_progress
from comptoir.config import Settings
from comptoir.edm.times import instant
from comptoir.features.backup import errors as problems
from comptoir.features.backup.archive import CompanyState, Engine, Meter, opened, written
from comptoir.features.backup.keys import SavedKeys, passphrase_in, saved
from comptoir.features.backup.sqlite_file import SqliteFile
from comptoir.store.urls import is_postgres, redacted

_NAME = "comptoir-"
_TIME = "%Y%m%dT%H%M%SZ"
_NAMES = f"{_NAME}{'[0-9]' * 8}T{'[0-9]' * 6}Z.zip"
_PASSPHRASE = click.option(
    "--passphrase-file",
    type=PATH,
    metavar="PATH",
    help="A file with a passphrase in its first line, which encrypts the private keys. Without it, "
    "they are left out.",
)


@click.command()
@click.argument(
    "path", metavar="FILE", type=PATH, help="The file to write, or a folder for --keep."
)
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="Name the file after the time, in the folder FILE, and remove its backups but the last N.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MIB",
    help="The most MiB that are read and written in a second.",
)
@_PASSPHRASE
@settings_options("database", "keys")
def backup(
    settings: Settings,
    path: Path,
    keep: int | None,
    rate: float | None,
    passphrase_file: Path | None,
) -> None:
    """Write the database and the public keys to one file, while services run.

    The file appears when it is whole, and only its owner can read it. It has all companies as they
    are at one moment, clients, and the catalog, and a digest of each part.
    """
    need_file(settings)
    passphrase = None if passphrase_file is None else passphrase_in(passphrase_file)
    folder, engine, now = key_path(settings), _engine(settings), datetime.now(UTC)
    file = path / f"{_NAME}{now:{_TIME}}.zip" if keep else path
    with shown_progress("MiB") as show, written(file) as writing:
        revision, companies = engine.back_up(writing, Meter(show, rate))
        for name, content in saved(folder, passphrase):
            writing.add(name, [content])
        writing.end(engine.name, revision, companies, instant(now))
    # the new one stays, even if the clock has been set back
    for each in sorted({*path.glob(_NAMES)} - {file})[: 1 - keep or None] if keep else ():
        each.unlink()
        click.echo(f"removed: {each}")
    for company in companies:
        click.echo(f"{company.name} {company.id}: up to change {company.number}")
    click.echo(f"{file.stat().st_size / (1 << 20):.1f} MiB\n{file}")


@click.command()
@click.argument("path", metavar="FILE", type=PATH, help="A file of `comptoir backup`.")
@click.option(
    "--replace",
    is_flag=True,
    help="Move the present database aside. The command says what that has more, and asks.",
)
@YES
@_PASSPHRASE
@settings_options("database", "keys")
def restore(
    settings: Settings, path: Path, replace: bool, yes: bool, passphrase_file: Path | None
) -> None:
    """Bring back the database of a backup, and the keys that are missing.

    All companies get new incarnations, so that no entity tag or delta link that clients have from
    changes after the backup matches other contents. Stop the services first.
    """
    engine = _engine(settings)
    with opened(path) as archive:
        manifest, url = archive.manifest, redacted(settings.database)
        if manifest.engine != engine.name:
            raise problems.OTHER_ENGINE(path=path, engine=manifest.engine, url=url)
        keys, suffix = SavedKeys(archive, passphrase_file), f"replaced-{datetime.now(UTC):{_TIME}}"
        present = engine.present()
        if present is not None:
            if not replace:
                raise problems.NOT_EMPTY(url=url)
            for line in _newer(present, {each.id: each for each in manifest.companies}):
                click.echo(line)
            _confirm(f"{url} with the backup of {manifest.created}", yes=yes)
        for name in keys.restore(Path(settings.keys)):
            click.echo(f"key: {name}")
        with shown_progress("MiB") as show:
            engine.restore(archive, Meter(show), suffix)
    for company in manifest.companies:
        click.echo(f"{company.name} {company.id}: as after change {company.number}, renewed")
    if present is not None:
        click.echo(f"The former database is kept as {suffix}.")


def _engine(settings: Settings) -> Engine:
    if not is_postgres(settings.database):
        return SqliteFile(settings)
    from comptoir.features.backup.server import Server  # noqa: PLC0415 - imports asyncpg

    return Server(settings)


def _newer(
    present: Sequence[CompanyState], saved_ones: Mapping[str, CompanyState]
) -> Iterator[str]:
    """What a database has more than a backup, a line for each company."""
    if not present:
        yield "The present database has no company that can be read."
    for each in present:
        former = saved_ones.get(each.id)
        if former is None:
            yield f"{each.name} {each.id}: is not in the backup"
        elif each.number > former.number:
            count = each.number - former.number
            yield f"{each.name} {each.id}: {count} changes since {former.at} are not in the backup"


def _confirm(what: str, *, yes: bool) -> None:
    question = f"Replace {what}? Type replace: "
    if not yes and answer(question, noun="replacement", verb="replace it") != "replace":
        raise problems.NOT_CONFIRMED()
