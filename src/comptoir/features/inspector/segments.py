"""The files of the records: two segments for each process, in a private folder of the service."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import msgspec

from comptoir.features.inspector.record import ExchangeRecord, Head

FOLDER = "COMPTOIR_INSPECTOR_FOLDER"
"""The environment variable by which the workers of a service share their folder."""

_PREFIX = "comptoir-inspector-"
_LOCK = "lock"
_SUFFIX = ".segment"
_HEAD = msgspec.json.Decoder(Head)
_RECORD = msgspec.json.Decoder(ExchangeRecord)
_encode = msgspec.json.Encoder().encode


class SegmentWriter:
    """Appends records to the newer of two segments; when that is full, the older one is deleted.

    A segment is full when it has `requests` records, or `size` bytes.
    """

    def __init__(self, folder: Path, requests: int, size: int) -> None:
        self._folder = folder
        self._requests = requests
        self._size = size
        self._number = -1
        self._descriptor: int | None = None
        self._records = self._bytes = 0

    def append(self, record: ExchangeRecord) -> None:
        """Append a record, which is kept if it fits into a segment; raises `OSError`."""
        line = _encode(record) + b"\n"
        descriptor, is_full = self._descriptor, self._records >= self._requests
        if descriptor is None or is_full or self._bytes + len(line) > self._size:
            descriptor = self._rotated()
        self._records += 1
        self._bytes += len(line)
        if os.write(descriptor, line) < len(line):
            # the disk is full; readers ignore what follows a line without an end
            self._records = self._requests

    def close(self) -> None:
        """Close the segment."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _rotated(self) -> int:
        """The descriptor of the next segment."""
        self.close()
        self._number += 1
        self._path(self._number - 2).unlink(missing_ok=True)
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        self._records = self._bytes = 0
        self._descriptor = os.open(self._path(self._number), flags, 0o600)
        return self._descriptor

    def _path(self, number: int) -> Path:
        return self._folder / f"{os.getpid()}-{number}{_SUFFIX}"


class _Line(NamedTuple):
    """The head of a record, and where its line begins and ends in a segment."""

    head: Head
    start: int
    end: int


class SegmentReader:
    """Reads the records of all processes that share a folder; each call reads what was added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segments: dict[Path, list[_Line]] = {}
        """What was read of each segment."""
        self._lock = Lock()

    def newest(self, most: int, wanted: Callable[[Head], bool]) -> Sequence[Head]:
        """The newest heads that are wanted, the latest one first."""
        with self._lock:
            self._refresh()
            read = chain.from_iterable(self._segments.values())
            found = [each.head for each in read if wanted(each.head)]
        return sorted(found, key=lambda each: each.at, reverse=True)[:most]

    def find(self, exchange_id: str) -> ExchangeRecord | None:
        """The record of an exchange; None if it is not kept any more."""
        with self._lock:
            self._refresh()
            found = [
                (path, each.start)
                for path, lines in self._segments.items()
                for each in lines
                if each.head.id == exchange_id
            ]
        for path, start in found:
            with suppress(FileNotFoundError), path.open("rb") as file:
                file.seek(start)
                return _RECORD.decode(file.readline())
        return None

    def _refresh(self) -> None:
        paths = set(self._folder.glob(f"*{_SUFFIX}"))
        for path in self._segments.keys() - paths:
            del self._segments[path]
        for path in paths:
            lines = self._segments.setdefault(path, [])
            start = lines[-1].end if lines else 0
            with suppress(FileNotFoundError), path.open("rb") as file:
                file.seek(start)
                for line in file:
                    if not line.endswith(b"\n"):
                        # another process is writing it
                        break
                    lines.append(_Line(_HEAD.decode(line), start, start := start + len(line)))


@contextmanager
def private_folder() -> Iterator[Path]:
    """A temporary folder that only this user may read.

    Its lock is held as long as its process lives, so others know when they may remove it.
    """
    _remove_abandoned()
    made = Path(tempfile.mkdtemp(prefix=f"new-{_PREFIX}"))
    lock = os.open(made / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # only now others look at it
        folder = made.rename(made.with_name(made.name.removeprefix("new-")))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _remove_abandoned() -> None:
    """Remove the folders of this user whose processes were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
