"""The folder of the keys, which is read again while the service runs.

`signing-key.pem` signs until the time of the first `signing-key.TIME.pem`, and each of these until
the time of the next. Every `*.pub.pem` is trusted too, such as the key of a foreign issuer.
"""

import logging
import os
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from comptoir.auth.keys import (
    KeyRing,
    SigningKey,
    VerificationKey,
    create_private,
    create_signing_key,
    read_public_key,
    read_signing_key,
    refuse_open,
    ring_at,
)
from comptoir.edm.times import Clock
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import time_text
from comptoir.errors.refusal import OperatorError

SIGNING_KEY_FILE = "signing-key.pem"
PUBLIC_KEY_SUFFIX = ".pub.pem"
_SUCCESSOR = re.compile(r"signing-key\.(\d{8}T\d{6}Z)\.pem", re.ASCII)
_TIME = "%Y%m%dT%H%M%SZ"

_log = logging.getLogger(__name__)

_Version = tuple[int, ...]
"""Fingerprint of a file (times, size, inode)."""


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the folder as it was read; `key` is None if it cannot be used."""

    version: _Version
    key: SigningKey | VerificationKey | None


class KeyFolder:
    """The keys of a folder, for use in one event loop only.

    Each `reload` reads the files that have changed. A file that cannot be used is logged once and
    left out. While none is left that signs, or the folder cannot be read, the former keys remain.
    """

    def __init__(self, folder: Path, clock: Clock = time.time) -> None:
        """Read all files; creates the folder and a signing key on first use.

        Processes that start at the same time end up with the same signing key. Raises
        `OperatorError` for a folder that the service cannot write to or others can, a private key
        that others can read, and a file without a usable key.
        """
        self._folder = folder
        self._clock = clock
        self._fault = ""
        try:
            create_private(folder)
            versions = self._versions()
            if all(name.endswith(PUBLIC_KEY_SUFFIX) for name in versions):
                create_signing_key(folder / SIGNING_KEY_FILE)
                versions = self._versions()
            self._files: Mapping[str, _File] = {
                name: _File(version, self._read(name)) for name, version in versions.items()
            }
        except OSError as error:
            raise problems.UNUSABLE_KEY_FOLDER(folder=folder, reason=error.strerror) from error
        self._ring = self._followed = self._ring_now()

    @property
    def ring(self) -> KeyRing:
        """The keys of this moment, from the files at the last `reload`."""
        if self._clock() >= self._ring.changes_at and self.signing_keys:
            self._ring = self._ring_now()
        return self._ring

    @property
    def signing_keys(self) -> Sequence[SigningKey]:
        """The keys that sign, also ended ones, in the order of their starts."""
        keys = [each.key for each in self._files.values() if isinstance(each.key, SigningKey)]
        return sorted(keys, key=lambda each: (each.starts_at, each.name))

    @property
    def public_keys(self) -> Mapping[str, VerificationKey]:
        """The keys of the `*.pub.pem` files by their names without the suffix."""
        return {
            name.removesuffix(PUBLIC_KEY_SUFFIX): each.key
            for name, each in self._files.items()
            if each.key is not None and not isinstance(each.key, SigningKey)
        }

    def own(self, kid: str) -> VerificationKey | None:
        """The key with which this service signs tokens under a `kid`."""
        return self.ring.own.get(kid) or self._looked().own.get(kid)

    def trusted(self, kid: str) -> VerificationKey | None:
        """The trusted key with a `kid`, which is its thumbprint (RFC 7638).

        For a `*.pub.pem` it may also be the name of the file without the suffix, because some
        issuers choose a `kid` of their own.
        """
        return self.ring.trusted.get(kid) or self._looked().trusted.get(kid)

    def reload(self) -> None:
        """Read the files that have changed since the last `reload`."""
        try:
            versions = self._versions()
        except OSError as error:
            self._report(problems.UNUSABLE_KEY_FOLDER(folder=self._folder, reason=error.strerror))
            return
        except OperatorError as error:
            self._report(error)
            return
        self._fault = ""
        if versions == {name: each.version for name, each in self._files.items()}:
            return
        self._files = {name: self._again(name, version) for name, version in versions.items()}
        if self.signing_keys:
            self._ring = self._ring_now()
        else:
            _log.warning("the former keys remain in use: %s has no key that signs", self._folder)

    def withdrawn(self) -> Collection[VerificationKey]:
        """Look at the folder; returns the keys that are no longer trusted since the last look."""
        self.reload()
        former, self._followed = self._followed, self.ring
        if self._followed is former:
            return ()
        trusted = list(self._followed.trusted.values())
        return [each for each in former.trusted.values() if each not in trusted]

    def add_signing_key(self, starts_at: datetime) -> SigningKey:
        """Create the key that signs from a time on, in whole seconds.

        Raises `OperatorError` if a key starts then or later: the new one would not sign.
        """
        last = self.signing_keys[-1]
        if starts_at.timestamp() <= last.starts_at:
            raise problems.KEY_STARTS_EARLIER(name=last.name, time=time_text(last.starts_at))
        path = self._folder / f"signing-key.{starts_at.astimezone(UTC):{_TIME}}.pem"
        create_signing_key(path)
        return read_signing_key(path, _starts_at(path))

    def _looked(self) -> KeyRing:
        # another process may sign already with a key that this one has not seen
        self.reload()
        return self.ring

    def _again(self, name: str, version: _Version) -> _File:
        """A file, read again if it has changed."""
        former = self._files.get(name)
        if former is not None and former.version == version:
            return former
        try:
            return _File(version, self._read(name))
        except (OperatorError, OSError) as error:
            _log.warning("a file of the key directory is left out: %s", error)
            return _File(version, None)

    def _report(self, fault: OperatorError) -> None:
        if str(fault) != self._fault:
            self._fault = str(fault)
            _log.warning("the former keys remain in use: %s", fault)

    def _ring_now(self) -> KeyRing:
        return ring_at(self._clock(), self.signing_keys, self.public_keys)

    def _versions(self) -> Mapping[str, _Version]:
        """The versions of the files with keys; raises `OperatorError` if others can add some."""
        refuse_open(self._folder, self._folder.stat().st_mode, 0o022, "go-w")
        with os.scandir(self._folder) as entries:
            return {each.name: _version(each) for each in entries if _has_key(each.name)}

    def _read(self, name: str) -> SigningKey | VerificationKey:
        path = self._folder / name
        if name.endswith(PUBLIC_KEY_SUFFIX):
            return read_public_key(path)
        return read_signing_key(path, _starts_at(path))


def load_keys(folder: Path) -> KeyRing:
    """The keys of a folder at this moment; creates and raises like `KeyFolder`."""
    return KeyFolder(folder).ring


def _has_key(name: str) -> bool:
    return (
        name == SIGNING_KEY_FILE
        or _SUCCESSOR.fullmatch(name) is not None
        or name.endswith(PUBLIC_KEY_SUFFIX)
    )


def _starts_at(path: Path) -> float:
    """The time in the name of a signing key's file in epoch seconds, 0 without one."""
    match = _SUCCESSOR.fullmatch(path.name)
    if match is None:
        return 0.0
    try:
        return datetime.strptime(match[1], _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise problems.UNUSABLE_FILE(path=path, expected="a time in its name") from None


def _version(entry: os.DirEntry[str]) -> _Version:
    try:
        found = entry.stat()
    except FileNotFoundError:
        # a link to nothing, which cannot be read either
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
