"""`comptoir backup` and `comptoir restore`: one file with all data, and the way back."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from comptoir.auth.keys import (
    PUBLIC_KEY_SUFFIX,
    KeyFolder,
    create_private,
    drafted,
    private_pem,
    read,
    read_private_key,
)
from comptoir.cli.keys import key_path
from comptoir.cli.options import PATH, YES, settings_options
from comptoir.cli.runner import answer, need_file, shown_progress, warn
from comptoir.config import Settings
from comptoir.edm.times import instant
from comptoir.errors.operator_rows import UNREADABLE
from comptoir.features.backup import errors as problems
from comptoir.features.backup.archive import Archive, CompanyState, Meter, opened, written
from comptoir.features.backup.databases import Server, SqliteFile
from comptoir.store.urls import is_postgres, redacted

_NAME = "comptoir-"
_TIME = "%Y%m%dT%H%M%SZ"
_NAMES = f"{_NAME}{'[0-9]' * 8}T{'[0-9]' * 6}Z.zip"
_ANOTHER_FILE = "Name a file with a passphrase in its first line."
_LONGEST_PASSPHRASE = 1023
"""The most bytes that OpenSSL accepts."""
_PUBLIC = "keys"
_PRIVATE = "private-keys"
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
    passphrase = None if passphrase_file is None else _passphrase_in(passphrase_file)
    folder, engine, now = key_path(settings), _engine(settings), datetime.now(UTC)
    file = path / f"{_NAME}{now:{_TIME}}.zip" if keep else path
    with shown_progress("MiB") as show, written(file) as writing:
        revision, companies = engine.back_up(writing, Meter(show, rate))
        for name, content in _saved_keys(folder, passphrase):
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
        private = _private_keys(archive, passphrase_file) if passphrase_file else {}
        suffix = f"replaced-{datetime.now(UTC):{_TIME}}"
        present = engine.present()
        if present is not None:
            if not replace:
                raise problems.NOT_EMPTY(url=url)
            for line in _newer(present, {each.id: each for each in manifest.companies}):
                click.echo(line)
            question = f"Replace {url} with the backup of {manifest.created}? Type replace: "
            if not yes and answer(question, noun="replacement", verb="replace it") != "replace":
                raise problems.NOT_CONFIRMED()
        for name in _restore_keys(archive, private, Path(settings.keys)):
            click.echo(f"key: {name}")
        with shown_progress("MiB") as show:
            engine.restore(archive, Meter(show), suffix)
    for company in manifest.companies:
        click.echo(f"{company.name} {company.id}: as after change {company.number}, renewed")
    if present is not None:
        click.echo(f"The former database is kept as {suffix}.")


def _engine(settings: Settings) -> Server | SqliteFile:
    return Server(settings) if is_postgres(settings.database) else SqliteFile(settings)


def _newer(
    present: Sequence[CompanyState], saved_ones: Mapping[str, CompanyState]
) -> Iterator[str]:
    """The changes that a database has more than a backup, a line for each company."""
    if not present:
        yield "The present database has no company that can be read."
    for each in present:
        former = saved_ones.get(each.id)
        if former is None:
            yield f"{each.name} {each.id}: is not in the backup"
        elif each.number > former.number:
            count = each.number - former.number
            yield f"{each.name} {each.id}: {count} changes since {former.at} are not in the backup"


def _passphrase_in(path: Path) -> bytes:
    """The first line of a file that only its owner can read; raises `OperatorError`."""
    try:
        lines = read(path, 0o077, "go-rwx").splitlines()
    except OSError as error:
        raise UNREADABLE(path=path, reason=error.strerror, remedy=_ANOTHER_FILE) from error
    if not lines or not lines[0].strip() or len(lines[0]) > _LONGEST_PASSPHRASE:
        raise problems.BLANK_PASSPHRASE(path=path)
    return lines[0]


def _saved_keys(folder: Path, passphrase: bytes | None) -> Iterator[tuple[str, bytes]]:
    """The entries of a backup with the keys of a folder.

    Of the keys that sign, those whose tokens are accepted now have a public part. With a
    passphrase, it encrypts all private ones.
    """
    keys = KeyFolder(folder)
    for name in keys.public_keys:
        file = f"{name}{PUBLIC_KEY_SUFFIX}"
        yield f"{_PUBLIC}/{file}", (folder / file).read_bytes()
    for each in keys.signing_keys:
        private = read_private_key(folder / each.name)
        if each.kid in keys.ring.own:
            yield f"{_PUBLIC}/{Path(each.name).stem}{PUBLIC_KEY_SUFFIX}", _public(private)
        if passphrase is not None:
            encryption = BestAvailableEncryption(passphrase)
            pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
            yield f"{_PRIVATE}/{each.name}", pem


def _private_keys(archive: Archive, passphrase_file: Path) -> Mapping[str, bytes]:
    """The private keys of a backup, decrypted; raises `OperatorError` if they cannot be."""
    found = {}
    passphrase = _passphrase_in(passphrase_file)
    for name, pem in archive.files(_PRIVATE):
        try:
            private = load_pem_private_key(pem, passphrase)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise problems.WRONG_PASSPHRASE(path=passphrase_file) from None
        if isinstance(private, EllipticCurvePrivateKey) and isinstance(private.curve, SECP256R1):
            found[name] = private_pem(private)
    if not found:
        raise problems.NO_PRIVATE_KEYS()
    return found


def _restore_keys(archive: Archive, private: Mapping[str, bytes], folder: Path) -> list[str]:
    """Add the keys that a folder lacks; returns the names of their files.

    The public part of a key that signs here stays out: it would be trusted for ever.
    """
    try:
        create_private(folder)
        added = _add_keys(folder, private, 0o600)
        signing = KeyFolder(folder).signing_keys
        own = {_public(read_private_key(folder / each.name)) for each in signing}
        public = {name: pem for name, pem in archive.files(_PUBLIC) if pem not in own}
        return added + _add_keys(folder, public, 0o644)
    except OSError as error:
        raise problems.CANNOT_WRITE(path=folder, reason=error.strerror) from error


def _public(private: EllipticCurvePrivateKey) -> bytes:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _add_keys(folder: Path, files: Mapping[str, bytes], mode: int) -> list[str]:
    added = []
    for name, content in files.items():
        path = folder / name
        if not path.exists():
            with drafted(path, content, mode) as draft, suppress(FileExistsError):
                os.link(draft, path)
                added.append(name)
        elif path.read_bytes() != content:
            warn(str(problems.OTHER_KEY(path=path)))
    return added
