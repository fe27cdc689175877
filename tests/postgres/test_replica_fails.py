"""An unusable replica: the primary serves the reads, and clients do not notice."""

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Literal

import msgspec
import pytest

from comptoir.config import Settings
from comptoir.store import store
from comptoir.store.postgres import replica_reads
from postgres.conftest import Served, locks_held
from postgres.replication import Pair, ReplicatedService
from support.client import Page, page, values
from support.postgres import Postgres, name_of
from support.replicas import READ_ONLY, counted, outcomes, token
from support.server import Server
from support.service import Service
from support.sockets import http_client
from support.standby import Standby
from support.waiting import until

UNHURT_SECONDS = 30
"""More than a read takes on a slow machine, and less than the service waits for its database."""


def reads(replicated: ReplicatedService, name: str, number: int = 5) -> None:
    """Read several times, each time with the right response and without a delay."""
    for _ in range(number):
        began = monotonic()
        assert replicated.name(READ_ONLY) == name
        assert monotonic() - began < UNHURT_SECONDS


def served_again(replicated: ReplicatedService) -> None:
    """Return once the replica serves reads again."""
    before = replicated.outcomes().get("replica", 0)

    def look() -> Literal[True] | None:
        replicated.name(READ_ONLY)
        return True if replicated.outcomes().get("replica", 0) > before else None

    until(look, "a replica that serves reads")


def test_reads_avoid_a_crashed_replica_until_it_is_back(
    replicated: ReplicatedService, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert replicated.name(READ_ONLY) == "old"
    written = token(replicated.rename("new"))
    replicated.standby.kill()

    reads(replicated, "new")

    assert replicated.name(written) == "new"
    assert replicated.outcomes() == {"replica": 1, "failed": 1, "paused": 5}
    replicated.standby.start()
    replicated.standby.catch_up()
    monkeypatch.setattr(replica_reads, "PAUSE_SECONDS", 0.0)
    served_again(replicated)
    logged = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert len(logged) == 2
    assert "reads go to the primary" in logged[0]
    assert "can be used again" in logged[1]


def test_a_restarted_replica_serves_reads_immediately(replicated: ReplicatedService) -> None:
    assert replicated.name(READ_ONLY) == "old"

    replicated.standby.restart()

    assert replicated.name(READ_ONLY) == "old"
    assert replicated.outcomes() == {"replica": 2}


def test_a_replica_that_hangs_delays_reads_for_a_limited_time(
    replicated: ReplicatedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert replicated.name(READ_ONLY) == "old"
    monkeypatch.setattr(replica_reads, "REACH_SECONDS", 1.0)

    with replicated.standby.hung():
        reads(replicated, "old")
        assert replicated.outcomes() == {"replica": 1, "failed": 1, "paused": 4}


def test_the_replica_serves_reads_while_the_primary_hangs(
    replicated: ReplicatedService, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    # every request that may read from the primary looks up the company
    monkeypatch.setattr(store, "COMPANY_CACHE_SECONDS", 0)
    assert replicated.name(READ_ONLY) == "old"

    with pair.primary.hung():
        reads(replicated, "old")


def test_a_promoted_replica_serves_no_reads(served: Served) -> None:
    """Its change numbers may reach that of a token, but they count different changes."""
    with Postgres() as primary, Standby(primary) as standby:
        replicated = ReplicatedService.on(Pair(primary, standby), served)
        assert replicated.name(READ_ONLY) == "old"
        standby.promote()
        own = name_of(replicated.service.settings.read_database)
        standby.administer("UPDATE \"shippingAgentsExt\" SET name = 'strayed'", database=own)
        standby.administer("UPDATE companies SET change_number = 99", database=own)
        written = token(replicated.rename("new"))

        assert replicated.name(written) == "new"
        reads(replicated, "new")

    assert replicated.outcomes() == {"replica": 1, "failed": 1, "paused": 5}


def test_a_replica_that_starts_later_delays_no_read(pair: Pair, served: Served) -> None:
    url = pair.new_database()
    pair.standby.stop()
    service = served(url, read_database=pair.standby.url_of(url))
    company = service.new_company()
    company.post("shippingAgentsExt", {"code": "DHL"})

    assert len(values(company.get("shippingAgentsExt", headers=READ_ONLY))) == 1
    assert outcomes(service) == {"failed": 1}


def test_a_copy_of_the_database_serves_no_reads(pair: Pair, served: Served, tmp_path: Path) -> None:
    """Although it has the same companies, and is on the standby."""
    url = pair.new_database()
    with Service(lambda *_: url, tmp_path) as before:
        company_id = before.new_company().id
    copy = pair.primary.new_database(url)
    pair.standby.catch_up()
    service = served(url, read_database=pair.standby.url_of(copy))
    agents = f"companies({company_id})/shippingAgentsExt"
    service.client.post(agents, {"code": "DHL"})

    assert len(values(service.client.get(agents, headers=READ_ONLY))) == 1
    assert outcomes(service) == {"failed": 1}


@pytest.fixture
def hasty(pair: Pair) -> Iterator[Pair]:
    """The servers; the standby does not wait for reads that block its replay."""
    pair.standby.configure({"max_standby_streaming_delay": 0})
    pair.standby.reload()
    yield pair
    # the next tests have the same standby
    pair.standby.configure({"max_standby_streaming_delay": "30s"})
    pair.standby.reload()


def test_the_primary_serves_a_read_that_blocks_the_replay(hasty: Pair, served: Served) -> None:
    """PostgreSQL cancels it: `canceling statement due to conflict with recovery`."""
    replicated = ReplicatedService.on(hasty, served)
    replicated.company.load("customersExt", {"number": "10000", "displayName": "Shop"})
    hasty.standby.catch_up()
    database = replicated.service.settings.database

    # the replay has a lock that the read waits for, and then waits for a lock of the read
    with ThreadPoolExecutor(1) as thread, locks_held(database, 'LOCK TABLE "salesPricesExt"'):
        hasty.standby.catch_up()
        query = "$filter=not salesPrices/any()"
        answer = thread.submit(replicated.company.get, "customersExt", query, READ_ONLY)
        until(lambda: waiting(hasty), "a read that waits")
        with locks_held(database, 'LOCK TABLE "customersExt"'):
            hasty.standby.catch_up()
    assert len(page(answer.result()).value) == 1
    assert "canceling statement due to conflict with recovery" in hasty.standby.log.read_text()
    assert replicated.outcomes() == {"failed": 1}
    assert replicated.name(READ_ONLY) == "old"
    assert replicated.outcomes() == {"failed": 1, "replica": 1}


def waiting(pair: Pair) -> Literal[True] | None:
    sessions = (
        "SELECT 1 FROM pg_stat_activity WHERE usename = 'comptoir' AND wait_event_type = 'Lock'"
    )
    return True if pair.standby.asked(sessions) else None


def test_a_page_continues_on_the_primary_after_a_crash_of_the_replica(
    pair: Pair, tmp_path: Path
) -> None:
    url = pair.new_database()
    settings = Settings(
        database=url, read_database=pair.standby.url_of(url), keys=str(tmp_path / "keys")
    )
    numbers = [f"C-{n:04}" for n in range(5_000)]
    with Server(settings, tmp_path) as server:
        company = server.new_company()
        long = "long " * 800
        company.load("campaignsExt", *[{"number": n, "description": long} for n in numbers])
        pair.standby.catch_up()

        def look() -> Mapping[str, int] | None:
            """The outcomes of reads when the service has connected to the replica in time."""
            company.get("shippingAgentsExt", headers=READ_ONLY)
            found = counted(server.origin.get("metrics").text)
            return found if "replica" in found else None

        before = until(look, "a replica that serves reads")
        request = company.build(
            "GET",
            "campaignsExt",
            "$orderby=number",
            headers={"Prefer": "maxpagesize=5000", **READ_ONLY},
        )
        with http_client() as client:
            response = client.send(request, stream=True)
            pieces = response.iter_raw()
            begun = next(pieces)
            # the buffers between server and client have a part of the page only
            pair.standby.kill()
            read = msgspec.json.decode(begun + b"".join(pieces), type=Page)
        text = server.origin.get("metrics").text

    assert [each["number"] for each in read.value] == numbers
    assert read.next_link is None
    served = {name: number - before.get(name, 0) for name, number in counted(text).items()}
    assert (served["replica"], served["failed"]) == (1, 1)
