"""Replica reads: they may lag if the request allows it, and only then.

While the replay of the standby is paused, it shows an earlier state of the primary.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from comptoir.catalog import MODEL, read_catalog
from comptoir.edm.model import Model
from comptoir.sql.prepared import Query
from comptoir.store.postgres.reader import SlowReads
from postgres.conftest import Served
from postgres.replication import AGENT, AGENTS, Pair, ReplicatedService
from support.batches import Entry, replies, send_documents
from support.catalogs import COURIERS
from support.client import Record, page, tag_of, values
from support.command import Command
from support.companies import Company
from support.pgbouncer import pooled
from support.replicas import READ_ONLY, outcomes, token
from support.service import Service


def names(response: httpx.Response) -> list[object]:
    return [each["name"] for each in values(response)]


@pytest.fixture(scope="module", params=[AGENTS, "couriers"])
def agents(request: pytest.FixtureRequest) -> str:
    """A built-in set, or one that a catalog has added to the replicated database."""
    return str(request.param)


@pytest.fixture(scope="module")
def service(
    lasting_pair: Pair, agents: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A service with a replica, for all tests."""
    url = lasting_pair.new_database()
    replica = lasting_pair.standby.url_of(url)
    folder = tmp_path_factory.mktemp("replicated")
    model = MODEL if agents in MODEL.by_name else grown(folder, url)
    with Service(lambda *_: url, folder, model, read_database=replica) as service:
        yield service


def grown(folder: Path, url: str) -> Model:
    """Add couriers to the catalog of a database, and return their model."""
    file = folder / "couriers.toml"
    file.write_text(COURIERS, encoding="utf-8")
    Command.without_database(folder).done("catalog", "apply", file, "--database", url)
    return read_catalog(file)


@pytest.fixture
def replicated(pair: Pair, service: Service, agents: str) -> ReplicatedService:
    return ReplicatedService.of(service, pair.standby, agents)


def test_a_read_with_read_only_intent_may_lag_and_others_do_not(
    replicated: ReplicatedService,
) -> None:
    replicated.standby.pause()
    replicated.rename("new")
    intents = ("ReadOnly", "readonly", "READONLY ")

    assert {replicated.name({"Data-Access-Intent": each}) for each in intents} == {"old"}
    assert replicated.name() == replicated.name({"Data-Access-Intent": "ReadWrite"}) == "new"

    replicated.standby.resume()
    assert {replicated.name({"Data-Access-Intent": each}) for each in intents} == {"new"}
    assert replicated.outcomes() == {"replica": 6}


def test_the_expanded_records_of_companies_may_lag_with_read_only_intent(
    replicated: ReplicatedService,
) -> None:
    """A token belongs to one company, and the list has several, so the primary serves it."""
    replicated.standby.pause()
    written = token(replicated.rename("new"))

    assert replicated.expanded(READ_ONLY) == "old"
    assert replicated.expanded() == "new"
    assert replicated.expanded({**written, **READ_ONLY}) == "new"
    assert replicated.outcomes() == {"replica": 1}


def test_a_client_with_a_token_reads_its_own_write(replicated: ReplicatedService) -> None:
    replicated.standby.pause()
    written = token(replicated.rename("new"))

    assert replicated.name(written) == "new"
    assert replicated.name({**written, **READ_ONLY}) == "new"
    assert replicated.outcomes() == {"behind": 2}

    replicated.standby.resume()
    assert replicated.name(written) == "new"
    assert replicated.name({**written, **READ_ONLY}) == "new"
    assert replicated.outcomes() == {"behind": 2, "replica": 2}


def test_a_request_stays_on_the_primary_after_its_first_read_there(
    replicated: ReplicatedService,
) -> None:
    replicated.standby.pause()
    written = token(replicated.rename("new"))

    read = page(replicated.company.get(replicated.agents, "$count=true", written))

    assert (read.count, read.value[0]["name"]) == (1, "new")
    assert replicated.outcomes() == {"behind": 1}


def test_a_token_requires_its_own_write_only(replicated: ReplicatedService) -> None:
    written = token(replicated.rename("second"))
    replicated.standby.catch_up()
    replicated.standby.pause()
    replicated.rename("third")

    assert replicated.name(written) == "second"
    assert replicated.name({**written, "Data-Access-Intent": "ReadWrite"}) == "third"


def test_a_read_with_the_token_of_a_delete_returns_404(replicated: ReplicatedService) -> None:
    replicated.standby.pause()
    deleted = token(replicated.company.delete(replicated.path, if_match="*"))

    assert replicated.company.get(replicated.path, headers=READ_ONLY).status_code == 200
    assert replicated.company.get(replicated.path, headers=deleted).status_code == 404


def test_the_replica_serves_every_type_of_read(replicated: ReplicatedService) -> None:
    company = replicated.company
    company.post("itemsExt", {"number": "1000", "displayName": "Chair"})
    company.post(
        "itemTranslationsExt", {"itemNo": "1000", "languageCode": "DEA", "description": "Stuhl"}
    )
    replicated.standby.catch_up()
    replicated.standby.pause()
    replicated.rename("new")
    company.post(replicated.agents, {"code": "UPS", "name": "UPS"})
    company.post(
        "itemTranslationsExt", {"itemNo": "1000", "languageCode": "ENU", "description": "Chair"}
    )

    def read(path: str, query: str = "") -> httpx.Response:
        response = company.get(path, query, READ_ONLY)
        assert response.status_code == 200, response.text
        return response

    assert names(read(replicated.agents)) == ["old"]
    assert names(read(replicated.agents, "$search=old")) == ["old"]
    assert names(read(replicated.agents, "$filter=matchesPattern(name,'^o')")) == ["old"]
    assert names(read(replicated.agents, "$orderby=name desc&$top=1")) == ["old"]
    assert page(read(replicated.agents, "$count=true&$top=0")).count == 1
    assert read(f"{replicated.agents}/$count").text == "1"
    assert read(f"{replicated.agents}/$count", "$search=ups").text == "0"
    assert read(f"{replicated.path}/name/$value").text == "old"
    grouped = read(replicated.agents, "$apply=groupby((name))").json()["value"]
    assert [each["name"] for each in grouped] == ["old"]
    (item,) = read("itemsExt", "$expand=translations($count=true)").json()["value"]
    assert item["translations@odata.count"] == len(item["translations"]) == 1
    assert len(page(read("itemsExt(number='1000')/translations")).value) == 1
    assert company.request("HEAD", replicated.path, headers=READ_ONLY).status_code == 200
    assert set(replicated.outcomes()) == {"replica"}


def test_the_primary_serves_a_company_that_the_replica_lacks(replicated: ReplicatedService) -> None:
    replicated.standby.pause()
    company = replicated.service.new_company()
    created = company.post(replicated.agents, AGENT)

    for headers in (READ_ONLY, token(created)):
        assert names(company.get(replicated.agents, headers=headers)) == ["old"]
    companies = replicated.service.client.get("companies", headers=READ_ONLY)
    assert company.id in [each["id"] for each in values(companies)]
    assert replicated.outcomes() == {"behind": 2}


def test_the_primary_serves_sets_and_properties_that_the_replica_lacks(
    pair: Pair, served: Served, tmp_path: Path
) -> None:
    url = pair.new_database()
    replica = pair.standby.url_of(url)
    earlier = served(url, read_database=replica)
    before = earlier.new_company()
    before.post("itemsExt", {"number": "1000", "displayName": "Chair"})
    pair.standby.catch_up()
    (item,) = values(before.get("itemsExt", headers=READ_ONLY))
    pair.standby.pause()
    later = Service(lambda *_: url, tmp_path, grown(tmp_path, url), read_database=replica)
    with later:
        company = replace(before, carrier=later)
        made = company.post("couriers", AGENT)

        def read() -> None:
            assert names(company.get("couriers", headers=READ_ONLY)) == ["old"]
            assert names(company.get("couriers", "$search=old", READ_ONLY)) == ["old"]
            (item,) = values(company.get("itemsExt", "$filter=courierCode eq 'DHL'", READ_ONLY))
            assert item["courierCode"] == "DHL"

        changed = company.patch("itemsExt(number='1000')", {"courierCode": "DHL"}, "*")
        assert made.status_code == 201, made.text
        assert changed.status_code == 200, changed.text
        read()
        assert outcomes(later) == {"failed": 3}
        pair.standby.resume()
        read()
        assert outcomes(later) == {"failed": 3, "replica": 3}
    # a service goes on with its catalog, on the replica too
    (kept,) = values(before.get("itemsExt", headers=READ_ONLY))
    assert kept.keys() == item.keys()
    assert outcomes(earlier) == {"replica": 2}


def test_pages_of_replica_and_primary_contain_each_record_once(
    replicated: ReplicatedService,
) -> None:
    company = replicated.company
    company.load("campaignsExt", *[{"number": f"C-{n:03}"} for n in range(0, 60, 2)])
    replicated.standby.catch_up()
    replicated.standby.pause()
    written = company.post("campaignsExt", {"number": "C-999"})

    sent: list[Mapping[str, str]] = [READ_ONLY, {}, token(written), READ_ONLY]
    numbers: list[object] = []
    response = company.get(
        "campaignsExt", "$orderby=number", {"Prefer": "maxpagesize=9", **READ_ONLY}
    )
    while (read := page(response)).next_link:
        numbers += [each["number"] for each in read.value]
        turn = sent[len(numbers) // 9 % len(sent)]
        response = company.follow(read.next_link, {"Prefer": "maxpagesize=9", **turn})
    numbers += [each["number"] for each in read.value]

    assert numbers[:30] == [f"C-{n:03}" for n in range(0, 60, 2)]
    assert numbers[30:] in ([], ["C-999"])


def tracked(replicated: ReplicatedService, headers: Mapping[str, str]) -> str:
    """A delta link from now on."""
    tracking = {"Prefer": "track-changes", **headers}
    response = replicated.company.get(replicated.agents, headers=tracking)
    return str(response.json()["@odata.deltaLink"])


def changes(company: Company, link: str, headers: Mapping[str, str]) -> tuple[list[object], str]:
    """The names in the changes of a delta link, and the next link."""
    response = company.follow(link, headers)
    assert response.status_code == 200, response.text
    found = response.json()
    return [each.get("name") for each in found["value"]], found["@odata.deltaLink"]


def test_replica_and_primary_report_each_change_once(replicated: ReplicatedService) -> None:
    company, standby = replicated.company, replicated.standby
    standby.pause()
    replicated.rename("second")
    link = tracked(replicated, READ_ONLY)

    found, link = changes(company, link, READ_ONLY)
    assert found == [], "the replica has not replayed it"
    found, link = changes(company, link, {})
    assert found == ["second"]
    replicated.rename("third")
    found, link = changes(company, link, READ_ONLY)
    assert found == ["third"], "the link is ahead of the replica, so the primary follows it"

    standby.resume()
    found, link = changes(company, link, READ_ONLY)
    assert found == []
    replicated.rename("fourth")
    standby.catch_up()
    assert changes(company, link, READ_ONLY)[0] == ["fourth"]
    assert replicated.outcomes() == {"replica": 4, "behind": 1}


def test_reads_inherit_the_intent_and_the_token_of_their_batch(
    replicated: ReplicatedService,
) -> None:
    replicated.standby.pause()
    written = token(replicated.rename("new"))
    reads: list[Entry] = [
        {"id": "1", "method": "GET", "url": replicated.path},
        {
            "id": "2",
            "method": "GET",
            "url": replicated.path,
            "headers": {"Data-Access-Intent": "ReadWrite"},
        },
        {"id": "3", "method": "GET", "url": replicated.path, "headers": written},
    ]

    def read(headers: Mapping[str, str]) -> list[object]:
        answers = replies(send_documents(replicated.company, reads, headers))
        return [each.read(Record)["name"] for each in answers]

    assert read({}) == ["new", "new", "new"]
    assert read(READ_ONLY) == ["old", "new", "new"]
    assert read({**READ_ONLY, **written}) == ["new", "new", "new"]
    replicated.standby.resume()
    assert read(READ_ONLY) == ["new", "new", "new"]


def test_a_batch_reads_its_own_writes(replicated: ReplicatedService) -> None:
    replicated.standby.pause()
    reading = {"method": "GET", "url": replicated.path, "headers": READ_ONLY}
    writing = {
        "id": "2",
        "method": "PATCH",
        "url": replicated.path,
        "headers": {"If-Match": "*", "Content-Type": "application/json"},
        "body": {"name": "new"},
    }

    batch = [{"id": "1", **reading}, writing, {"id": "3", **reading}]
    answers = replies(send_documents(replicated.company, batch))

    assert [each.read(Record)["name"] for each in answers] == ["old", "new", "new"]


def test_an_outdated_etag_of_the_replica_returns_412(replicated: ReplicatedService) -> None:
    replicated.standby.pause()
    replicated.rename("new")
    stale = replicated.company.get(replicated.path, headers=READ_ONLY)

    refused = replicated.company.patch(replicated.path, {"name": "lost"}, if_match=tag_of(stale))

    assert refused.status_code == 412
    assert replicated.name() == "new"


def test_the_replica_serves_reads_through_pgbouncer(pair: Pair, served: Served) -> None:
    url = pair.new_database()
    with pooled(pair.standby, pair.standby.url_of(url)) as through:
        service = served(url, read_database=through, statement_cache=0)
        company = service.new_company()
        company.load("campaignsExt", *[{"number": f"C-{n}"} for n in range(50)])
        written = token(company.post("campaignsExt", {"number": "C-50"}))
        pair.standby.catch_up()
        found = service.send_all(
            [company.build("GET", "campaignsExt/$count", headers=written) for _ in range(20)]
        )
        read = company.get("campaignsExt", "$search=c-", READ_ONLY)

    assert [each.text for each in found] == ["51"] * 20
    assert len(page(read).value) == 51
    assert outcomes(service) == {"replica": 21}


def test_a_connection_to_the_replica_is_used_again_in_transactions(
    pair: Pair, served: Served
) -> None:
    """After a search, which is a transaction itself, and after a client that disconnects."""
    replicated = ReplicatedService.on(pair, served, statement_cache=0, database_connections=1)
    company = replicated.company
    assert names(company.get("shippingAgentsExt", "$search=old", READ_ONLY)) == ["old"]
    assert replicated.name(READ_ONLY) == "old"
    reading = company.build("GET", replicated.path, headers=READ_ONLY)

    for turns in range(60):
        replicated.service.abandon(reading, turns)
        assert replicated.name(READ_ONLY) == "old"

    assert set(replicated.outcomes()) == {"replica"}


def test_reads_of_the_replica_are_timed(
    replicated: ReplicatedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise slow statements could use all its connections at once."""
    timed: list[str] = []

    def record(_: SlowReads, query: Query, seconds: float) -> None:
        assert seconds > 0
        timed.append(query.text)

    monkeypatch.setattr(SlowReads, "record", record)

    assert names(replicated.company.get(replicated.agents, headers=READ_ONLY)) == ["old"]
    assert replicated.outcomes() == {"replica": 1}
    assert sum(replicated.agents in each for each in timed) == 1
