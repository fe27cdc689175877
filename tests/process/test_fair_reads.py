"""One client with many heavy reads leaves others their reads."""

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.urls import is_postgres
from process.test_computing_long import KEY, LONG_TEXTS, SLOW, company_with_long_texts
from process.test_condition import metric
from support.companies import Company
from support.databases import FreshDatabase
from support.refusals import refusal
from support.server import Server
from support.sockets import head, read_answer, send
from support.waiting import until

HEAVY_READS = 50
REFUSED = 10
BEFORE = 10
"""Heavy reads that take longer than the patience of a test, since two of a client run at once."""

SECONDS = 600
RUNNING, WAITING = "comptoir_scans_running", "comptoir_queued_scans"
BUSY = 'comptoir_refused_total{code="Internal_DatabaseBusy"}'


@pytest.fixture
def server(fresh_database: FreshDatabase, tmp_path: Path) -> Iterator[Server]:
    settings = Settings(
        database=fresh_database(tmp_path, MODEL),
        keys=str(tmp_path / "keys"),
        scan_seconds=SECONDS,
        queued_scans=2 * HEAVY_READS,
        scan_threads=2,
        database_connections=8,
    )
    with Server(settings, tmp_path) as server:
        yield server


def begun_heavy_read(stack: ExitStack, server: Server, company: Company) -> socket.socket:
    """Send a read that takes minutes; it ends with the stack."""
    path = company.root.removeprefix(server.origin.root)
    query = company.build("GET", LONG_TEXTS, {"$filter": SLOW["a chain"]}).url.query.decode()
    connection = stack.enter_context(server.connect())
    sent = {"Authorization": f"Bearer {company.token}"}
    send(connection, head("GET", f"{path}/{LONG_TEXTS}?{query}", sent))
    return connection


def test_one_client_with_many_heavy_reads_leaves_others_their_reads(server: Server) -> None:
    """By key, in pages, and long ones. The client itself gets 503 above half of the bound.

    The metrics show it to the operator.
    """
    company = company_with_long_texts(server)
    company.load("contactsExt", {"number": "1", "displayName": "Desk"})
    other = company.using(server.tokens.issue(subject="another"))
    with ExitStack() as stack:
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
            assert answer.headers["retry-after"] == f"{SECONDS}"

    def is_over() -> bool | None:
        return True if metric(server, RUNNING) + metric(server, WAITING) == 0 else None

    until(is_over, "the end of all heavy reads, whose client has disconnected")


def test_a_waiting_read_ends_when_its_client_disconnects(server: Server) -> None:
    """It then no longer counts as one of the client's reads."""
    company = company_with_long_texts(server)
    with ExitStack() as stack:
        for _ in range(BEFORE):
            begun_heavy_read(stack, server, company)
        with ExitStack() as leaving:
            begun_heavy_read(leaving, server, company)
            # the request has arrived when a later one has its response
            assert company.get("contactsExt").status_code == 200

        until(lambda: b'"status":499' in server.log.read_bytes() or None, "a request with 499")
