"""The file of a backup: a ZIP file with the database, keys, and a manifest with their digests.

It appears under its name only when it is whole. `unzip` reads it too.
"""

import fcntl
import hashlib
import os
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO

import msgspec

from comptoir import __version__
from comptoir.auth.keys import refuse_open
from comptoir.features.backup import errors as problems
from comptoir.store.schema import SERVES
from comptoir.store.snapshot import ShowProgress

FORMAT = 1
DATABASE = "database"
MANIFEST = "manifest.json"
_MIB = 1 << 20

_DRAFT = ".comptoir-backup.part"
_COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_NOT_WHOLE = (zipfile.BadZipFile, zlib.error, KeyError, EOFError, ValueError, RuntimeError)
_LARGEST_MANIFEST = 64 << 20


class CompanyState(msgspec.Struct, frozen=True):
    """A company, and its last change: the number, and the time as in the change log."""

    id: str
    name: str
    incarnation: str
    number: int
    at: str


class Manifest(msgspec.Struct, frozen=True):
    """The contents of a backup. `digests` has the SHA-256 of each entry by its name."""

    format: int
    release: str
    created: str
    engine: str
    revision: str
    companies: Sequence[CompanyState]
    digests: Mapping[str, str]


class Meter:
    """Counts bytes, shows them as MiB, and waits while they are more than a rate allows.

    `expected` is the number of all bytes, 0 if that is not known.
    """

    expected = 0

    def __init__(self, show: ShowProgress, mib_per_second: float | None = None) -> None:
        self._show = show
        self._rate = mib_per_second
        self._began = time.monotonic()
        self._bytes = 0

    def counted(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same chunks, each counted."""
        for chunk in chunks:
            self.add(len(chunk))
            yield chunk

    def add(self, size: int) -> None:
        """Count some more bytes."""
        self._bytes += size
        self._show("so far", self._bytes >> 20, self.expected >> 20)
        if self._rate:
            ends_at = self._began + self._bytes / _MIB / self._rate
            time.sleep(max(0, ends_at - time.monotonic()))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A block in which no other backup or restore writes to a folder, which is then on disk.

    Raises `OSError` for a folder that cannot be used.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise problems.TWO_BACKUPS(folder=folder) from None
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def private_file(path: Path) -> Iterator[BinaryIO]:
    """A new file for its owner only, on disk at the end; replaces one that was left there."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w+b") as file:
        yield file
        file.flush()
        os.fsync(descriptor)


@contextmanager
def written(path: Path) -> Iterator["Writing"]:
    """A backup to write, which appears at a path after a block without errors.

    Raises `OperatorError` if the file exists or has no room, or if others can write to the folder.
    """
    draft = path.parent / _DRAFT
    try:
        if path.exists():
            raise problems.FILE_EXISTS(path=path)
        with locked(path.parent):
            refuse_open(path.parent, path.parent.stat().st_mode, 0o022, "go-w")
            try:
                with (
                    private_file(draft) as file,
                    zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
                ):
                    yield Writing(archive, path)
                draft.rename(path)
            finally:
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise problems.CANNOT_WRITE(path=path, reason=error.strerror) from error


class Writing:
    """Adds entries, and their digests to the manifest."""

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self._archive = archive
        self.path = path
        self._digests: dict[str, str] = {}

    def add(self, name: str, chunks: Iterable[bytes]) -> None:
        """Add an entry; raises `OperatorError` if there is no room for it."""
        try:
            digest = hashlib.sha256()
            with self._archive.open(name, "w", force_zip64=True) as entry:
                for chunk in chunks:
                    entry.write(chunk)
                    digest.update(chunk)
            self._digests[name] = digest.hexdigest()
        except OSError as error:
            raise problems.CANNOT_WRITE(path=self.path, reason=error.strerror) from error

    def end(self, engine: str, revision: str, companies: Sequence[CompanyState], at: str) -> None:
        """Add the manifest."""
        manifest = Manifest(FORMAT, __version__, at, engine, revision, companies, self._digests)
        self._archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))


class Archive:
    """A backup that was checked."""

    def __init__(self, archive: zipfile.ZipFile, manifest: Manifest) -> None:
        self._archive = archive
        self.manifest = manifest

    def database(self, meter: Meter) -> Iterator[bytes]:
        """The content of the database."""
        meter.expected = self._archive.getinfo(DATABASE).file_size
        return meter.counted(_entry(self._archive, DATABASE))

    def files(self, folder: str) -> Iterator[tuple[str, bytes]]:
        """The names of the files in a folder, and the first MiB of each."""
        for name in self.manifest.digests:
            before, _, file = name.rpartition("/")
            if before == folder:
                yield file, b"".join(islice(_entry(self._archive, name), 1))


def chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    """The content of an open file."""
    while chunk := file.read(_MIB):
        yield chunk


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """The backup in a file, whose digests are right; raises `OperatorError`."""
    with ExitStack() as opening:
        try:
            archive = opening.enter_context(zipfile.ZipFile(path))
            if not {each.compress_type for each in archive.infolist()} <= _COMPRESSIONS:
                raise zipfile.BadZipFile("it is compressed in another way")
            with archive.open(MANIFEST) as entry:
                manifest = msgspec.json.decode(entry.read(_LARGEST_MANIFEST), type=Manifest)
            if manifest.format > FORMAT or manifest.revision not in SERVES:
                raise problems.NEWER_BACKUP(path=path, release=manifest.release, own=__version__)
            for name, digest in {DATABASE: "", **manifest.digests}.items():
                if _digest(_entry(archive, name)) != digest:
                    raise zipfile.BadZipFile(f"{name} does not have its digest")
        except OSError as error:
            raise problems.NOT_A_BACKUP(path=path, reason=error.strerror) from error
        except _NOT_WHOLE as error:
            raise problems.NOT_A_BACKUP(path=path, reason=error) from error
        yield Archive(archive, manifest)


def _entry(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """The content of an entry, a MiB at a time."""
    with archive.open(name) as entry:
        yield from chunks_of(entry)


def _digest(chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()
