"""The workers of a service with faults share what they know of its rehearsal."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from comptoir.app import application
from comptoir.auth import Scope
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.errors import OperatorError
from comptoir.rehearsal.choice import fraction
from support.client import Client
from support.databases import FreshDatabase
from support.rehearsal import Rehearsal
from support.server import Server
from support.waiting import until
from support.worker_connections import WorkerConnections

FIRST_RULES = b'{"rules": [{"id": "first", "fault": "vanish"}]}'


@pytest.fixture(scope="module")
def server(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A service with two workers and a rule."""
    folder = tmp_path_factory.mktemp("workers")
    rules = folder / "rules.json"
    rules.write_bytes(FIRST_RULES)
    settings = Settings(
        database=fresh_database(folder, MODEL),
        keys=str(folder / "keys"),
        faults="on",
        fault_rules=str(rules),
        page_size=2,
    )
    with Server(settings, folder, workers=2) as server:
        yield server


@pytest.fixture(scope="module")
def connections(server: Server) -> Iterator[WorkerConnections]:
    """Sends each request to another worker than the one before."""
    with WorkerConnections(server, 1) as connections:
        yield connections


@pytest.fixture(scope="module")
def client(server: Server, connections: WorkerConnections) -> Client:
    """A client of a company with four contacts."""
    company = server.new_company()
    control = Client(server, f"{server.origin.root}/faults", server.tokens.issue([Scope.FAULTS]))
    assert control.get("").json() == {"rules": [{"id": "first", "fault": "vanish"}]}
    assert company.get("contactsExt").status_code == 404
    assert control.request("POST", "reset").status_code == 204
    for name in "ABCD":
        assert company.post("contactsExt", {"displayName": name}).status_code == 201
    return Client(connections, company.root, server.tokens.issue())


@pytest.fixture
def rehearsal(server: Server, connections: WorkerConnections) -> Iterator[Rehearsal]:
    """The control endpoint, which is reset at the end."""
    token = server.tokens.issue([Scope.FAULTS])
    control = Rehearsal(Client(connections, f"{server.origin.root}/faults", token))
    yield control
    assert control.client.request("POST", "reset").status_code == 204


def statuses(client: Client, count: int) -> list[int]:
    return [client.get("contactsExt").status_code for _ in range(count)]


def test_every_nth_request_meets_a_fault(client: Client, rehearsal: Rehearsal) -> None:
    rehearsal.set({"id": "r", "fault": "throttle", "match": {"nth": 3}})
    assert statuses(client, 12) == [200, 200, 429] * 4
    log = rehearsal.firings()
    assert [(each.number, each.count) for each in log] == [(1, 3), (2, 6), (3, 9), (4, 12)]


def test_a_seed_has_the_same_firings(client: Client, rehearsal: Rehearsal) -> None:
    for seed in (7, 8):
        rehearsal.set({"id": "r", "fault": "throttle", "probability": 0.4, "seed": seed})
        drawn = [fraction(seed, "r", number) < 0.4 for number in range(1, 21)]
        assert [status == 429 for status in statuses(client, 20)] == drawn


def test_a_fault_acts_once_on_concurrent_requests(
    client: Client, connections: WorkerConnections, rehearsal: Rehearsal
) -> None:
    rehearsal.set({"id": "r", "fault": "throttle", "times": 1})
    sent = connections.send_all([client.build("GET", "contactsExt") for _ in range(20)])
    assert sorted(each.status_code for each in sent) == [200] * 19 + [429]
    header = {"Comptoir-Fault": "throttle; times=1; key=abc"}
    replies = [client.get("contactsExt", headers=header).status_code for _ in range(4)]
    assert replies == [429, 200, 200, 200]


def test_a_rule_is_added_at_all_workers(client: Client, rehearsal: Rehearsal) -> None:
    rehearsal.set({"id": "r", "fault": "lock"})
    assert rehearsal.client.post("rules", {"id": "s", "fault": "throttle"}).status_code == 201
    assert statuses(client, 4) == [429] * 4
    assert rehearsal.client.post("rules", {"id": "s", "fault": "throttle"}).status_code == 409


def test_a_token_is_ended_at_all_workers(
    client: Client, server: Server, rehearsal: Rehearsal
) -> None:
    rehearsal.set({"id": "r", "fault": "token-expired", "times": 1})
    assert statuses(client, 4) == [401] * 4
    # the count of the client goes on
    assert statuses(client.using(server.tokens.issue()), 4) == [200] * 4


def test_pages_are_counted_at_all_workers(client: Client, rehearsal: Rehearsal) -> None:
    rehearsal.set("link-expired; page=2")
    first = client.get("contactsExt")
    assert first.status_code == 200
    assert client.follow(first.json()["@odata.nextLink"]).status_code == 410


def test_an_outcome_is_noted(client: Client, rehearsal: Rehearsal) -> None:
    rehearsal.set("touch; field=description")
    contact = client.get("contactsExt").json()["value"][0]["id"]
    for _ in range(2):
        assert client.get(f"contactsExt({contact})").status_code == 200
    assert [each.outcome for each in rehearsal.firings()] == ["not applicable"] * 2


def test_the_requests_of_a_batch_are_counted(client: Client, rehearsal: Rehearsal) -> None:
    rehearsal.set({"id": "r", "fault": "throttle", "match": {"nth": 2}})
    requests = [{"id": str(at), "method": "GET", "url": "contactsExt"} for at in range(4)]
    replies = client.post("$batch", {"requests": requests}).json()["responses"]
    # the batch itself is the first request
    assert [each["status"] for each in replies] == [429, 200, 429, 200]


def test_the_clock_moves_at_all_workers(
    client: Client, server: Server, rehearsal: Rehearsal
) -> None:
    short_lived = client.using(server.tokens.issue(lifetime=timedelta(minutes=15)))
    assert statuses(short_lived, 2) == [200, 200]
    assert rehearsal.advance("PT10M").json() == {"aheadSeconds": 600}
    assert rehearsal.advance("PT10M").json() == {"aheadSeconds": 1_200}
    assert rehearsal.advance("-PT1M").status_code == 400

    def refused() -> bool | None:
        return True if statuses(short_lived, 4) == [401] * 4 else None

    until(refused, "all workers refuse the token")
    assert rehearsal.client.request("POST", "reset").status_code == 204

    def accepted() -> bool | None:
        return True if statuses(short_lived, 4) == [200] * 4 else None

    until(accepted, "all workers accept the token")


def test_requests_to_all_workers_are_listed(client: Client, rehearsal: Rehearsal) -> None:
    sent = [client.post("contactsExt", {"displayName": str(at)}) for at in range(4)]
    ids = [each.headers["x-request-id"] for each in sent]
    assert len({each.partition("-")[0] for each in ids}) == 2
    for _ in range(2):
        found = rehearsal.requests()
        assert [each.request for each in found] == ids
        assert [each.body for each in found] == [{"displayName": str(at)} for at in range(4)]
    assert rehearsal.client.request("POST", "reset").status_code == 204
    assert [rehearsal.requests() for _ in range(2)] == [[], []]


@pytest.mark.parametrize(("wait", "recovered", "hasty"), [("60", "no", 1), ("none", "yes", 0)])
def test_the_retry_of_a_client_reaches_another_worker(
    wait: str, recovered: str, hasty: int, client: Client, server: Server, rehearsal: Rehearsal
) -> None:
    rehearsal.set({"id": "r", "fault": f"throttle; retry-after={wait}", "times": 1})
    subject = f"waits {wait}"
    assert statuses(client.using(server.tokens.issue(subject=subject)), 2) == [429, 200]
    for _ in range(2):
        line = rehearsal.report(subject)["throttling"]
        assert (line.met, line.hasty, line.recovered) == (1, hasty, recovered)


def test_a_mark_of_one_worker_is_that_of_all(client: Client, rehearsal: Rehearsal) -> None:
    def names() -> list[str]:
        first = client.get("contactsExt", {"$orderby": "displayName", "$top": 10}).json()
        return [each["displayName"] for each in first["value"]]

    before = names()
    assert rehearsal.client.request("POST", "mark").status_code == 204
    for _ in range(3):
        assert client.post("contactsExt", {"displayName": "0"}).status_code == 201
        # an odd number of requests, so that the workers take turns
        assert names() != before
        assert names() != before
        assert rehearsal.client.request("POST", "reset").status_code == 204
        assert names() == before


def test_a_stale_read_needs_one_worker(rehearsal: Rehearsal, tmp_path: Path) -> None:
    refused = rehearsal.client.post("rules", {"fault": "stale-read"})
    assert (refused.status_code, rehearsal.client.get("").json()) == (501, {"rules": []})
    rules = tmp_path / "rules.json"
    rules.write_bytes(b'{"rules": [{"fault": "stale-read"}]}')
    with pytest.raises(OperatorError, match="stale-read of a service with several workers"):
        application(Settings(faults="on", fault_rules=str(rules), workers=2))


def test_a_reset_concerns_all_workers(client: Client, rehearsal: Rehearsal) -> None:
    rehearsal.set("throttle")
    assert statuses(client, 2) == [429, 429]
    assert rehearsal.client.request("POST", "reset").status_code == 204
    assert statuses(client, 2) == [200, 200]
    assert [rehearsal.firings() for _ in range(2)] == [[], []]
