"""Compare the stored JSON of records with their columns, and repair it.

Services may be running: a record and its JSON are read by one statement. A repair does not change
the version of a record or the change log. It skips a record that has changed since it was read,
because that change has stored its JSON.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import cast

import msgspec

from comptoir.edm.model import Company, EntitySet, EntityType
from comptoir.edm.record_json import JsonColumns, RecordEncoder, record_encoder
from comptoir.edm.types import Stored
from comptoir.plan.read import Row
from comptoir.sql.prepared import Steps
from comptoir.sql.tables import JSON
from comptoir.store.store import Store
from comptoir.store.unit import UnitOfWork
from comptoir.transfer import ShowProgress
from comptoir.transfer.snapshot import Snapshot, open_snapshot

KEYS_KEPT = 5
"""The most keys in a report."""


class CheckReport(msgspec.Struct):
    """How many records are checked, and how many of them have wrong or outdated JSON.

    Wrong JSON is sent to clients. Outdated JSON, which is missing or has another version or layout,
    is not. `wrong_keys` are the keys of the first records with wrong JSON.
    """

    records: int = 0
    wrong: int = 0
    outdated: int = 0
    wrong_keys: list[Stored] = msgspec.field(default_factory=list)


class _Progress(msgspec.Struct):
    """The check of an entity set, up to the key `last`; `total` is its number of records."""

    entity_set: EntitySet
    report: CheckReport = msgspec.field(default_factory=CheckReport)
    total: int = 0
    last: Stored | None = None


class Checker:
    """Checks the records of a company, and stores their JSON again if it `repairs`."""

    def __init__(
        self, store: Store, company: Company, show_progress: ShowProgress, *, repairs: bool
    ) -> None:
        self._store = store
        self._company_id = company.id
        self._show_progress = show_progress
        self._repairs = repairs

    async def check(
        self, entity_sets: Iterable[EntitySet]
    ) -> AsyncGenerator[tuple[EntitySet, CheckReport], None]:
        """Check the records of entity sets, one set after the other.

        Each repair begins another snapshot: while one is open, the database keeps the rows that
        repairs replace.
        """
        left = [_Progress(each) for each in entity_sets]
        while left:
            found: list[Row] = []
            async with open_snapshot(self._store) as snapshot:
                while left and not found:
                    found = await self._compare(snapshot, left[0])
                    if not found:
                        checked = left.pop(0)
                        yield checked.entity_set, checked.report
            if found:
                repair = partial(_write_json, left[0].entity_set, found)
                await self._store.transact(self._company_id, repair)

    async def _compare(self, snapshot: Snapshot, progress: _Progress) -> list[Row]:
        """Check the records after the last one; ends early with those to repair."""
        entity_set, report = progress.entity_set, progress.report
        key = entity_set.type.column_of[entity_set.type.key]
        if progress.last is None:
            progress.total = await snapshot.count(entity_set.name, self._company_id)
        rows = snapshot.records_with_json(self._company_id, entity_set, progress.last)
        async with aclosing(rows) as slices:
            async for some in slices:
                found = list(_differing(entity_set.type, some, report))
                report.records += len(some)
                progress.last = some[-1][key]
                self._show_progress(f"checking {entity_set.name}", report.records, progress.total)
                if found and self._repairs:
                    return found
        return []


def _differing(entity_type: EntityType, rows: Iterable[Row], report: CheckReport) -> Iterator[Row]:
    """The records whose JSON is not that of their columns; counts them in the report."""
    encoder = record_encoder(entity_type)
    for each in rows:
        row, stored = each[: -len(JSON)], cast("JsonColumns", each[-len(JSON) :])
        if stored == encoder.columns(row):
            continue
        if not _is_wrong(encoder, row, stored):
            report.outdated += 1
        else:
            report.wrong += 1
            if len(report.wrong_keys) < KEYS_KEPT:
                report.wrong_keys.append(row[entity_type.column_of[entity_type.key]])
        yield row


def _is_wrong(encoder: RecordEncoder, row: Row, stored: JsonColumns) -> bool:
    """Whether this JSON is sent to clients, and differs from the columns."""
    encoded, version, layout = stored
    is_sent = bool(encoded) and (version, layout) == (row[0], encoder.layout)
    return is_sent and encoded != encoder.encode(row)


def _write_json(entity_set: EntitySet, rows: Sequence[Row], unit: UnitOfWork) -> Steps[None]:
    yield unit.statements.json_checks.write(unit.company_id, entity_set, rows)
