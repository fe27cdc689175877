"""The files of a load: the unique values seen so far, and the checked rows.

Both are temporary databases, of which a bounded part is in memory.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby, islice, repeat
from operator import itemgetter

import msgspec

from comptoir.edm.model import KeyValues, UniqueRule
from comptoir.edm.types import Stored
from comptoir.features.transfer import errors as problems
from comptoir.features.transfer.files import BYTES_PER_CHUNK, ROWS_PER_CHUNK
from comptoir.features.transfer.load_rows import Columns, LoadFault, LoadRows

_REGISTER_KIB = 32_768
_SPOOL_KIB = 8_192
"""The cache of a temporary database, and the most memory in which SQLite sorts its rows."""


@contextmanager
def _needing_room() -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise problems.NO_TEMPORARY_FOLDER(reason=error) from error


class _TemporaryDatabase:
    """A database in a temporary file. Raises `OperatorError` if the disk is full."""

    @_needing_room()
    def __init__(self, cache_kib: int) -> None:
        # a database without a name is a temporary file
        self._database = sqlite3.connect("", isolation_level=None)
        with ExitStack() as opened:
            opened.callback(self.close)
            self._database.execute("PRAGMA page_size=16384")
            self._database.execute("PRAGMA journal_mode=OFF")
            self._database.execute("PRAGMA synchronous=OFF")
            self._database.execute(f"PRAGMA cache_size=-{cache_kib}")
            self._database.execute("BEGIN")
            opened.pop_all()

    def close(self) -> None:
        """Delete the temporary file."""
        with suppress(sqlite3.Error):
            self._database.close()


class Register(_TemporaryDatabase):
    """The key values and unique values of a source."""

    def __init__(self) -> None:
        super().__init__(_REGISTER_KIB)
        self._rules: dict[tuple[str, ...], _Seen] = {}

    @_needing_room()
    def repeated(
        self, rule: UniqueRule, lines: Sequence[int], identities: Sequence[KeyValues | None]
    ) -> list[LoadFault]:
        """The faults of rows that repeat the key or a unique value of an earlier row."""
        seen = self._seen(rule)
        compared = len(identities) - identities.count(None)
        entries = (
            (line, *values)
            for line, values in zip(lines, identities, strict=True)
            if values is not None
        )
        before = self._database.total_changes
        self._database.executemany(seen.add, entries)
        if self._database.total_changes - before == compared:
            return []
        faults: list[LoadFault] = []
        for line, values in zip(lines, identities, strict=True):
            if values is not None:
                first = self._database.execute(seen.find, values).fetchone()[0]
                if first != line:
                    faults.append(LoadFault(line, rule.name, str(problems.REPEATED(first=first))))
        return faults

    def _seen(self, rule: UniqueRule) -> "_Seen":
        seen = self._rules.get(rule.properties)
        if seen is None:
            seen = self._rules[rule.properties] = _Seen(len(self._rules), len(rule.properties))
            self._database.execute(seen.create)
        return seen


class _Seen:
    """The statements over the table with the values of a rule, and the line of each."""

    def __init__(self, number: int, properties: int) -> None:
        table = f"seen_{number}"
        columns = [f"value_{at}" for at in range(properties)]
        names, places = ", ".join(columns), ", ?" * properties
        self.create = f"CREATE TABLE {table} (line, {names}, PRIMARY KEY ({names})) WITHOUT ROWID"
        self.add = f"INSERT OR IGNORE INTO {table} VALUES (?{places})"  # noqa: S608 - names by number
        conditions = " AND ".join(f"{name} = ?" for name in columns)
        self.find = f"SELECT line FROM {table} WHERE {conditions}"  # noqa: S608 - names by number


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Stored, ...]).decode

_Spooled = tuple[int, int, bytes]
"""The number of a row's columns among all, its line, and its encoded values."""


class Spool(_TemporaryDatabase):
    """The checked rows of a source: added in its order, and read in the order to write them in.

    A file is therefore read once, and what is written is what has been checked.
    """

    @_needing_room()
    def __init__(self) -> None:
        super().__init__(_SPOOL_KIB)
        self._columns: list[Columns] = []
        self._numbers: dict[tuple[str, ...], int] = {}
        self.size = 0
        self._database.execute("CREATE TABLE spooled (columns, line, row, key)")

    @_needing_room()
    def add(self, rows: LoadRows) -> None:
        """Add the next rows."""
        header = tuple(rows.columns.position)
        number = self._numbers.setdefault(header, len(self._columns))
        if number == len(self._columns):
            self._columns.append(rows.columns)
        keys = rows.values(rows.columns.entity_set.type.key) or repeat(None)
        encoded = map(_encode, zip(*rows.by_column, strict=True))
        entries = zip(repeat(number), rows.lines, encoded, keys, strict=False)
        self._database.executemany("INSERT INTO spooled VALUES (?, ?, ?, ?)", entries)
        self.size += len(rows.lines)

    def units(self, skipped: int) -> Iterator[list[LoadRows]]:
        """The rows that each transaction writes, after the first rows of earlier ones.

        The rows are in the order of their keys where that makes no difference to the records:
        a database then fills one page after the other.
        """
        order = "key" if self.by_key else "rowid"
        select = f"SELECT columns, line, row FROM spooled ORDER BY {order}"  # noqa: S608 - one of two
        unit: list[_Spooled] = []
        length = 0
        with _needing_room():
            # with OFFSET, SQLite would not sort in bounded memory
            for spooled in islice(self._database.execute(select), skipped, None):
                size = len(spooled[-1])
                if unit and (len(unit) == ROWS_PER_CHUNK or length + size > BYTES_PER_CHUNK):
                    yield self._parts(unit)
                    unit, length = [], 0
                unit.append(spooled)
                length += size
            if unit:
                yield self._parts(unit)

    @property
    def by_key(self) -> bool:
        """Whether the rows are written in the order of their keys, not in that of the file."""
        return all(each.by_key for each in self._columns)

    def _parts(self, unit: list[_Spooled]) -> list[LoadRows]:
        """The rows of a unit; those of a part have the same columns."""
        if self.by_key:
            unit.sort(key=itemgetter(0))
        return [self._rows(number, rows) for number, rows in groupby(unit, itemgetter(0))]

    def _rows(self, number: int, spooled: Iterable[_Spooled]) -> LoadRows:
        _, lines, encoded = zip(*spooled, strict=True)
        by_column = list(zip(*map(_decode, encoded), strict=True))
        return LoadRows(self._columns[number], lines, by_column)
