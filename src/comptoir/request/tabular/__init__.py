"""Files of records: CSV, NDJSON, JSON and Parquet to rows of cells, a chunk at a time."""

from comptoir.request.tabular.chunk import ROWS_PER_CHUNK, Chunk, FileFault
from comptoir.request.tabular.source import SUFFIXES, file_digest, read_chunks

__all__ = ["ROWS_PER_CHUNK", "SUFFIXES", "Chunk", "FileFault", "file_digest", "read_chunks"]
