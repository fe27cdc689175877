"""Every record is valid in the model: types, required properties, unique rules."""

from collections.abc import Iterator
from itertools import islice

import pytest

from comptoir.catalog import MODEL
from comptoir.edm.model import EntityType
from comptoir.samples import SampleSize, SampleTable, sample_company
from support.effort import IN_CI

CHUNK = 10_000
ENTITY_SETS = [table.entity_set for table in sample_company(SampleSize.SMALL)]


def table_of(entity_set: str, size: SampleSize, seed: int) -> SampleTable:
    return next(table for table in sample_company(size, seed) if table.entity_set == entity_set)


def chunks(table: SampleTable, most: int | None) -> Iterator[list[tuple[str, ...]]]:
    rows = islice(table.rows, most)
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


def assert_valid(table: SampleTable, most: int | None = None) -> None:
    entity_type = MODEL.by_name[table.entity_set].type
    rules = [entity_type.key], *(list(rule.properties) for rule in entity_type.unique)
    seen: list[set[tuple[str, ...]]] = [set() for _ in rules]
    count = 0
    for chunk in chunks(table, most):
        count += len(chunk)
        assert_values_fit(entity_type, chunk)
        for known, names in zip(seen, rules, strict=True):
            at = [table.columns.index(name) for name in names]
            known.update(tuple(row[each] for each in at) for row in chunk)
    for known, names in zip(seen, rules, strict=True):
        assert len(known) == count, f"{table.entity_set} repeats {names}"


def assert_values_fit(entity_type: EntityType, rows: list[tuple[str, ...]]) -> None:
    """Raises `ValueFault` for a cell that its type does not accept."""
    for declared, cells in zip(entity_type.properties, zip(*rows, strict=True), strict=True):
        stored = declared.type.from_texts(cells)
        if declared.required or declared.name == entity_type.key:
            assert declared.type.default not in stored, f"{entity_type.name} lacks {declared.name}"


@pytest.mark.parametrize("seed", [0, 1, 2, 26, -1, 2**64])
@pytest.mark.parametrize("entity_set", ENTITY_SETS)
def test_every_small_company_is_valid(entity_set: str, seed: int) -> None:
    assert_valid(table_of(entity_set, SampleSize.SMALL, seed))


@pytest.mark.parametrize("entity_set", ENTITY_SETS)
def test_the_medium_company_is_valid(entity_set: str) -> None:
    assert_valid(table_of(entity_set, SampleSize.MEDIUM, seed=1), None if IN_CI else 2 * CHUNK)


def test_cells_have_the_format_in_which_a_dump_writes_them() -> None:
    for table in sample_company(SampleSize.SMALL):
        entity_type = MODEL.by_name[table.entity_set].type
        for row in table.rows:
            for declared, cell in zip(entity_type.properties, row, strict=True):
                assert not cell or declared.type.to_text(declared.type.from_text(cell)) == cell
