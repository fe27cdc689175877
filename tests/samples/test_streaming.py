"""Rows are generated as they are read: memory does not grow with the size."""

import tracemalloc
from collections import deque
from itertools import islice

import pytest

from comptoir.samples import SampleSize, sample_company
from support.effort import examples

MIB = 1 << 20
ROWS = examples(10_000)


def peak(size: SampleSize, rows: int, *entity_sets: str) -> int:
    """The peak memory in bytes while the first rows of entity sets, or of all, are read."""
    tracemalloc.start()
    try:
        for table in sample_company(size):
            if not entity_sets or table.entity_set in entity_sets:
                deque(islice(table.rows, rows), maxlen=0)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_first_rows_of_a_large_company_take_no_more_memory_than_of_a_small_one() -> None:
    assert peak(SampleSize.LARGE, 5) < peak(SampleSize.SMALL, 5) + MIB


@pytest.mark.parametrize("entity_set", ["contactsExt", "customersExt", "salesPricesExt"])
def test_rows_that_are_read_are_not_kept(entity_set: str) -> None:
    """A row takes 1 KiB or more; the cache of slugs may take some, too."""
    assert (
        peak(SampleSize.LARGE, ROWS, entity_set)
        < peak(SampleSize.LARGE, 100, entity_set) + ROWS * 420
    )
