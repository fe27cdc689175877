"""Rows are made as they are read: memory does not grow with the size."""

import tracemalloc
from collections import deque
from itertools import islice

import pytest

from comptoir.samples import SampleSize, sample_company

MIB = 1 << 20


def peak(size: SampleSize, rows: int, *kinds: str) -> int:
    """The most memory, in bytes, held while the first rows of kinds (or all) are read."""
    tracemalloc.start()
    try:
        for table in sample_company(size):
            if not kinds or table.entity_set in kinds:
                deque(islice(table.rows, rows), maxlen=0)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_first_rows_of_a_large_company_cost_no_more_than_those_of_a_small_one() -> None:
    assert peak(SampleSize.LARGE, 5) < peak(SampleSize.SMALL, 5) + MIB


@pytest.mark.parametrize("kind", ["contactsExt", "customersExt", "salesPricesExt"])
def test_rows_that_are_read_are_not_kept(kind: str) -> None:
    """Ten thousand rows would take ten MiB and more; known slugs of words may take some."""
    assert peak(SampleSize.LARGE, 10_000, kind) < peak(SampleSize.LARGE, 100, kind) + 4 * MIB
