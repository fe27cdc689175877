"""What a file is read as: some rows under one head."""

from collections.abc import Sequence

import msgspec

from comptoir.jsonvalue import Json

ROWS_PER_CHUNK = 2_000
"""How many rows are read, checked and written at a time."""

BYTES_PER_CHUNK = 8 << 20
"""Past how many bytes a chunk ends with fewer rows: long texts must not fill the memory."""


class BrokenLine(msgspec.Struct, frozen=True):
    """A line that cannot be read, though those behind it can: where it is, and why."""

    line: int
    reason: str


class Chunk(msgspec.Struct, frozen=True):
    """Rows that give the same columns, in order.

    `lines` are where the rows begin in the file, from 1; in a JSON array or a Parquet file they
    count the records. `text` is whether cells are texts, in which an empty one is no value, or
    JSON values. `head` is the line that names the columns, None where each record names its own.
    `broken` are the lines among them that could not be read. `length` is about how many bytes its
    texts have, 0 where they are short.
    """

    columns: tuple[str, ...]
    lines: Sequence[int]
    rows: Sequence[Sequence[Json]]
    text: bool
    head: int | None
    length: int
    broken: Sequence[BrokenLine] = ()

    @property
    def size(self) -> int:
        """How many records of the file it stands for, those that could not be read among them."""
        return len(self.lines) + len(self.broken)


class FileFault(Exception):  # noqa: N818 - says what is wrong with a file, not with the program
    """A file that cannot be read: where it breaks, and what to do. `line` is 0 for the whole."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason
