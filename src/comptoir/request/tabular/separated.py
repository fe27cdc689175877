"""CSV (RFC 4180): UTF-8, with or without BOM, LF or CRLF."""

import csv
from collections.abc import Iterator
from pathlib import Path

from comptoir.request.tabular.chunk import ROWS_PER_CHUNK, BrokenLine, Chunk, FileFault

_LARGEST_CELL = 64 << 20


def read_csv(path: Path) -> Iterator[Chunk]:
    """The chunks of a CSV file; raises `FileFault` with the line at which it breaks."""
    csv.field_size_limit(_LARGEST_CELL)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            header = next(reader, None)
            if not header:
                raise FileFault(0, "the file is empty; its first line must name the columns.")
            columns = tuple(header)
            lines: list[int] = []
            rows: list[list[str]] = []
            broken: list[BrokenLine] = []
            for row in reader:
                if len(row) == len(columns):
                    lines.append(reader.line_num)
                    rows.append(row)
                elif row:
                    broken.append(
                        BrokenLine(
                            reader.line_num,
                            f"the line has {len(row)} cells, but the first line names "
                            f"{len(columns)} columns.",
                        )
                    )
                if len(rows) + len(broken) == ROWS_PER_CHUNK:
                    yield Chunk(columns, lines, rows, text=True, broken=broken)
                    lines, rows, broken = [], [], []
        except csv.Error as fault:
            raise FileFault(reader.line_num, f"the line is not CSV: {fault}.") from None
        except UnicodeDecodeError as fault:
            raise FileFault(
                reader.line_num + 1,
                f"the file is not UTF-8 from here on ({fault.reason}). Save it as UTF-8.",
            ) from None
        yield Chunk(columns, lines, rows, text=True, broken=broken)
