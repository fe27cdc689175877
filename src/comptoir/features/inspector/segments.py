"""The files of the records: two segments for each process, in a private folder of the service."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import FileIO
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
        self._file: FileIO | None = None
        self._records = 0

    def append(self, record: ExchangeRecord) -> None:
        """Append a record, which is kept if it fits into a segment; raises `OSError`."""
        line = _encode(record) + b"\n"
        file, is_full = self._file, self._records >= self._requests
        if file is None or is_full or file.tell() + len(line) > self._size:
            file = self._rotated()
        self._records += 1
        if file.write(line) < len(line):
            # the disk is full; readers ignore what follows a line without an end
            self._records = self._requests

    def close(self) -> None:
        """Close the segment."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _rotated(self) -> FileIO:
        """The next segment."""
        self.close()
        self._number += 1
        self._path(self._number - 2).unlink(missing_ok=True)
        self._records = 0
        self._file = FileIO(self._path(self._number), "x", opener=partial(os.open, mode=0o600))
        return self._file

    def _path(self, number: int) -> Path:
        return self._folder / f"{os.getpid()}-{number}{_SUFFIX}"


class _Line(NamedTuple):
    """The head of a record, and where its line begins and ends in a segment."""

    head: Head
    path: Path
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
            found = [each.head for each in self._lines() if wanted(each.head)]
        return sorted(found, key=lambda each: each.at, reverse=True)[:most]

    def find(self, exchange_id: str) -> ExchangeRecord | None:
        """The record of an exchange; None if it is not kept any more."""
        with self._lock, suppress(FileNotFoundError):
            for each in self._lines():
                if each.head.id == exchange_id:
                    with each.path.open("rb") as file:
                        file.seek(each.start)
                        return _RECORD.decode(file.readline())
        return None

    def _lines(self) -> Iterable[_Line]:
        """The lines of all segments, after what was added is read."""
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
                    end = start + len(line)
                    lines.append(_Line(_HEAD.decode(line), path, start, end))
                    start = end
        return chain.from_iterable(self._segments.values())


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
