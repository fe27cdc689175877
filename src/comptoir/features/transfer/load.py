"""Load rows: check a source completely, then write it in units; a later run can resume.

The unique values seen so far, and the checked rows, are in a temporary database, of which a bounded
part is in memory.
"""

import asyncio
import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import groupby, islice, repeat
from operator import itemgetter

import apsw
import msgspec

from comptoir.config import Settings
from comptoir.edm.model import Company, EntitySet, KeyValues, UniqueRule
from comptoir.edm.types import Stored
from comptoir.features.transfer import errors as problems
from comptoir.features.transfer.files import (
    BYTES_PER_CHUNK,
    ROWS_PER_CHUNK,
    Chunk,
    FileError,
    FileSource,
    LoadError,
)
from comptoir.features.transfer.load_rows import (
    Columns,
    LoadPlan,
    LoadRows,
    bind_chunk,
    bind_columns,
    load_steps,
    rows_done,
)
from comptoir.plan.read import Bounds, PagePlan, Row, all_records
from comptoir.store.snapshot import CHANGES, ShowProgress
from comptoir.store.store import MANY_ROWS, Store

ERRORS_KEPT = 20
"""The errors of a file that are reported one by one; the rest are counted."""

LONGEST_TEXT = Settings().body_bytes
"""The default limit of a text, that of a request's body."""

LOADED_BY = "comptoir load"
"""The author of loaded records in the change log."""

MANY_OBJECTS = 20_000
"""The new objects after which the garbage collector runs during a load."""


class LoadReport(msgspec.Struct):
    """The result of a load, in rows; `errors` are the first ones.

    `written`: all rows but the refused ones were written. `resumed_at` is the number of rows that
    an interrupted load had written.
    """

    rows: int = 0
    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    refused: int = 0
    resumed_at: int = 0
    written: bool = False
    errors: list[LoadError] = msgspec.field(default_factory=list)


_CACHE_KIB = 32_768
"""The cache of the temporary database, and the most memory in which SQLite sorts its rows."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Stored, ...]).decode

_Spooled = tuple[int, int, bytes]
"""The number of a row's columns among all, its line, and its encoded values."""


@contextmanager
def _needing_room() -> Iterator[None]:
    try:
        yield
    except (OSError, apsw.Error) as error:
        raise problems.NO_TEMPORARY_FOLDER(reason=error) from error


class Staging:
    """The unique values and the checked rows of a source, in a temporary file.

    Rows are added in the order of the source, and read in the order to write them in. A file is
    therefore read once, and what is written is what has been checked. Raises `OperatorError` if the
    disk is full.
    """

    @_needing_room()
    def __init__(self, database: apsw.Connection) -> None:
        self._columns: list[Columns] = []
        self._numbers: dict[tuple[str, ...], int] = {}
        self._rules: dict[tuple[str, ...], int] = {}
        self.size = 0
        self._database = database
        database.execute(
            f"PRAGMA page_size=16384; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            f"PRAGMA cache_size=-{_CACHE_KIB}; BEGIN;"
            "CREATE TABLE seen (rule, value, line, PRIMARY KEY (rule, value)) WITHOUT ROWID;"
            "CREATE TABLE spooled (columns, line, row, key);"
        ).fetchall()

    @_needing_room()
    def repeated(
        self, rule: UniqueRule, lines: Sequence[int], identities: Sequence[KeyValues | None]
    ) -> list[LoadError]:
        """The errors of rows that repeat the key or a unique value of an earlier row."""
        number = self._rules.setdefault(rule.properties, len(self._rules))
        # a single value needs no encoding
        encode = _encode if len(rule.properties) > 1 else itemgetter(0)
        entries = [
            (number, encode(values), line)
            for line, values in zip(lines, identities, strict=True)
            if values is not None
        ]
        before = self._database.total_changes()
        self._database.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?, ?)", entries)
        if self._database.total_changes() - before == len(entries):
            return []
        errors: list[LoadError] = []
        find = "SELECT line FROM seen WHERE rule = ? AND value = ?"
        for _, value, line in entries:
            ((first,),) = self._database.execute(find, (number, value))
            if first != line:
                errors.append(LoadError(line, rule.name, str(problems.REPEATED(first=first))))
        return errors

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


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let the garbage collector visit rows less often: they are many, and have no cycles."""
    thresholds = gc.get_threshold()
    gc.set_threshold(MANY_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


async def load_source(
    store: Store,
    company: Company,
    source: FileSource,
    entity_set: EntitySet,
    show_progress: ShowProgress,
    *,
    keep_good: bool,
    longest_text: int = LONGEST_TEXT,
) -> LoadReport:
    """Check a source completely, then write its rows into a company.

    After an error nothing is written, or with `keep_good` only the valid rows. A source that cannot
    be read to its end is never written. `longest_text` is the most characters of a text whose type
    sets no limit. Raises `Refusal` if the store refuses rows that passed the check, and
    `OperatorError` if the temporary folder is full; the same call resumes after the written rows.
    """
    run = _Load(store, company, entity_set, show_progress, longest_text)
    with _needing_room():
        # a database without a name is a temporary file
        database = apsw.Connection("")
    with _rare_collections(), closing(database):
        staging = Staging(database)
        try:
            digest = source.digest()
            await run.check(source, staging)
        except FileError as error:
            run.report.refused += 1
            run.report.errors.append(error.error)
        else:
            if run.report.refused == 0 or keep_good:
                await run.write(staging, digest)
                run.report.written = True
    return run.report


@dataclass
class _Load:
    """The check and the write of one source.

    `first` has, by numbered property, the first row, and whether it has a number. `refused` is a
    digest of the refused lines.
    """

    store: Store
    company: Company
    entity_set: EntitySet
    show_progress: ShowProgress
    longest_text: int
    report: LoadReport = field(default_factory=LoadReport)
    columns: dict[tuple[str, ...], Columns] = field(default_factory=dict)
    first: dict[str, tuple[int, bool]] = field(default_factory=dict)
    refused: bytes = b""

    async def check(self, source: FileSource, staging: Staging) -> None:
        """Report the errors of rows alone, together and with stored records; stage the others."""
        has_records = await self._has_records()
        for chunk in source.chunks():
            rows, errors = self._bound(chunk)
            if rows is not None:
                own: Mapping[KeyValues | None, Row] = {}
                if has_records and rows.columns.needs_records:
                    own = await self._stored(rows.columns.matched_by, rows.matches())
                errors += _lacking(rows, own) + self._mixed(rows)
                for rule in rows.columns.rules:
                    identities = rows.identities(rule, own)
                    errors += staging.repeated(rule, rows.lines, identities)
                    if has_records and rule is not rows.columns.matched_by:
                        errors += await self._conflicts(rows, rule, identities)
            refused = self._add(sorted(errors, key=lambda error: error.line))
            if rows is not None:
                staging.add(rows.without(refused))
            self.report.rows += len(chunk.lines) + len(chunk.broken)
            self.show_progress(f"checking {self.entity_set.name}", self.report.rows, 0)
            # lets a cancellation interrupt the check
            await asyncio.sleep(0)

    def _bound(self, chunk: Chunk) -> tuple[LoadRows | None, list[LoadError]]:
        """The valid rows of a chunk, None without columns, and the errors of the others."""
        errors = list(chunk.broken)
        if not chunk.rows and chunk.head is None:
            return None, errors
        try:
            if chunk.columns not in self.columns:
                bound = bind_columns(self.entity_set, chunk.columns, chunk.head or 0)
                self.columns[chunk.columns] = bound
        except FileError as error:
            if chunk.head is not None:
                raise
            # each record names its own columns
            _, column, reason = msgspec.structs.astuple(error.error)
            return None, errors + [LoadError(line, column, reason) for line in chunk.lines]
        rows, refused = bind_chunk(self.columns[chunk.columns], chunk, self.longest_text)
        return rows, errors + refused

    def _mixed(self, rows: LoadRows) -> list[LoadError]:
        """The errors of rows that differ from the first one in having a number.

        Otherwise a row without a number could get a free one that a later row contains.
        """
        errors: list[LoadError] = []
        numbered = [each.name for each in self.entity_set.type.properties if each.numbered]
        for name in numbered if rows.lines else ():
            given = name in rows.columns.position
            first, expected = self.first.setdefault(name, (rows.lines[0], given))
            if given != expected:
                row = problems.GIVEN_HERE if given else problems.NOT_GIVEN_HERE
                errors += [LoadError(line, name, str(row(first=first))) for line in rows.lines]
        return errors

    def _add(self, errors: list[LoadError]) -> set[int]:
        """Add errors to the report; returns the refused lines."""
        lines = {error.line for error in errors}
        self.refused = sha256(self.refused + f"{sorted(lines)}".encode()).digest()
        self.report.refused += len(lines)
        self.report.errors += errors[: ERRORS_KEPT - len(self.report.errors)]
        return lines

    async def _has_records(self) -> bool:
        first = PagePlan(all_records(self.entity_set), Bounds(self.company), limit=1)
        return any([rows async for rows in self.store.page(first)])

    async def _stored(
        self, rule: UniqueRule, identities: Iterable[KeyValues | None]
    ) -> dict[KeyValues | None, Row]:
        wanted = [each for each in identities if each is not None]
        writes = self.store.statements.writes
        unit = writes.find(self.company.id, self.entity_set, rule.properties, wanted)
        found = await self.store.read(unit)
        # copied, since a row without an identity is looked up too, and dict's keys are invariant
        return dict(found.items())

    async def _conflicts(
        self, rows: LoadRows, rule: UniqueRule, identities: Sequence[KeyValues | None]
    ) -> list[LoadError]:
        """The errors of rows with a unique value of a stored record that they do not match."""
        found = await self._stored(rule, identities)
        if not found:
            return []
        column_of = self.entity_set.type.column_of
        names = rows.columns.matched_by.properties
        errors: list[LoadError] = []
        for line, match, values in zip(rows.lines, rows.matches(), identities, strict=True):
            record = found.get(values)
            if record is None:
                continue
            if match != tuple([record[column_of[name]] for name in names]):
                key = record[column_of[self.entity_set.type.key]]
                errors.append(LoadError(line, rule.name, str(problems.VALUE_TAKEN(key=key))))
        return errors

    async def write(self, staging: Staging, digest: str) -> None:
        """Write the valid rows, after those that an interrupted load has written."""
        report = self.report
        alone_until: int | None = None
        # the number of rows done says which they are only if the rows and their order are the same
        order = "by key" if staging.by_key else "by line"
        progress = sha256(f"{digest} {self.refused.hex()} {order}".encode()).hexdigest()
        done = report.resumed_at = await rows_done(
            self.store, self.company, self.entity_set, progress
        )
        for unit in staging.units(skipped=done):
            done += sum(len(rows.lines) for rows in unit)
            plan = LoadPlan(
                self.company,
                self.entity_set,
                unit,
                LOADED_BY,
                progress,
                rows_done=done,
                finishes=done == staging.size,
                alone_until=alone_until,
            )
            loaded = await self.store.transact(self.company.id, partial(load_steps, plan))
            alone_until = loaded.alone_until
            report.inserted += loaded.inserted
            report.updated += loaded.updated
            report.unchanged += loaded.unchanged
            self.show_progress(f"writing {self.entity_set.name}", done, staging.size)
        written = report.inserted + report.updated
        if written and written + report.resumed_at >= MANY_ROWS:
            await self.store.refresh_statistics((self.entity_set.name, CHANGES))


def _lacking(rows: LoadRows, own: Mapping[KeyValues | None, Row]) -> list[LoadError]:
    """The errors of new records, if the file lacks a column that a new record needs."""
    if not rows.columns.lacking:
        return []
    name = rows.columns.lacking[0]
    reason = str(problems.LACKING_COLUMN())
    return [
        LoadError(line, name, reason)
        for line, match in zip(rows.lines, rows.matches(), strict=True)
        if match not in own
    ]
