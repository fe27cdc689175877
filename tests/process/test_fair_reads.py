"""Heavy reads, which leave others their reads, and do not hold up refusals."""

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from comptoir.store.urls import is_postgres
from process.test_computing_long import COUNT, KEY, LONG_TEXTS, SLOW, company_with_long_texts
from process.test_condition import metric
from support.clients import add_client
from support.companies import Company
from support.databases import run_sql
from support.refusals import refusal
from support.server import Server, ShareServer
from support.sockets import in_full, read_answer, reset_at_end, send
from support.waiting import until

HEAVY_READS = 50
REFUSED = 10
BEFORE = 10
"""Heavy reads that take longer than the patience of a test, since two of a client run at once."""

SECONDS = 600
RUNNING, WAITING = "comptoir_scans_running", "comptoir_queued_scans"
BUSY = 'comptoir_refused_total{code="Internal_DatabaseBusy"}'


PARTIES, READS = 4, 4
"""Clients with long reads and the reads of each, so that another follows each that ends."""

MANY_REVOKED = """\
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO revoked SELECT 'token-' || i, 4102444800 FROM n
"""


@pytest.fixture(scope="module")
def server(share_server: ShareServer) -> Server:
    return share_server(
        scan_seconds=SECONDS, queued_scans=2 * HEAVY_READS, scan_threads=2, database_connections=8
    )


@pytest.fixture(scope="module")
def company(server: Server) -> Company:
    return company_with_long_texts(server, 4 * COUNT)


@pytest.fixture
def stack(server: Server) -> Iterator[ExitStack]:
    """The connections of reads, which end with the test."""
    with ExitStack() as stack:
        yield stack

    def is_over() -> bool | None:
        return metric(server, RUNNING) + metric(server, WAITING) == 0 or None

    until(is_over, "the end of all heavy reads, whose client has disconnected")


def begun_heavy_read(stack: ExitStack, server: Server, company: Company) -> socket.socket:
    """Send a read that takes minutes; it ends with the stack."""
    connection = stack.enter_context(server.connect())
    reset_at_end(connection)
    send(connection, in_full(company.build("GET", LONG_TEXTS, {"$filter": SLOW["a chain"]})))
    return connection


def test_one_client_with_many_heavy_reads_leaves_others_their_reads(
    server: Server, company: Company, stack: ExitStack
) -> None:
    """By key, in pages, and long ones. The client itself gets 503 above half of the bound.

    The metrics show it to the operator.
    """
    company.load("contactsExt", {"number": "1", "displayName": "Desk"})
    other = company.using(server.tokens.issue(subject="another"))
    heavy = [begun_heavy_read(stack, server, company) for _ in range(HEAVY_READS + REFUSED)]

    def ended() -> list[socket.socket]:
        return select.select(heavy, (), (), 0)[0]

    until(lambda: len(ended()) >= REFUSED or None, f"{REFUSED} refused reads")
    for _ in range(6):
        assert other.record(f"{LONG_TEXTS}({KEY})")["languageCode"] == "DEU"
        assert len(other.listed("contactsExt")) == 1
        assert len(other.listed("contactsExt", "$filter=matchesPattern(number,'1')")) == 1

    assert len(ended()) == REFUSED
    running, waiting = (metric(server, name) for name in (RUNNING, WAITING))
    assert 0 < running <= metric(server, "comptoir_scan_threads") / 2 + 0.5
    assert running + waiting == HEAVY_READS
    assert metric(server, BUSY) == REFUSED
    # those of the refused reads may have been idle for too long
    assert metric(server, "comptoir_client_connections") >= HEAVY_READS
    assert metric(server, "comptoir_descriptors") > HEAVY_READS
    assert metric(server, "comptoir_descriptor_limit") > metric(server, "comptoir_descriptors")
    on_postgres = is_postgres(server.settings.database)
    assert (metric(server, 'comptoir_database_connections{state="used"}') > 0) == on_postgres
    for each in ended():
        answer = read_answer(each)
        refusal(answer, "Internal_DatabaseBusy")
        # shorter than the longest if reads ended before
        assert 0 < int(answer.headers["retry-after"]) <= SECONDS


def test_a_waiting_read_ends_when_its_client_disconnects(
    server: Server, company: Company, stack: ExitStack
) -> None:
    """It then no longer counts as one of the client's reads."""
    since = server.log.stat().st_size
    for _ in range(BEFORE):
        begun_heavy_read(stack, server, company)
    with ExitStack() as leaving:
        begun_heavy_read(leaving, server, company)
        # the request has arrived when a later one has its response
        assert company.get("contactsExt").status_code == 200

    until(lambda: b'"status":499' in server.log.read_bytes()[since:] or None, "a request with 499")


def test_a_disabled_client_is_refused_while_all_long_reads_run(
    server: Server, company: Company, stack: ExitStack, tmp_path: Path
) -> None:
    """The clients are read beside them, even if they are too many for the event loop."""
    run_sql(server.settings.database, MANY_REVOKED)
    webshop, kept = add_client(server, tmp_path), add_client(server, tmp_path)
    token = webshop.token()
    for number in range(PARTIES):
        party = company.using(server.tokens.issue(subject=f"party-{number}"))
        for _ in range(READS):
            begun_heavy_read(stack, server, party)
    permits = metric(server, "comptoir_scan_threads")
    until(lambda: metric(server, RUNNING) == permits or None, "as many long reads as possible")

    assert server.client.using(token).get("companies").status_code == 200
    webshop.command.done("client", "disable", webshop.name)

    def is_refused() -> bool | None:
        return server.client.using(token).get("companies").status_code == 401 or None

    until(is_refused, "a refusal")
    assert server.client.using(kept.token()).get("companies").status_code == 200
    assert metric(server, RUNNING) == permits
