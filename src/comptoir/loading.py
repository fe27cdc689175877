"""Loading a file: checked whole first, then written in units, going on where it was interrupted."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.plan.load import (
    Columns,
    HeaderFault,
    LoadFault,
    LoadPlan,
    LoadRow,
    bind_chunk,
    bind_columns,
    identities,
)
from comptoir.plan.read import EVERYTHING, CountPlan
from comptoir.plan.target import Company
from comptoir.request.tabular import Chunk, FileFault, file_digest, read_chunks
from comptoir.store.protocol import Store

FAULTS_KEPT = 20
"""How many faults of a file are reported one by one; the rest are counted."""

LOADED_BY = "comptoir load"
"""Who the change log says wrote what was loaded."""

Progress = Callable[[str, int, int], None]
"""Told the stage (`check` or `write`), the rows done, and the rows in all (0 while unknown)."""


class LoadReport(msgspec.Struct):
    """What became of a file, in rows; `faults` are the first of those that were refused."""

    rows: int = 0
    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    refused: int = 0
    resumed_at: int = 0
    faults: list[LoadFault] = msgspec.field(default_factory=list)


class Loader:
    """Loads files into one company."""

    def __init__(self, store: Store, company: Company, progress: Progress) -> None:
        self._store = store
        self._company = company
        self._progress = progress

    async def load(self, path: Path, entity_set: EntitySet, *, keep_good: bool) -> LoadReport:
        """Check a file whole, then write its rows.

        With a fault in it nothing is written, or with `keep_good` the good rows are; the report
        tells the faults. A file that cannot be read to its end is refused whole either way.
        """
        report = LoadReport()
        register = _Register()
        try:
            await self._check(path, entity_set, register, report)
            if report.refused == 0 or keep_good:
                await self._write(path, entity_set, register, report)
        except FileFault as fault:
            report.refused += 1
            report.faults.append(LoadFault(fault.line, "", fault.reason))
        except HeaderFault as fault:
            report.refused += 1
            report.faults.append(LoadFault(1, "", str(fault)))
        finally:
            register.close()
        return report

    async def _check(
        self, path: Path, entity_set: EntitySet, register: "_Register", report: LoadReport
    ) -> None:
        everything = CountPlan(entity_set, self._company, EVERYTHING)
        holds_records = await self._store.count(everything) > 0
        for chunk, columns in _bound_chunks(path, entity_set):
            rows, faults = bind_chunk(columns, chunk)
            faults += [LoadFault(each.line, "", each.reason) for each in chunk.broken]
            faults += register.repeated(columns, rows)
            if holds_records:
                faults += await self._conflicts(columns, rows)
            lines = {fault.line for fault in faults}
            register.refuse(lines)
            report.refused += len(lines)
            report.faults += faults[: FAULTS_KEPT - len(report.faults)]
            report.rows += _size(chunk)
            self._progress("check", report.rows, 0)

    async def _conflicts(self, columns: Columns, rows: list[LoadRow]) -> list[LoadFault]:
        """The rows that repeat a unique value of a stored record that is not theirs."""
        entity_set = columns.entity_set
        by_rule: dict[str, list[tuple[LoadRow, tuple[str | int, ...]]]] = {}
        for row in rows:
            for name, values in identities(columns, row):
                by_rule.setdefault(name, []).append((row, values))
        own = by_rule.pop(", ".join(columns.matched_by), [])
        own_identity = {row.line: values for row, values in own}
        positions = entity_set.type.position
        faults: list[LoadFault] = []
        for rule in entity_set.type.unique:
            wanted = by_rule.get(rule.name, [])
            found = await self._store.matching(
                self._company, entity_set, rule.properties, [values for _, values in wanted]
            )
            for row, values in wanted:
                held = found.get(values)
                if held is None:
                    continue
                identity = tuple([held[positions[name] + 1] for name in columns.matched_by])
                if identity != own_identity.get(row.line):
                    key = held[positions[entity_set.type.key] + 1]
                    faults.append(
                        LoadFault(row.line, rule.name, f"has the value of the record {key}.")
                    )
        return faults

    async def _write(
        self, path: Path, entity_set: EntitySet, register: "_Register", report: LoadReport
    ) -> None:
        digest = file_digest(path)
        done = 0
        report.resumed_at = await self._store.load_mark(self._company, entity_set, digest)
        for chunk, columns in _bound_chunks(path, entity_set):
            done += _size(chunk)
            if done <= report.resumed_at:
                continue
            rows, _ = bind_chunk(columns, chunk)
            plan = LoadPlan(
                self._company,
                columns,
                register.good(rows),
                LOADED_BY,
                digest,
                done,
                finishes=done == report.rows,
            )
            loaded = await self._store.load(plan)
            report.inserted += loaded.inserted
            report.updated += loaded.updated
            report.unchanged += loaded.unchanged
            self._progress("write", done, report.rows)


def _bound_chunks(path: Path, entity_set: EntitySet) -> Iterator[tuple[Chunk, Columns]]:
    known: dict[tuple[str, ...], Columns] = {}
    for chunk in read_chunks(path):
        if chunk.columns not in known:
            known[chunk.columns] = bind_columns(entity_set, chunk.columns)
        yield chunk, known[chunk.columns]


def _size(chunk: Chunk) -> int:
    return len(chunk.rows) + len(chunk.broken)


class _Register:
    """Which identities a file has had, and which of its lines are refused; kept on disk."""

    def __init__(self) -> None:
        # a database without a name is a temporary file, of which a bounded part is in memory
        self._kept = sqlite3.connect("", isolation_level=None)
        self._kept.execute("PRAGMA synchronous=OFF")
        self._kept.execute("CREATE TABLE seen (digest BLOB PRIMARY KEY, line) WITHOUT ROWID")
        self._kept.execute("CREATE TABLE refused (line INTEGER PRIMARY KEY)")
        self._kept.execute("BEGIN")

    def repeated(self, columns: Columns, rows: Iterable[LoadRow]) -> list[LoadFault]:
        """The rows that repeat the key or a unique value of a row before them."""
        faults: list[LoadFault] = []
        for row in rows:
            for name, values in identities(columns, row):
                digest = blake2b(msgspec.json.encode((name, values)), digest_size=16).digest()
                first = self._kept.execute(
                    "INSERT INTO seen VALUES (?, ?) ON CONFLICT DO UPDATE SET line = line "
                    "RETURNING line",
                    (digest, row.line),
                ).fetchall()[0][0]
                if first != row.line:
                    faults.append(LoadFault(row.line, name, f"repeats line {first}."))
        return faults

    def refuse(self, lines: Iterable[int]) -> None:
        """Keep lines as refused."""
        self._kept.executemany("INSERT INTO refused VALUES (?)", [(line,) for line in lines])

    def good(self, rows: list[LoadRow]) -> list[LoadRow]:
        """The rows that are not refused."""
        if not rows:
            return rows
        lines = {
            line
            for (line,) in self._kept.execute(
                "SELECT line FROM refused WHERE line BETWEEN ? AND ?", (rows[0].line, rows[-1].line)
            )
        }
        return [row for row in rows if row.line not in lines] if lines else rows

    def close(self) -> None:
        """Drop what was kept."""
        self._kept.close()
