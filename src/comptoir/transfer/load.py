"""Load rows: check a source completely, then write it in units; a later run can resume."""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress

import msgspec

from comptoir.config import Settings
from comptoir.edm.model import Company, EntitySet, EntityType, KeyValues, UniqueRule
from comptoir.errors import OperatorError
from comptoir.messages import message
from comptoir.plan.read import Bounds, PagePlan, Row, all_records
from comptoir.store.store import MANY_ROWS, Store
from comptoir.transfer import Progress
from comptoir.transfer.files import BYTES_PER_CHUNK, ROWS_PER_CHUNK, Chunk, FileFault, Source
from comptoir.transfer.load_rows import (
    Columns,
    HeaderFault,
    LoadFault,
    LoadPlan,
    LoadRows,
    bind_chunk,
    bind_columns,
    rows_done,
    write_rows,
)
from comptoir.transfer.snapshot import CHANGES

FAULTS_KEPT = 20
"""The faults of a file that are reported one by one; the rest are counted."""

LONGEST_TEXT = Settings().body_bytes
"""The default limit of a text, that of a request's body."""

LOADED_BY = "comptoir load"
"""The author of loaded records in the change log."""

KEPT_BYTES = 16 << 20
"""The largest source that is kept in memory after the check; a larger one is read again."""

_REGISTER_KIB = 32_768


class LoadReport(msgspec.Struct):
    """The result of a load, in rows; `faults` are the first ones.

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
    faults: list[LoadFault] = msgspec.field(default_factory=list)


class _Part(msgspec.Struct, frozen=True):
    """Some rows of a source: their number, the valid ones, and the faults of the others.

    `length` is the approximate size of their texts in bytes. `rows` is None if the columns could
    not be bound.
    """

    size: int
    length: int
    rows: LoadRows | None
    faults: list[LoadFault]


class Loader:
    """Loads sources into one company.

    `longest_text` is the most characters of a text whose type sets no limit.
    `progress` is called with the stage `check` or `write`.
    """

    def __init__(
        self,
        store: Store,
        company: Company,
        progress: Progress,
        longest_text: int = LONGEST_TEXT,
    ) -> None:
        self._store = store
        self._company = company
        self._progress = progress
        self._longest_text = longest_text

    async def load(self, source: Source, entity_set: EntitySet, *, keep_good: bool) -> LoadReport:
        """Check a source completely, then write its rows.

        After a fault nothing is written, or with `keep_good` only the valid rows. A source that
        cannot be read to its end is never written. Raises `Refusal` if the store refuses rows that
        passed the check, and `OperatorError` if the temporary folder is full; the same call resumes
        after the written rows.
        """
        with closing(_Register()) as register:
            run = _Load(self._store, self._company, entity_set, register, self._progress)
            try:
                digest = source.digest()
                kept: list[_Part] | None = [] if source.fits(KEPT_BYTES) else None
                await run.check(self._parts(source, entity_set, kept))
                if run.report.refused == 0 or keep_good:
                    again = self._parts(source, entity_set) if kept is None else iter(kept)
                    await run.write(again, digest)
                    run.report.written = True
            except FileFault as fault:
                run.report.refused += 1
                run.report.faults.append(LoadFault(fault.line, "", fault.reason))
        return run.report

    def _parts(
        self, source: Source, entity_set: EntitySet, kept: list[_Part] | None = None
    ) -> Iterator[_Part]:
        """The parts of a source, which are also appended to `kept`."""
        known: dict[tuple[str, ...], Columns] = {}
        for chunk in source.chunks():
            faults = [LoadFault(each.line, "", each.reason) for each in chunk.broken]
            rows: LoadRows | None = None
            if chunk.rows or chunk.head is not None:
                try:
                    if chunk.columns not in known:
                        known[chunk.columns] = bind_columns(entity_set, chunk.columns)
                except HeaderFault as fault:
                    faults += _of_header(chunk, fault)
                else:
                    rows, refused = bind_chunk(known[chunk.columns], chunk, self._longest_text)
                    faults += refused
            part = _Part(chunk.size, chunk.length, rows, faults)
            if kept is not None:
                kept.append(part)
            yield part


class _Load:
    """The check and the write of one source."""

    def __init__(
        self,
        store: Store,
        company: Company,
        entity_set: EntitySet,
        register: "_Register",
        progress: Progress,
    ) -> None:
        self._store = store
        self._company = company
        self._set = entity_set
        self._register = register
        self._progress = progress
        self.report = LoadReport()

    async def check(self, parts: Iterator[_Part]) -> None:
        """Report the faults of single rows, of rows together, and of rows with stored records."""
        has_records = await self._has_records()
        numbering = _Numbering(self._set.type)
        for part in parts:
            faults = part.faults
            if part.rows is not None:
                own = await self._own_records(part.rows) if has_records else {}
                faults = faults + _lacking(part.rows, own) + numbering.mixed(part.rows)
                for rule in part.rows.columns.rules:
                    identities = part.rows.identities(rule, own)
                    faults += self._register.repeated(rule, part.rows.lines, identities)
                    if has_records and rule is not part.rows.columns.matched_by:
                        faults += await self._conflicts(part.rows, rule, identities)
            self._add(sorted(faults, key=lambda fault: fault.line))
            self.report.rows += part.size
            self._progress("check", self.report.rows, 0)
            # lets a cancellation interrupt the check
            await asyncio.sleep(0)

    def _add(self, faults: list[LoadFault]) -> None:
        lines = {fault.line for fault in faults}
        self._register.refuse(lines)
        self.report.refused += len(lines)
        self.report.faults += faults[: FAULTS_KEPT - len(self.report.faults)]

    async def _has_records(self) -> bool:
        first = PagePlan(all_records(self._set), Bounds(self._company), limit=1)
        return any([rows async for rows in self._store.page(first)])

    async def _own_records(self, rows: LoadRows) -> dict[KeyValues | None, Row]:
        """The records that the rows match, if the check of the rows needs them."""
        columns = rows.columns
        if not (columns.lacking or columns.incomplete):
            return {}
        return await self._stored(columns.matched_by, rows.matches())

    async def _stored(
        self, rule: UniqueRule, identities: Iterable[KeyValues | None]
    ) -> dict[KeyValues | None, Row]:
        wanted = [each for each in identities if each is not None]
        writes = self._store.statements.writes
        unit = writes.find(self._company.id, self._set, rule.properties, wanted)
        found = await self._store.read(unit)
        # copied, since a row without an identity is looked up too, and dict's keys are invariant
        return {values: row for values, row in found.items()}  # noqa: C416 - dict() keeps the type

    async def _conflicts(
        self, rows: LoadRows, rule: UniqueRule, identities: Sequence[KeyValues | None]
    ) -> list[LoadFault]:
        """The faults of rows with a unique value of a stored record that they do not match."""
        found = await self._stored(rule, identities)
        if not found:
            return []
        column_of = self._set.type.column_of
        names = rows.columns.matched_by.properties
        faults: list[LoadFault] = []
        for line, match, values in zip(rows.lines, rows.matches(), identities, strict=True):
            record = found.get(values)
            if record is None:
                continue
            if match != tuple([record[column_of[name]] for name in names]):
                key = record[column_of[self._set.type.key]]
                reason = message(f"has the value of the record {key}", "Choose another value.")
                faults.append(LoadFault(line, rule.name, reason))
        return faults

    async def write(self, parts: Iterator[_Part], digest: str) -> None:
        """Write the valid rows, after those that an interrupted load has written."""
        report = self.report
        report.resumed_at = await rows_done(self._store, self._company, self._set, digest)
        done = 0
        for unit in _units(parts):
            done += sum(part.size for part in unit)
            if done <= report.resumed_at:
                continue
            good = [self._register.good(part.rows) for part in unit if part.rows is not None]
            finishes = done == report.rows
            plan = LoadPlan(self._company, self._set, good, LOADED_BY, digest, done, finishes)
            loaded = await write_rows(self._store, plan)
            report.inserted += loaded.inserted
            report.updated += loaded.updated
            report.unchanged += loaded.unchanged
            self._progress("write", done, report.rows)
        written = report.inserted + report.updated
        if written and written + report.resumed_at >= MANY_ROWS:
            await self._store.refresh_statistics((self._set.name, CHANGES))


def _of_header(chunk: Chunk, fault: HeaderFault) -> list[LoadFault]:
    """The faults of a header: of the whole file, unless each record names its columns."""
    if chunk.head is not None:
        column = f"{fault.column}: " if fault.column else ""
        raise FileFault(chunk.head, column + fault.problem, fault.remedy) from None
    reason = message(fault.problem, fault.remedy)
    return [LoadFault(line, fault.column, reason) for line in chunk.lines]


def _units(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """The parts that each transaction writes."""
    unit: list[_Part] = []
    size = length = 0
    for part in parts:
        fits = size + part.size <= ROWS_PER_CHUNK and length + part.length <= BYTES_PER_CHUNK
        if unit and not fits:
            yield unit
            unit, size, length = [], 0, 0
        unit.append(part)
        size += part.size
        length += part.length
    if unit:
        yield unit


def _lacking(rows: LoadRows, own: Mapping[KeyValues | None, Row]) -> list[LoadFault]:
    """The faults of new records, if the file lacks a column that a new record needs."""
    if not rows.columns.lacking:
        return []
    name = rows.columns.lacking[0]
    reason = message("is not in the file, but a new record needs it", "Add the column.")
    return [
        LoadFault(line, name, reason)
        for line, match in zip(rows.lines, rows.matches(), strict=True)
        if match not in own
    ]


class _Numbering:
    """Checks that either all rows or none have a number for each numbered property.

    Otherwise a row without a number could get a free one that a later row contains.
    """

    def __init__(self, entity_type: EntityType) -> None:
        self._names = [each.name for each in entity_type.properties if each.numbered]
        self._first: dict[str, tuple[int, bool]] = {}

    def mixed(self, rows: LoadRows) -> list[LoadFault]:
        """The faults of rows that differ from the first one."""
        faults: list[LoadFault] = []
        for name in self._names if rows.lines else ():
            given = name in rows.columns.position
            first, expected = self._first.setdefault(name, (rows.lines[0], given))
            if given != expected:
                here = "is given" if given else "is not given"
                problem = f"{here}, unlike in line {first}"
                reason = message(problem, "Give it in every line, or in none.")
                faults += [LoadFault(line, name, reason) for line in rows.lines]
        return faults


@contextmanager
def _needing_room() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as fault:
        raise OperatorError(
            f"the data of the check cannot be written to the temporary folder: {fault}",
            "Free some space there, or name another folder with TMPDIR.",
        ) from fault


class _Register:
    """The key values and the refused lines of a source, on disk.

    Raises `OperatorError` if the disk is full.
    """

    @_needing_room()
    def __init__(self) -> None:
        # a database without a name is a temporary file; a bounded part of it is in memory
        self._database = sqlite3.connect("", isolation_level=None)
        self._tables: dict[tuple[str, ...], str] = {}
        with ExitStack() as opened:
            opened.callback(self.close)
            self._database.execute("PRAGMA synchronous=OFF")
            self._database.execute(f"PRAGMA cache_size=-{_REGISTER_KIB}")
            self._database.execute("CREATE TABLE refused (line INTEGER PRIMARY KEY)")
            self._database.execute("BEGIN")
            opened.pop_all()

    @_needing_room()
    def repeated(
        self, rule: UniqueRule, lines: Sequence[int], identities: Sequence[KeyValues | None]
    ) -> list[LoadFault]:
        """The faults of rows that repeat the key or a unique value of an earlier row."""
        table = self._table(rule)
        # texts have no NUL, so different lists of values give different texts
        entries = [
            (values[0] if len(values) == 1 else "\0".join(map(str, values)), line)
            for values, line in zip(identities, lines, strict=True)
            if values is not None
        ]
        before = self._database.total_changes
        self._database.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", entries)  # noqa: S608 - ours
        if self._database.total_changes - before == len(entries):
            return []
        find = f"SELECT line FROM {table} WHERE identity = ?"  # noqa: S608 - the name is ours
        faults: list[LoadFault] = []
        for identity, line in entries:
            first = self._database.execute(find, (identity,)).fetchone()[0]
            if first != line:
                reason = message(f"repeats line {first}", "Remove one of the lines.")
                faults.append(LoadFault(line, rule.name, reason))
        return faults

    def _table(self, rule: UniqueRule) -> str:
        table = self._tables.get(rule.properties)
        if table is None:
            table = self._tables[rule.properties] = f"seen_{len(self._tables)}"
            self._database.execute(
                f"CREATE TABLE {table} (identity PRIMARY KEY, line) WITHOUT ROWID"
            )
        return table

    @_needing_room()
    def refuse(self, lines: Iterable[int]) -> None:
        """Remember refused lines."""
        self._database.executemany("INSERT INTO refused VALUES (?)", [(line,) for line in lines])

    @_needing_room()
    def good(self, rows: LoadRows) -> LoadRows:
        """The rows that are not refused."""
        if not rows.lines:
            return rows
        refused = {
            line
            for (line,) in self._database.execute(
                "SELECT line FROM refused WHERE line BETWEEN ? AND ?",
                (rows.lines[0], rows.lines[-1]),
            )
        }
        return rows.only([line not in refused for line in rows.lines]) if refused else rows

    def close(self) -> None:
        """Delete the temporary file."""
        with suppress(sqlite3.Error):
            self._database.close()
