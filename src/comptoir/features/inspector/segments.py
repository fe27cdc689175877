"""The files of the records: two segments for each process, in a private folder of the service."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

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

    def append(self, records: Sequence[ExchangeRecord]) -> None:
        """Append records, of which those that fit into a segment are kept."""
        lines: list[bytes] = []
        for record in records:
            line = _encode(record) + b"\n"
            is_full = self._records + len(lines) >= self._requests
            if self._descriptor is None or is_full or self._bytes + len(line) > self._size:
                self._write(lines)
                lines = []
                self._rotate()
            lines.append(line)
            self._bytes += len(line)
        self._write(lines)

    def close(self) -> None:
        """Close the segment."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _write(self, lines: Sequence[bytes]) -> None:
        if self._descriptor is None or not lines:
            return
        content = b"".join(lines)
        self._records += len(lines)
        if os.write(self._descriptor, content) < len(content):
            # the disk is full; readers ignore what follows a line without an end
            self._records = self._requests

    def _rotate(self) -> None:
        self.close()
        self._number += 1
        self._path(self._number - 2).unlink(missing_ok=True)
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(self._path(self._number), flags, 0o600)
        self._records = self._bytes = 0

    def _path(self, number: int) -> Path:
        return self._folder / f"{os.getpid()}-{number}{_SUFFIX}"


class _Segment:
    """The read part of a segment: its heads, and where each begins."""

    def __init__(self) -> None:
        self.end = 0
        self.heads: list[tuple[Head, int]] = []


class SegmentReader:
    """Reads the records of all processes that share a folder; each call reads what was added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segments: dict[Path, _Segment] = {}
        self._lock = Lock()

    def newest(self, most: int, wanted: Callable[[Head], bool]) -> Sequence[Head]:
        """The newest heads that are wanted, the latest one first."""
        with self._lock:
            self._refresh()
            found = [
                head
                for segment in self._segments.values()
                for head, _ in segment.heads
                if wanted(head)
            ]
        return sorted(found, key=lambda each: each.at, reverse=True)[:most]

    def find(self, exchange_id: str) -> ExchangeRecord | None:
        """The record of an exchange; None if it is not kept any more."""
        with self._lock:
            self._refresh()
            found = [
                (path, position)
                for path, segment in self._segments.items()
                for head, position in segment.heads
                if head.id == exchange_id
            ]
        for path, position in found:
            with suppress(FileNotFoundError), path.open("rb") as file:
                file.seek(position)
                return _RECORD.decode(file.readline())
        return None

    def _refresh(self) -> None:
        paths = set(self._folder.glob(f"*{_SUFFIX}"))
        for path in self._segments.keys() - paths:
            del self._segments[path]
        for path in paths:
            segment = self._segments.setdefault(path, _Segment())
            with suppress(FileNotFoundError), path.open("rb") as file:
                file.seek(segment.end)
                for line in file:
                    if not line.endswith(b"\n"):
                        # another process is writing it
                        break
                    segment.heads.append((_HEAD.decode(line), segment.end))
                    segment.end += len(line)


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
