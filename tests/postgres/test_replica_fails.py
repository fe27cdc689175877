"""A replica that cannot be used: the primary answers, and clients see nothing of it."""

import asyncio
import logging
from pathlib import Path
from time import monotonic
from typing import Literal

import asyncpg
import msgspec
import pytest

from comptoir.config import Settings
from comptoir.store import store
from postgres.conftest import Served
from postgres.following import Followed, Pair
from support.client import Page, page, values
from support.postgres import Postgres, name_of
from support.replicas import READ_ONLY, counted, outcomes, token
from support.server import Server
from support.service import Service
from support.sockets import http_client
from support.standby import Standby
from support.waiting import until

UNHURT_SECONDS = 3
"""Within this a read must be answered, whatever has become of the replica."""


def reads(followed: Followed, name: str, number: int = 5) -> None:
    """Read again and again, each time with the right answer and without a delay."""
    for _ in range(number):
        began = monotonic()
        assert followed.name(READ_ONLY) == name
        assert monotonic() - began < UNHURT_SECONDS


def served_again(followed: Followed) -> None:
    """Return once the replica answers reads again."""
    before = outcomes(followed.service).get("replica", 0)

    def look() -> Literal[True] | None:
        followed.name(READ_ONLY)
        return True if outcomes(followed.service).get("replica", 0) > before else None

    until(look, "a replica that answers")


def test_a_replica_that_dies_is_left_alone_until_it_is_back(
    followed: Followed, caplog: pytest.LogCaptureFixture
) -> None:
    assert followed.name(READ_ONLY) == "old"
    written = token(followed.rename("new"))
    followed.standby.kill()

    reads(followed, "new")

    assert followed.name(written) == "new"
    assert outcomes(followed.service) == {"replica": 1, "failed": 1, "paused": 5}
    followed.standby.start()
    followed.standby.catch_up()
    served_again(followed)
    told = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert len(told) == 2
    assert "reads go to the primary" in told[0]
    assert "can be used again" in told[1]


def test_a_replica_that_is_stopped_takes_no_answer_with_it(followed: Followed) -> None:
    assert followed.name(READ_ONLY) == "old"
    followed.standby.stop()
    followed.rename("new")

    reads(followed, "new")


def test_a_replica_that_was_restarted_is_read_from_at_once(followed: Followed) -> None:
    assert followed.name(READ_ONLY) == "old"

    followed.standby.restart()

    assert followed.name(READ_ONLY) == "old"
    assert outcomes(followed.service) == {"replica": 2}


def test_a_replica_that_hangs_delays_no_read_for_long(followed: Followed) -> None:
    assert followed.name(READ_ONLY) == "old"

    with followed.standby.hung():
        reads(followed, "old")
        assert outcomes(followed.service) == {"replica": 1, "failed": 1, "paused": 4}


@pytest.fixture
def always_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a company is still there is asked for every request that may ask the primary."""
    monkeypatch.setattr(store, "COMPANY_CACHE_SECONDS", 0)


@pytest.mark.usefixtures("always_asked")
def test_a_replica_answers_while_the_primary_hangs(followed: Followed, pair: Pair) -> None:
    assert followed.name(READ_ONLY) == "old"

    with pair.primary.hung():
        reads(followed, "old")


def test_a_replica_that_was_promoted_is_not_read_from(served: Served) -> None:
    """It is another database from then on, which may even know the number of a token."""
    with Postgres() as primary, Standby(primary) as standby:
        followed = Followed.on(Pair(primary, standby), served)
        assert followed.name(READ_ONLY) == "old"
        standby.promote()
        own = name_of(followed.service.settings.read_database)
        standby.administer("UPDATE \"shippingAgentsExt\" SET name = 'strayed'", database=own)
        standby.administer("UPDATE companies SET change_number = 99", database=own)
        written = token(followed.rename("new"))

        assert followed.name(written) == "new"
        reads(followed, "new")

    assert outcomes(followed.service) == {"replica": 1, "failed": 1, "paused": 5}


def test_a_replica_that_is_not_there_at_first_keeps_nobody_waiting(
    pair: Pair, served: Served
) -> None:
    url = pair.new_database()
    pair.standby.stop()
    service = served(url, read_database=pair.standby.url_of(url))
    company = service.new_company()
    company.post("shippingAgentsExt", {"code": "DHL"})

    assert len(values(company.get("shippingAgentsExt", headers=READ_ONLY))) == 1
    assert outcomes(service) == {"failed": 1}


def test_a_copy_of_the_database_is_not_read_from(
    pair: Pair, served: Served, tmp_path: Path
) -> None:
    """Though it has the same companies, and is on the standby."""
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


def test_a_read_that_is_in_the_way_of_the_replay_is_answered_by_the_primary(
    pair: Pair, served: Served
) -> None:
    """PostgreSQL cancels it: `canceling statement due to conflict with recovery`."""
    pair.standby.configure({"max_standby_streaming_delay": 0})
    pair.standby.reload()
    followed = Followed.on(pair, served)
    followed.company.load("customersExt", {"number": "10000", "displayName": "Shop"})
    pair.standby.catch_up()
    database = followed.service.settings.database

    async def stand_in_the_way() -> None:
        first, second = [await asyncpg.connect(database) for _ in range(2)]
        try:
            # the replay holds a lock that the read waits for, and then wants one that it holds
            await first.execute('BEGIN; LOCK TABLE "salesPricesExt"')
            await asyncio.to_thread(pair.standby.catch_up)
            reading = asyncio.to_thread(
                followed.company.get, "customersExt", "$filter=not salesPrices/any()", READ_ONLY
            )
            answer = asyncio.ensure_future(reading)
            await asyncio.to_thread(until, lambda: waiting(pair), "a read that waits")
            await second.execute('BEGIN; LOCK TABLE "customersExt"')
            await asyncio.to_thread(pair.standby.catch_up)
        finally:
            await first.close()
            await second.close()
        assert len(page(await answer).value) == 1

    asyncio.run(stand_in_the_way())
    assert "canceling statement due to conflict with recovery" in pair.standby.log.read_text()
    assert outcomes(followed.service) == {"failed": 1}
    assert followed.name(READ_ONLY) == "old"
    assert outcomes(followed.service) == {"failed": 1, "replica": 1}


def waiting(pair: Pair) -> Literal[True] | None:
    sessions = (
        "SELECT 1 FROM pg_stat_activity WHERE usename = 'comptoir' AND wait_event_type = 'Lock'"
    )
    return True if pair.standby.asked(sessions) else None


def test_a_page_goes_on_when_the_replica_dies_within_it(pair: Pair, tmp_path: Path) -> None:
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
            # what fits between the two of them is on its way, and most of the page does not
            pair.standby.kill()
            read = msgspec.json.decode(begun + b"".join(pieces), type=Page)
        text = server.origin.get("metrics").text

    assert [each["number"] for each in read.value] == numbers
    assert read.next_link is None
    assert counted(text) == {"replica": 1, "failed": 1}
