"""NDJSON (one object a line) and JSON (one array of objects, or an object with it as `value`)."""

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TextIO, cast

import msgspec

from comptoir.jsonvalue import Json, json_kind
from comptoir.request.tabular.chunk import ROWS_PER_CHUNK, BrokenLine, Chunk, FileFault

_BLOCK = 1 << 16
_BLANKS = " \t\r\n"
_LONGEST_RECORD = 64 << 20

Record = tuple[int, Json | BrokenLine]


def read_ndjson(path: Path) -> Iterator[Chunk]:
    """The chunks of an NDJSON file; raises `FileFault` with the line at which it breaks."""
    with path.open("rb") as file:
        yield from _chunks(_lines(file))


def read_json(path: Path) -> Iterator[Chunk]:
    """The chunks of a JSON file, read a record at a time; raises `FileFault`."""
    with path.open(encoding="utf-8-sig") as file:
        try:
            yield from _chunks(_ArrayReader(file).records())
        except UnicodeDecodeError as fault:
            raise FileFault(
                0, f"the file is not UTF-8 ({fault.reason}). Save it as UTF-8."
            ) from None


def _lines(file: Iterable[bytes]) -> Iterator[Record]:
    decoder = msgspec.json.Decoder(float_hook=Decimal)
    for number, line in enumerate(file, start=1):
        content = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if not content.strip():
            continue
        try:
            yield number, cast("Json", decoder.decode(content))
        except UnicodeDecodeError:
            raise FileFault(number, "the line is not UTF-8. Save the file as UTF-8.") from None
        except (msgspec.DecodeError, RecursionError, InvalidOperation, ValueError) as fault:
            yield number, BrokenLine(number, f"the line is not a JSON object: {fault}.")


def _chunks(records: Iterable[Record]) -> Iterator[Chunk]:
    columns: tuple[str, ...] | None = None
    lines: list[int] = []
    rows: list[list[Json]] = []
    broken: list[BrokenLine] = []
    for number, record in records:
        if not isinstance(record, dict):
            if not isinstance(record, BrokenLine):
                what = json_kind(record)
                record = BrokenLine(number, f"a record is a JSON object, but this is {what}.")
            broken.append(record)
            continue
        # control information, such as that of an answer of the interface, is no column
        held = {name: value for name, value in record.items() if "@" not in name}
        names = tuple(held)
        if columns is not None and (names != columns or len(rows) == ROWS_PER_CHUNK):
            yield Chunk(columns, lines, rows, text=False, broken=broken)
            lines, rows, broken = [], [], []
        columns = names
        lines.append(number)
        rows.append(list(held.values()))
    if columns is None and not broken:
        raise FileFault(0, "the file is empty; it must hold at least one record.")
    yield Chunk(columns or (), lines, rows, text=False, broken=broken)


class _ArrayReader:
    """Reads the records of one JSON array from a text that need not be in memory whole."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._position = 0
        self._decoder = json.JSONDecoder(parse_float=Decimal, parse_constant=self._refuse)

    def records(self) -> Iterator[Record]:
        number = 0
        self._open()
        while self._peek() != "]":
            if number:
                self._expect(",", number)
            number += 1
            yield number, self._value(number)
        self._position += 1
        if self._peek() == "}":
            self._position += 1
        if self._peek():
            raise FileFault(0, "there is something behind the end of the array. Take it out.")

    def _open(self) -> None:
        if self._peek() == "{":
            # an answer of the interface: control information, then the array under "value"
            self._position += 1
            while True:
                name = self._value(0)
                self._expect(":", 0)
                if name == "value":
                    break
                self._value(0)
                self._expect(",", 0)
        if not self._peek():
            raise FileFault(0, "the file is empty; it must hold an array of records.")
        self._expect("[", 0)

    def _peek(self) -> str:
        while True:
            while self._position < len(self._text):
                if self._text[self._position] not in _BLANKS:
                    return self._text[self._position]
                self._position += 1
            if not self._more():
                return ""

    def _more(self) -> bool:
        block = self._file.read(_BLOCK)
        self._text = self._text[self._position :] + block
        self._position = 0
        return bool(block)

    def _expect(self, wanted: str, number: int) -> None:
        found = self._peek()
        if found != wanted:
            raise FileFault(number, f"expected {wanted!r}, but found {found or 'the end'!r}.")
        self._position += 1

    def _value(self, number: int) -> Json:
        self._peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._position)
            except (ValueError, RecursionError, InvalidOperation) as fault:
                if len(self._text) > _LONGEST_RECORD or not self._more():
                    raise FileFault(number, f"the record is not JSON: {fault}.") from None
                continue
            if end < len(self._text) or not self._more():
                self._position = end if end <= len(self._text) else len(self._text)
                return cast("Json", value)

    @staticmethod
    def _refuse(constant: str) -> Json:
        raise ValueError(f"{constant} is no JSON")
