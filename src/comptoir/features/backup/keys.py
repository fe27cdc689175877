"""The keys of a backup: the public parts, and on request the private ones, encrypted."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

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
from comptoir.cli.runner import warn
from comptoir.errors.operator_rows import UNREADABLE
from comptoir.features.backup import errors as problems
from comptoir.features.backup.archive import Archive

_ANOTHER_FILE = "Name a file with a passphrase in its first line."
_LONGEST_PASSPHRASE = 1023
"""The most bytes that OpenSSL accepts."""
_PUBLIC = "keys"
_PRIVATE = "private-keys"


def passphrase_in(path: Path) -> bytes:
    """The first line of a file that only its owner can read; raises `OperatorError`."""
    try:
        lines = read(path, 0o077, "go-rwx").splitlines()
    except OSError as error:
        raise UNREADABLE(path=path, reason=error.strerror, remedy=_ANOTHER_FILE) from error
    if not lines or not lines[0].strip() or len(lines[0]) > _LONGEST_PASSPHRASE:
        raise problems.BLANK_PASSPHRASE(path=path)
    return lines[0]


def saved(folder: Path, passphrase: bytes | None) -> Iterator[tuple[str, bytes]]:
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


class SavedKeys:
    """The keys of a backup, decrypted; raises `OperatorError` without the right passphrase."""

    def __init__(self, archive: Archive, passphrase_file: Path | None) -> None:
        self._public = dict(archive.files(_PUBLIC))
        self._private: dict[str, bytes] = {}
        if passphrase_file is None:
            return
        passphrase = passphrase_in(passphrase_file)
        for name, pem in archive.files(_PRIVATE):
            try:
                private = load_pem_private_key(pem, passphrase)
            except (ValueError, TypeError, UnsupportedAlgorithm):
                raise problems.WRONG_PASSPHRASE(path=passphrase_file) from None
            if isinstance(private, EllipticCurvePrivateKey) and isinstance(
                private.curve, SECP256R1
            ):
                self._private[name] = private_pem(private)
        if not self._private:
            raise problems.NO_PRIVATE_KEYS()

    def restore(self, folder: Path) -> list[str]:
        """Add those that a folder lacks; returns the names of their files.

        The public part of a key that signs here stays out: it would be trusted for ever.
        """
        try:
            return self._restored(folder)
        except OSError as error:
            raise problems.CANNOT_WRITE(path=folder, reason=error.strerror) from error

    def _restored(self, folder: Path) -> list[str]:
        create_private(folder)
        added = _add(folder, self._private, 0o600)
        own = {
            _public(read_private_key(folder / each.name)) for each in KeyFolder(folder).signing_keys
        }
        public = {name: pem for name, pem in self._public.items() if pem not in own}
        return added + _add(folder, public, 0o644)


def _public(private: EllipticCurvePrivateKey) -> bytes:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _add(folder: Path, files: Mapping[str, bytes], mode: int) -> list[str]:
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
