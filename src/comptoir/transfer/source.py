"""Sources of rows: a file, read by the format that its name gives, or a generated table."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from comptoir.transfer.files import (
    ROWS_PER_CHUNK,
    Chunk,
    FileFault,
    read_csv,
    read_json,
    read_ndjson,
    read_parquet,
)

_READERS: Mapping[str, Callable[[Path], Iterator[Chunk]]] = MappingProxyType(
    {".csv": read_csv, ".ndjson": read_ndjson, ".json": read_json, ".parquet": read_parquet}
)

SUFFIXES = tuple(_READERS)
"""The file name suffixes of the formats that can be read."""


class Source(Protocol):
    """Rows that can be read from the beginning several times, with the same result each time."""

    def digest(self) -> str:
        """64 hexadecimal digits by which an interrupted load recognizes the source."""

    def fits(self, size: int) -> bool:
        """Whether the text of all rows is certainly no longer than `size` bytes."""

    def chunks(self) -> Iterator[Chunk]:
        """The rows, a chunk at a time; raises `FileFault` where they cannot be read."""


class FileSource:
    """The rows of a file; raises `FileFault` also when the file changes between two readings."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, ...] | None = None

    def digest(self) -> str:
        """The SHA-256 of the file's bytes."""
        with self._readable(), self._path.open("rb") as file:
            self._check_unchanged()
            return hashlib.file_digest(file, "sha256").hexdigest()

    def fits(self, size: int) -> bool:
        """By the file's length; a Parquet file is compressed, so its texts may be longer."""
        with self._readable():
            return self._path.suffix != ".parquet" and self._path.stat().st_size <= size

    def chunks(self) -> Iterator[Chunk]:
        """The file's rows, by the reader for its suffix."""
        with self._readable():
            self._check_unchanged()
            for chunk in _READERS[self._path.suffix](self._path):
                yield chunk
                self._check_unchanged()

    def _check_unchanged(self) -> None:
        status = self._path.stat()
        now = (status.st_ino, status.st_size, status.st_mtime_ns)
        if self._seen is not None and now != self._seen:
            raise FileFault(0, "the file was changed while it was being loaded. Load it again.")
        self._seen = now

    @staticmethod
    @contextmanager
    def _readable() -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            reason = fault.strerror or fault
            raise FileFault(0, f"the file cannot be read: {reason}.") from None


class TableSource:
    """The rows of a generated table, in text form.

    `identity` names the rows: tables with the same identity have the same rows.
    """

    def __init__(
        self,
        identity: str,
        columns: tuple[str, ...],
        rows: Iterable[Sequence[str]],
    ) -> None:
        self._identity = identity
        self._columns = columns
        self._rows = rows

    def digest(self) -> str:
        """The SHA-256 of the identity."""
        return hashlib.sha256(self._identity.encode()).hexdigest()

    def fits(self, size: int) -> bool:
        """Never certain."""
        return False

    def chunks(self) -> Iterator[Chunk]:
        """The table's rows, numbered from 1."""
        rows = iter(self._rows)
        done = 0
        while part := list(islice(rows, ROWS_PER_CHUNK)):
            lines = range(done + 1, done + len(part) + 1)
            done += len(part)
            yield Chunk(self._columns, lines, part, text=True, head=0, length=0)
