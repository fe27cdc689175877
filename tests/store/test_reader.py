"""Slow statements on PostgreSQL: a short load of the server has no lasting effect."""

import pytest

from comptoir.sql.prepared import Query
from comptoir.store.fair_queue import FairQueue
from comptoir.store.postgres.reader import QUICK_RUNS, SLOW_SECONDS, SlowReads

QUERY = Query("SELECT $1", ("a",))
QUICK, SLOW = SLOW_SECONDS / 2, SLOW_SECONDS * 2


@pytest.fixture
def reads() -> SlowReads:
    return SlowReads(FairQueue(permits=1, most=1, seconds=60))


def test_a_statement_is_slow_after_a_slow_run_with_any_values(reads: SlowReads) -> None:
    reads.record(QUERY, QUICK)
    assert not reads.has(QUERY)

    reads.record(QUERY, SLOW)

    assert reads.has(QUERY)
    assert reads.has(Query(QUERY.text, ("b",)))
    assert not reads.has(Query("SELECT $1, $2", ("a", "b")))


def test_a_slow_statement_becomes_quick_after_consecutive_quick_runs(reads: SlowReads) -> None:
    reads.record(QUERY, SLOW)
    for _ in range(QUICK_RUNS - 1):
        reads.record(QUERY, QUICK)
    assert reads.has(QUERY)
    reads.record(QUERY, SLOW)
    for _ in range(QUICK_RUNS - 1):
        reads.record(QUERY, QUICK)
    assert reads.has(QUERY)

    reads.record(QUERY, QUICK)

    assert not reads.has(QUERY)
