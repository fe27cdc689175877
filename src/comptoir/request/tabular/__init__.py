"""Files of records: CSV, NDJSON, JSON and Parquet to rows of cells, a chunk at a time."""

from comptoir.request.tabular.chunk import (
    BYTES_PER_CHUNK,
    ROWS_PER_CHUNK,
    BrokenLine,
    Chunk,
    FileFault,
)
from comptoir.request.tabular.source import SUFFIXES, FileSource, Source, TableSource

__all__ = [
    "BYTES_PER_CHUNK",
    "ROWS_PER_CHUNK",
    "SUFFIXES",
    "BrokenLine",
    "Chunk",
    "FileFault",
    "FileSource",
    "Source",
    "TableSource",
]
