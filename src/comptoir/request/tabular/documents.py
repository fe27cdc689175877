"""NDJSON (one object a line) and JSON (one array of objects, or an object with it as `value`)."""

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from comptoir.jsonvalue import Json, json_kind
from comptoir.request.tabular.chunk import (
    BYTES_PER_CHUNK,
    ROWS_PER_CHUNK,
    BrokenLine,
    Chunk,
    FileFault,
)
from comptoir.request.tabular.encoding import BOM, not_utf8

_BLOCK = 1 << 16
_BLANKS = " \t\r\n"
_LONGEST_RECORD = 64 << 20

Record = tuple[int, int, Json | BrokenLine]
"""Where a record begins, how long its text is, and what it is."""


def read_ndjson(path: Path) -> Iterator[Chunk]:
    """The chunks of an NDJSON file; raises `FileFault` with the line at which it breaks."""
    with path.open("rb") as file:
        try:
            yield from _chunks(_lines(file))
        except UnicodeDecodeError:
            raise not_utf8(path) from None


def read_json(path: Path) -> Iterator[Chunk]:
    """The chunks of a JSON file, read a record at a time; raises `FileFault`."""
    with path.open(encoding="utf-8-sig") as file:
        try:
            yield from _chunks(_ArrayReader(file).records())
        except UnicodeDecodeError:
            raise not_utf8(path) from None


def _refuse_constant(constant: str) -> Json:
    raise ValueError(f"{constant} is no JSON")


def _named_once(pairs: list[tuple[str, Json]]) -> Json:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:100]!r} stands there twice")
    return record


# a name that stands twice in an object is found by this decoder, and not by faster ones
_DECODER = json.JSONDecoder(
    parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_named_once
)


def _lines(file: BinaryIO) -> Iterator[Record]:
    number = 0
    while line := file.readline(_LONGEST_RECORD + 1):
        number += 1
        if len(line) > _LONGEST_RECORD:
            raise FileFault(number, f"the line is longer than {_LONGEST_RECORD} bytes.")
        content = (line.removeprefix(BOM) if number == 1 else line).decode().strip(_BLANKS)
        if not content:
            continue
        try:
            yield number, len(line), cast("Json", _DECODER.decode(content))
        except (RecursionError, InvalidOperation, ValueError) as fault:
            reason = f"the line is not a JSON object: {fault}."
            yield number, len(line), BrokenLine(number, reason)


def _chunks(records: Iterable[Record]) -> Iterator[Chunk]:
    columns: tuple[str, ...] = ()
    lines: list[int] = []
    rows: list[list[Json]] = []
    broken: list[BrokenLine] = []
    size, found = 0, False
    for line, length, record in records:
        found = True
        names: tuple[str, ...] = ()
        if isinstance(record, dict):
            # control information, such as that of an answer of the interface, is no column
            names = tuple([name for name in record if "@" not in name])
        full = len(rows) + len(broken) == ROWS_PER_CHUNK or size > BYTES_PER_CHUNK
        if full or (rows and isinstance(record, dict) and names != columns):
            yield Chunk(columns, lines, rows, text=False, head=None, length=size, broken=broken)
            lines, rows, broken, size = [], [], [], 0
        size += length
        if isinstance(record, dict):
            columns = names
            lines.append(line)
            rows.append([record[name] for name in names])
        elif isinstance(record, BrokenLine):
            broken.append(record)
        else:
            reason = f"a record is a JSON object, but this is {json_kind(record)}."
            broken.append(BrokenLine(line, reason))
    if not found:
        raise FileFault(0, "the file is empty; it must hold at least one record.")
    yield Chunk(columns, lines, rows, text=False, head=None, length=size, broken=broken)


class _ArrayReader:
    """Reads the records of one JSON array from a text that need not be in memory whole."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._position = 0

    def records(self) -> Iterator[Record]:
        number = 0
        wrapped = self._open()
        while self._peek() != "]":
            if number:
                self._expect(",", number)
            number += 1
            value, length = self._value(number)
            yield number, length, value
        self._position += 1
        if wrapped:
            # what may stand behind the records in an answer, such as the link to the next page
            while self._peek() == ",":
                self._position += 1
                self._member()
            self._expect("}", 0)
        if self._peek():
            raise FileFault(0, "there is something behind the end of the array. Take it out.")

    def _open(self) -> bool:
        """Go to the first record; whether the array is a member of an object, `value`."""
        if not self._peek():
            raise FileFault(0, "the file is empty; it must hold an array of records.")
        wrapped = self._peek() == "{"
        if wrapped:
            # an answer of the interface: control information, then the array under "value"
            self._position += 1
            while self._name() != "value":
                self._value(0)
                self._expect(",", 0)
        self._expect("[", 0)
        return wrapped

    def _name(self) -> Json:
        name, _ = self._value(0)
        self._expect(":", 0)
        return name

    def _member(self) -> None:
        self._name()
        self._value(0)

    def _peek(self) -> str:
        while True:
            while self._position < len(self._text):
                if self._text[self._position] not in _BLANKS:
                    return self._text[self._position]
                self._position += 1
            if not self._more():
                return ""

    def _more(self) -> bool:
        # twice as much each time, so that a long record is not read anew many times
        block = self._file.read(max(_BLOCK, len(self._text) - self._position))
        self._text = self._text[self._position :] + block
        self._position = 0
        return bool(block)

    def _expect(self, wanted: str, number: int) -> None:
        found = self._peek()
        if found != wanted:
            raise FileFault(number, f"expected {wanted!r}, but found {found or 'the end'!r}.")
        self._position += 1

    def _value(self, number: int) -> tuple[Json, int]:
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._position)
            except (ValueError, RecursionError, InvalidOperation) as fault:
                too_long = len(self._text) - self._position > _LONGEST_RECORD
                if too_long or not self._more():
                    raise FileFault(number, f"the record is not JSON: {fault}.") from None
                continue
            # a number at the end of what is read may go on behind it
            if end < len(self._text) or not self._more():
                begun, self._position = self._position, min(end, len(self._text))
                return cast("Json", value), end - begun
