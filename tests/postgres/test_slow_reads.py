"""Reads that were slow once, since the server was busy, beside reads that really are slow."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from postgres.conftest import locks_held
from process.test_condition import metric
from process.test_fair_reads import RUNNING, WAITING
from support.client import page
from support.companies import Company
from support.databases import FreshDatabase, run_sql
from support.server import Server
from support.sockets import in_full, read_answer, send
from support.waiting import until

QUICK, LONG = "contactsExt", "campaignsExt"
PARTIES, READS = 3, 4

HELD = """\
SELECT 1 FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""

HAVE_WAITED = f"{HELD} AND now() - query_start > interval '200 milliseconds'"


@pytest.fixture
def server(fresh_postgres: FreshDatabase, tmp_path: Path) -> Iterator[Server]:
    with Server.over(fresh_postgres, tmp_path, scan_seconds=600, database_connections=8) as server:
        yield server


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """The connections of reads, which end with the test."""
    with ExitStack() as stack:
        yield stack


def begun(stack: ExitStack, server: Server, company: Company, entity_set: str) -> socket.socket:
    """Send the read of a list; its response may come much later."""
    connection = stack.enter_context(server.connect())
    send(connection, in_full(company.build("GET", entity_set)))
    return connection


def made_slow(stack: ExitStack, server: Server, company: Company, entity_set: str) -> None:
    """Let the read of a list take long once."""
    database = server.settings.database
    with locks_held(database, f'LOCK TABLE "{entity_set}"'):
        reading = begun(stack, server, company, entity_set)
        until(lambda: run_sql(database, HAVE_WAITED) or None, "a statement that waits")
    assert page(read_answer(reading)).value == company.listed(entity_set)


def begin_long_reads(stack: ExitStack, server: Server, company: Company) -> None:
    """Let several clients use all permits for slow reads, until the table is unlocked."""
    stack.enter_context(locks_held(server.settings.database, f'LOCK TABLE "{LONG}"'))
    for number in range(PARTIES):
        party = company.using(server.tokens.issue(subject=f"party-{number}"))
        for _ in range(READS):
            begun(stack, server, party, LONG)
    permits = metric(server, "comptoir_scan_threads")
    waiting = PARTIES * READS - permits

    def all_wait() -> bool | None:
        return (metric(server, RUNNING), metric(server, WAITING)) == (permits, waiting) or None

    until(all_wait, "reads that use all permits")


def test_a_read_that_was_slow_once_does_not_wait_for_long_ones(
    server: Server, stack: ExitStack
) -> None:
    company = server.new_company()
    company.load(QUICK, {"number": "1", "displayName": "Desk"})
    for entity_set in (QUICK, LONG):
        made_slow(stack, server, company, entity_set)
    begin_long_reads(stack, server, company)
    assert len(company.listed(QUICK)) == 1
    assert metric(server, RUNNING) == metric(server, "comptoir_scan_threads")


def test_reads_that_are_always_slow_take_no_more_connections(
    server: Server, stack: ExitStack
) -> None:
    """The first ones that find no permit show that they are slow; the next ones just wait."""
    company = server.new_company()
    made_slow(stack, server, company, LONG)
    begin_long_reads(stack, server, company)
    permits, waiting = metric(server, "comptoir_scan_threads"), metric(server, WAITING)

    def reading() -> int:
        # other statements of a read, such as the lookup of its company, never wait for a lock
        return len(run_sql(server.settings.database, HELD))

    # an attempt that has ended is still cancelled by PostgreSQL
    until(lambda: reading() == permits or None, "the end of all attempts without a permit")
    other = company.using(server.tokens.issue(subject="another"))
    for _ in range(READS):
        begun(stack, server, other, LONG)
    held: list[int] = []

    def all_wait() -> bool | None:
        held.append(reading())
        return metric(server, WAITING) == waiting + READS or None

    until(all_wait, "reads that wait for a permit")
    assert max(held) == permits
