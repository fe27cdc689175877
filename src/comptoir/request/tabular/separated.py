"""CSV (RFC 4180): UTF-8, with or without BOM, LF or CRLF."""

import csv
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path

from comptoir.request.tabular.chunk import (
    BYTES_PER_CHUNK,
    ROWS_PER_CHUNK,
    BrokenLine,
    Chunk,
    FileFault,
)
from comptoir.request.tabular.encoding import not_utf8

_LARGEST_CELL = 64 << 20
_OTHER_SEPARATORS = ";\t|"
_ROWS_PER_LOOK = 8
"""After how many rows the bytes that they took are looked at."""


def read_csv(path: Path) -> Iterator[Chunk]:
    """The chunks of a CSV file; raises `FileFault` with the line at which it breaks."""
    csv.field_size_limit(_LARGEST_CELL)
    with path.open("rb") as file, TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, strict=True)
        line = 0
        try:
            columns = _columns(reader)
            lines: list[int] = []
            rows: list[list[str]] = []
            broken: list[BrokenLine] = []
            begun, line = 0, reader.line_num
            for row in reader:
                # a cell may hold line ends: the record begins behind the one before it
                first, line = line + 1, reader.line_num
                if len(row) == len(columns):
                    lines.append(first)
                    rows.append(row)
                elif row:
                    broken.append(_of_other_width(first, row, columns))
                held = len(rows) + len(broken)
                if held % _ROWS_PER_LOOK:
                    continue
                length = file.tell() - begun
                if held >= ROWS_PER_CHUNK or length > BYTES_PER_CHUNK:
                    yield Chunk(
                        columns, lines, rows, text=True, head=1, length=length, broken=broken
                    )
                    lines, rows, broken = [], [], []
                    begun += length
            length = file.tell() - begun
            yield Chunk(columns, lines, rows, text=True, head=1, length=length, broken=broken)
        except csv.Error as fault:
            raise FileFault(line + 1, f"the line is not CSV: {fault}.") from None
        except UnicodeDecodeError:
            raise not_utf8(path) from None


def _columns(reader: Iterator[list[str]]) -> tuple[str, ...]:
    header = next(reader, None)
    if header is None:
        raise FileFault(0, "the file is empty; its first line must name the columns.")
    if not header:
        raise FileFault(1, "the first line is blank, but must name the columns.")
    other = next((each for each in _OTHER_SEPARATORS if each in header[0]), None)
    if len(header) == 1 and other is not None:
        raise FileFault(1, f"the columns are separated by {other!r}, but must be by commas.")
    return tuple(header)


def _of_other_width(line: int, row: list[str], columns: tuple[str, ...]) -> BrokenLine:
    return BrokenLine(
        line, f"the line has {len(row)} cells, but the first line names {len(columns)} columns."
    )
