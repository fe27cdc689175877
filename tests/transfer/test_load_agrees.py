"""A load has the same result on both databases: report, records, versions and change log."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.features.transfer.load import LoadReport
from comptoir.plan.read import Row
from comptoir.store.ledger import Change
from support.databases import FreshDatabase
from support.load_target import LoadTarget
from support.random_files import RESOURCES, random_files
from support.together import together

SEEDS = (3, 4, 7)
"""Files of some hundred rows that are inserted, updated, unchanged and refused."""

FILES = 12
GIVEN = "2020"
"""The first characters of every time in a file; other times are from the load."""


@pytest.fixture
def both(
    fresh_sqlite: FreshDatabase, fresh_postgres: FreshDatabase, tmp_path: Path
) -> Iterator[tuple[LoadTarget, LoadTarget]]:
    with (
        LoadTarget(tmp_path, fresh_sqlite(tmp_path, MODEL), "") as sqlite,
        LoadTarget(tmp_path, fresh_postgres(tmp_path, MODEL), "") as postgres,
    ):
        yield sqlite, postgres


@together("seed", SEEDS)
def test_the_same_files_give_the_same_records(
    seed: int, both: tuple[LoadTarget, LoadTarget], tmp_path: Path
) -> None:
    targets = [each.another(tmp_path) for each in both]
    for file in random_files(seed, FILES):
        mine, other = (
            each.load(file.name, file.content, keep_good=file.keep_good) for each in targets
        )
        assert _told(mine) == _told(other)
    one, another = map(_seen, targets)
    assert one == another


def _told(report: LoadReport) -> str:
    """A report without the ids of records, which differ between databases."""
    return re.sub(r"record [-0-9a-f]{36}", "record …", repr(report))


def _seen(load_target: LoadTarget) -> tuple[list[tuple[object, ...]], dict[str, list[Row]]]:
    """The change log and the records, without generated ids and times."""
    changes = load_target.changes()
    created = {each.record: each.number for each in changes if each.verb == "create"}
    log = [_line(each, created[each.record]) for each in changes]
    assert [each.at for each in changes] == sorted(each.at for each in changes)
    rows = {name: _rows(load_target, name, created) for name in set(RESOURCES)}
    return log, rows


def _line(change: Change, created: int) -> tuple[object, ...]:
    return change.number, change.entity_set, created, change.verb, change.by


def _rows(load_target: LoadTarget, name: str, created: dict[str, int]) -> list[Row]:
    entity_type = MODEL.by_name[name].type
    found: list[Row] = []
    for version, *values in load_target.rows(name):
        record = dict(zip(entity_type.by_name, values, strict=True))
        record[entity_type.key] = created[str(record[entity_type.key])]
        stamp = entity_type.modified_at
        if stamp is not None and not str(record[stamp.name]).startswith(GIVEN):
            record[stamp.name] = ""
        found.append((version, *record.values()))
    return sorted(found)
