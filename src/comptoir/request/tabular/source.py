"""Which reader a file's name asks for."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from comptoir.request.tabular.chunk import Chunk
from comptoir.request.tabular.columnar import read_parquet
from comptoir.request.tabular.documents import read_json, read_ndjson
from comptoir.request.tabular.separated import read_csv

_READERS: Mapping[str, Callable[[Path], Iterator[Chunk]]] = MappingProxyType(
    {".csv": read_csv, ".ndjson": read_ndjson, ".json": read_json, ".parquet": read_parquet}
)

SUFFIXES = tuple(_READERS)
"""The endings of the files that can be read."""


def read_chunks(path: Path) -> Iterator[Chunk]:
    """Read a file, a chunk at a time; raises `FileFault` where it breaks."""
    return _READERS[path.suffix](path)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's bytes, by which a load that was interrupted knows it again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
