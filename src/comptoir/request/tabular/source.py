"""Where rows come from: a file, whose name says how it is read, or a table that is being made."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from comptoir.request.tabular.chunk import ROWS_PER_CHUNK, Chunk, FileFault
from comptoir.request.tabular.columnar import read_parquet
from comptoir.request.tabular.documents import read_json, read_ndjson
from comptoir.request.tabular.separated import read_csv

_READERS: Mapping[str, Callable[[Path], Iterator[Chunk]]] = MappingProxyType(
    {".csv": read_csv, ".ndjson": read_ndjson, ".json": read_json, ".parquet": read_parquet}
)

SUFFIXES = tuple(_READERS)
"""The endings of the files that can be read."""


class Source(Protocol):
    """Rows that can be read from the beginning more than once, and are the same each time."""

    def digest(self) -> str:
        """By what a load that was interrupted knows the source again: 64 hexadecimal digits."""

    def fits(self, size: int) -> bool:
        """Whether the text of all rows is surely no longer than so many bytes."""

    def chunks(self) -> Iterator[Chunk]:
        """The rows, a chunk at a time; raises `FileFault` where they cannot be read."""


class FileSource:
    """The rows of a file; raises `FileFault` as well when the file changes between two readings."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, ...] | None = None

    def digest(self) -> str:
        """The SHA-256 of the file's bytes."""
        with self._readable(), self._path.open("rb") as file:
            self._stay_the_same()
            return hashlib.file_digest(file, "sha256").hexdigest()

    def fits(self, size: int) -> bool:
        """By the file's length; a Parquet file is compressed, and may hold any length of text."""
        with self._readable():
            return self._path.suffix != ".parquet" and self._path.stat().st_size <= size

    def chunks(self) -> Iterator[Chunk]:
        """The file's rows, by the reader that its name asks for."""
        with self._readable():
            self._stay_the_same()
            for chunk in _READERS[self._path.suffix](self._path):
                yield chunk
                self._stay_the_same()

    def _stay_the_same(self) -> None:
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
    """The rows of a table in text form, the same at each reading.

    `identity` says what they are: tables that have it in common have the same rows.
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
        """Never surely."""
        return False

    def chunks(self) -> Iterator[Chunk]:
        """The table's rows, counted from 1."""
        rows = iter(self._rows)
        done = 0
        while part := list(islice(rows, ROWS_PER_CHUNK)):
            lines = range(done + 1, done + len(part) + 1)
            done += len(part)
            yield Chunk(self._columns, lines, part, text=True, head=0, length=0)
