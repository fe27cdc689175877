"""Parquet, when the optional extra `comptoir[parquet]` is installed."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path

from comptoir.request.tabular.chunk import BYTES_PER_CHUNK, ROWS_PER_CHUNK, Chunk, FileFault


def read_parquet(path: Path) -> Iterator[Chunk]:
    """The chunks of a Parquet file; a null is no value. Raises `FileFault`."""
    try:
        parquet = import_module("pyarrow.parquet")
        arrow = import_module("pyarrow")
    except ImportError:
        raise FileFault(
            0, "reading Parquet needs an optional extra: pip install 'comptoir[parquet]'."
        ) from None
    read = 0
    try:
        with parquet.ParquetFile(path) as file:
            names = tuple(file.schema_arrow.names)
            if not file.metadata.num_rows:
                yield Chunk(names, (), (), text=True, head=0, length=0)
            groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
            # where rows are the longest, before compression; a group may have none
            sizes = [each.total_byte_size // max(1, each.num_rows) for each in groups]
            length = 1 + max(sizes, default=0)
            at_once = max(1, min(ROWS_PER_CHUNK, BYTES_PER_CHUNK // length))
            for batch in file.iter_batches(at_once):
                columns = [[_text(cell) for cell in column.to_pylist()] for column in batch]
                lines = range(read + 1, read + batch.num_rows + 1)
                read += batch.num_rows
                rows = list(zip(*columns, strict=True))
                yield Chunk(names, lines, rows, text=True, head=0, length=length * batch.num_rows)
    except arrow.ArrowException as fault:
        reason = " ".join(str(fault).split())
        raise FileFault(0, f"the file is not Parquet: {reason[:200]}.") from None


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, datetime):
        moment = cell if cell.tzinfo else cell.replace(tzinfo=UTC)
        return moment.isoformat()
    return cell.isoformat() if isinstance(cell, date) else str(cell)
