"""Sources of rows: CSV, NDJSON, JSON and Parquet files, read a chunk of rows at a time.

Readers raise `UnicodeDecodeError` for text that is not UTF-8, whose line `FileSource` finds.
"""

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import BinaryIO, TextIO, cast

import msgspec

from comptoir.errors.messages import quoted
from comptoir.errors.refusal import OperatorError
from comptoir.features.transfer import errors as problems
from comptoir.jsonvalue import Json, json_type

ROWS_PER_CHUNK = 2_000
"""The most rows that are read, checked and written at a time."""

BYTES_PER_CHUNK = 8 << 20
"""Bytes after which a chunk ends early, so that long texts do not fill the memory."""

_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}

_LARGEST_CELL = 64 << 20
_OTHER_SEPARATORS = ";\t|"

_BLOCK = 1 << 16
_WHITESPACE = " \t\r\n"
_LONGEST_RECORD = 64 << 20


class LoadError(msgspec.Struct, frozen=True):
    """An error in a line of a file, counted from 1, or in none (0).

    `column` is empty if it is not in one column, and may name several.
    """

    line: int
    column: str
    reason: str


class Chunk(msgspec.Struct, frozen=True):
    """Rows with the same columns, in order.

    `lines` are the lines of the file on which the rows begin, from 1; in a JSON array or a Parquet
    file they number the records. `head` is the line that names the columns, 0 without such a line:
    cells are texts, and an empty one is a missing value. It is None where each record names its
    own, and cells are JSON values. `broken` are the lines between the rows that could not be read.
    """

    columns: tuple[str, ...]
    lines: Sequence[int]
    rows: Sequence[Sequence[Json]]
    head: int | None
    broken: Sequence[LoadError] = ()


class FileError(Exception):
    """A file that cannot be loaded, since a line or the whole file (0) has an error."""

    def __init__(self, line: int, error: OperatorError, column: str = "") -> None:
        super().__init__(str(error))
        self.error = LoadError(line, column, str(error))


_Record = tuple[int, int, dict[str, Json] | list[str] | LoadError]
"""The line on which a record begins, the length of its values, and these."""


def read_csv(path: Path) -> Iterator[Chunk]:
    """Read CSV (RFC 4180), with or without a BOM, with LF or CRLF; raises `FileError`."""
    csv.field_size_limit(_LARGEST_CELL)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = _csv_rows(file)
        columns = _csv_columns(rows)
        yield from _chunks(_csv_records(rows, columns), columns, head=1)


def _csv_rows(file: TextIO) -> Iterator[tuple[int, list[str]]]:
    """The rows, with the line on which each begins: a cell may contain line ends."""
    reader = csv.reader(file, strict=True)
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise FileError(line, problems.NOT_CSV(reason=error)) from None


def _csv_columns(rows: Iterator[tuple[int, list[str]]]) -> tuple[str, ...]:
    _, header = next(rows, (0, None))
    if header is None:
        raise FileError(0, problems.NO_COLUMNS())
    if not header:
        raise FileError(1, problems.BLANK_COLUMNS())
    other = next((each for each in _OTHER_SEPARATORS if each in header[0]), None)
    if len(header) == 1 and other is not None:
        raise FileError(1, problems.OTHER_SEPARATOR(separator=quoted(other)))
    return tuple(header)


def _csv_records(
    rows: Iterable[tuple[int, list[str]]], columns: tuple[str, ...]
) -> Iterator[_Record]:
    for line, row in rows:
        if len(row) == len(columns):
            yield line, sum(map(len, row)), row
        elif row:
            width = problems.OTHER_WIDTH(count=len(row), columns=len(columns))
            yield line, 0, LoadError(line, "", str(width))


def read_parquet(path: Path) -> Iterator[Chunk]:
    """Read Parquet, which needs the extra `comptoir[parquet]`; a null is a missing value.

    Raises `FileError`.
    """
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415 - an optional package
    except ImportError:
        raise FileError(0, problems.NO_PARQUET()) from None
    read = 0
    try:
        with parquet.ParquetFile(path) as file:
            names = tuple(file.schema_arrow.names)
            if not file.metadata.num_rows:
                yield Chunk(names, (), (), head=0)
            groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
            # the average row of the group with the longest ones, before compression
            sizes = [each.total_byte_size // max(1, each.num_rows) for each in groups]
            length = 1 + max(sizes, default=0)
            at_once = max(1, min(ROWS_PER_CHUNK, BYTES_PER_CHUNK // length))
            for batch in file.iter_batches(at_once):
                columns = [[_text(cell) for cell in column.to_pylist()] for column in batch]
                lines = range(read + 1, read + batch.num_rows + 1)
                read += batch.num_rows
                rows = list(zip(*columns, strict=True))
                yield Chunk(names, lines, rows, head=0)
    except ArrowException as error:
        reason = " ".join(str(error).split())
        raise FileError(0, problems.NOT_PARQUET(reason=reason[:200])) from None


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, datetime):
        in_zone = cell if cell.tzinfo else cell.replace(tzinfo=UTC)
        return in_zone.isoformat()
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def read_ndjson(path: Path) -> Iterator[Chunk]:
    """Read NDJSON, one object per line; raises `FileError`."""
    with path.open("rb") as file:
        yield from _chunks(_ndjson_records(file))


def read_json(path: Path) -> Iterator[Chunk]:
    """Read a JSON array of objects, or an object with the array as `value`; raises `FileError`."""
    with path.open(encoding="utf-8-sig") as file:
        yield from _chunks(_ArrayReader(file).records())


def _refuse_constant(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")


def _unique_names(pairs: list[tuple[str, Json]]) -> Json:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{quoted(duplicate)} occurs twice")
    return record


# faster decoders do not notice a name that occurs twice in an object
_DECODER = json.JSONDecoder(
    parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_unique_names
)


def _ndjson_records(file: BinaryIO) -> Iterator[_Record]:
    number = 0
    while line := file.readline(_LONGEST_RECORD + 1):
        number += 1
        if len(line) > _LONGEST_RECORD:
            raise FileError(number, problems.LONG_LINE(most=_LONGEST_RECORD))
        content = (line.removeprefix(_BOM) if number == 1 else line).decode().strip(_WHITESPACE)
        if not content:
            continue
        try:
            yield number, len(line), _object(number, cast("Json", _DECODER.decode(content)))
        except (RecursionError, InvalidOperation, ValueError) as error:
            reason = problems.NOT_AN_OBJECT(reason=error)
            yield number, 0, LoadError(number, "", str(reason))


def _object(line: int, value: Json) -> dict[str, Json] | LoadError:
    if isinstance(value, dict):
        return value
    return LoadError(line, "", str(problems.OTHER_TYPE(type=json_type(value))))


def _chunks(
    records: Iterable[_Record], columns: tuple[str, ...] = (), head: int | None = None
) -> Iterator[Chunk]:
    """The chunks of records, each of which names its columns unless `head` names them."""
    lines: list[int] = []
    rows: list[Sequence[Json]] = []
    broken: list[LoadError] = []
    size = line = 0
    for line, length, record in records:
        names = columns
        if isinstance(record, dict):
            # control information, as in a response of the API, is not a column
            names = tuple([name for name in record if "@" not in name])
        full = len(rows) + len(broken) == ROWS_PER_CHUNK or size > BYTES_PER_CHUNK
        if full or (rows and names != columns):
            yield Chunk(columns, lines, rows, head, broken)
            lines, rows, broken, size = [], [], [], 0
        columns = names
        size += length
        if isinstance(record, LoadError):
            broken.append(record)
        else:
            lines.append(line)
            rows.append([record[name] for name in names] if isinstance(record, dict) else record)
    if head is None and not line:
        raise FileError(0, problems.NO_RECORDS())
    yield Chunk(columns, lines, rows, head, broken)


class _ArrayReader:
    """Reads the records of a JSON array without keeping the whole text in memory."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._position = 0
        self._number = 0
        """The number of the record that is read, 0 outside of the array."""

    def records(self) -> Iterator[_Record]:
        if not self._peek():
            raise FileError(0, problems.NO_ARRAY())
        wrapped = self._peek() == "{"
        if wrapped:
            # a response of the API: control information, then the array as "value"
            self._position += 1
            while self._name() != "value":
                self._value()
                self._expect(",")
        self._expect("[")
        while self._peek() != "]":
            if self._number:
                self._expect(",")
            self._number += 1
            value, length = self._value()
            yield self._number, length, _object(self._number, value)
        self._position += 1
        self._number = 0
        if wrapped:
            # members after the array, such as the link to the next page
            while self._peek() == ",":
                self._position += 1
                self._name()
                self._value()
            self._expect("}")
        if self._peek():
            raise FileError(0, problems.TEXT_AFTER_ARRAY())

    def _name(self) -> Json:
        name, _ = self._value()
        self._expect(":")
        return name

    def _peek(self) -> str:
        """The next character that is not blank, empty at the end of the file."""
        while self._text[self._position : self._position + 1] in _WHITESPACE:
            if self._position < len(self._text):
                self._position += 1
            elif not self._more():
                return ""
        return self._text[self._position]

    def _more(self) -> bool:
        # twice as much each time: a long record is decoded again after each block
        block = self._file.read(max(_BLOCK, len(self._text) - self._position))
        self._text = self._text[self._position :] + block
        self._position = 0
        return bool(block)

    def _expect(self, wanted: str) -> None:
        found = self._peek()
        if found != wanted:
            text = quoted(found) if found else "the end"
            raise FileError(self._number, problems.UNEXPECTED(wanted=quoted(wanted), found=text))
        self._position += 1

    def _value(self) -> tuple[Json, int]:
        """The next value, and the length of its text."""
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._position)
            except (ValueError, RecursionError, InvalidOperation) as error:
                too_long = len(self._text) - self._position > _LONGEST_RECORD
                if too_long or not self._more():
                    raise FileError(self._number, problems.NOT_JSON(reason=error)) from None
                continue
            # a number at the end of the text may continue in the next block
            if end < len(self._text) or not self._more():
                begin, self._position = self._position, min(end, len(self._text))
                return cast("Json", value), end - begin


def _not_utf8(path: Path) -> FileError:
    """The error of a file that is not UTF-8, with the first such line."""
    with path.open("rb") as file:
        other = _OTHER_BOMS.get(file.read(2))
        file.seek(0)
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                found = other or f"byte {error.start + 1} of the line is 0x{line[error.start]:02x}"
                return FileError(number, problems.LINE_NOT_UTF8(found=found))
    return FileError(0, problems.NOT_UTF8())


_READERS: Mapping[str, Callable[[Path], Iterator[Chunk]]] = {
    ".csv": read_csv,
    ".ndjson": read_ndjson,
    ".json": read_json,
    ".parquet": read_parquet,
}

SUFFIXES = tuple(_READERS)
"""The file name suffixes of the formats that can be read."""


class FileSource:
    """The rows of a file, which can be read several times with the same result.

    The methods raise `FileError` if the file cannot be read, or changes between two readings.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, ...] | None = None

    def digest(self) -> str:
        """The SHA-256 of the file's bytes, which identifies it for an interrupted load."""
        with self._readable(), self._path.open("rb") as file:
            self._check_unchanged()
            return hashlib.file_digest(file, "sha256").hexdigest()

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
            raise FileError(0, problems.FILE_CHANGED())
        self._seen = now

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            try:
                yield
            except UnicodeDecodeError:
                raise _not_utf8(self._path) from None
        except OSError as error:
            raise FileError(0, problems.UNREADABLE(reason=error.strerror or error)) from None
