"""The deliveries of notifications meet faults: each mode, deterministic, and seen by the log."""

import asyncio
import math
from collections.abc import Iterator

import pytest

from comptoir.auth.tokens import Scope
from comptoir.features.notifications import feature
from comptoir.features.rehearsal.faults import FAULTS
from comptoir.features.rehearsal.rules import fraction
from support.client import Client, record
from support.companies import Company
from support.databases import FreshDatabase, run_sql
from support.receiver import Receiver, status
from support.rehearsal import Firing, Rehearsal, Rule, rehearsing
from support.service import Service
from support.waiting import until

MODES = FAULTS["hook"].parameters["mode"].words
APPLIED, NOT_APPLICABLE = "applied", "not applicable"


@pytest.fixture(scope="module")
def service(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature, "LOOK_SECONDS", math.inf)
        with Service(
            fresh_database,
            tmp_path_factory.mktemp("deliveries"),
            profile="business-central",
            faults="on",
            outgoing_allow="127.0.0.0/8",
            outgoing_http="on",
        ) as service:
            yield service


@pytest.fixture
def company(service: Service) -> Company:
    return service.new_company()


@pytest.fixture
def control(service: Service) -> Iterator[Rehearsal]:
    with rehearsing(service) as control:
        yield control


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def subscribe(
    service: Service, company: Company, url: str, owner: str = "me"
) -> tuple[Client, str]:
    """Add a subscription; returns its owner's client, and its path."""
    scopes = (Scope.RECORDS_READ, Scope.EVENTS)
    client = service.client.using(service.tokens.issue(scopes, [company.id], subject=owner))
    resource = f"companies({company.id})/contactsExt"
    added = client.post("subscriptions", {"notificationUrl": url, "resource": resource})
    assert added.status_code == 201, added.text
    return client, f"subscriptions('{added.json()['subscriptionId']}')"


def create(company: Company) -> str:
    """Create a contact; returns the end of its resource."""
    created = record(company.post("contactsExt", {"displayName": "A"}), 201)
    return f"contactsExt({created['id']})"


def deliver(control: Rehearsal, duration: str = "PT1M") -> None:
    """Let the changes so far be due."""
    assert control.advance(duration).status_code == 200


def posts(receiver: Receiver, path: str) -> list[list[str]]:
    """The changed records of each delivery to a path, or the change type of a collection."""
    return [
        [
            each.change_type
            if each.change_type == "collection"
            else each.resource.rpartition("/")[2]
            for each in value
        ]
        for to, value in receiver.deliveries
        if to == f"/{path}"
    ]


def wait(service: Service, receiver: Receiver, count: int) -> None:
    """Wait for a number of deliveries and until their outcomes are stored; the service runs."""
    service.admin.wait(asyncio.to_thread(receiver.wait, count))
    wait_for_lanes(service, "holder <> ''", 0)


def wait_for_lanes(service: Service, condition: str, count: int) -> None:
    """Wait until a condition is true for a number of lanes, while the service runs."""
    statement = f"SELECT count(*) FROM lanes WHERE {condition}"

    def found() -> bool | None:
        return run_sql(service.settings.database, statement) == [(count,)] or None

    service.admin.wait(asyncio.to_thread(until, found, condition))


def firings_of(control: Rehearsal, company: Company) -> list[Firing]:
    """The entries of the log about a company."""
    return [each for each in control.firings() if company.id in each.path]


def wait_for_firings(control: Rehearsal, company: Company, count: int) -> list[Firing]:
    """The log once as many faults have acted on deliveries of a company."""

    def found() -> list[Firing] | None:
        firings = [each for each in firings_of(control, company) if each.outcome == APPLIED]
        return firings if len(firings) >= count else None

    return until(found, f"{count} faults that have acted")


def test_each_mode_acts_on_the_notifications_of_its_rule(
    service: Service, company: Company, control: Rehearsal, receiver: Receiver
) -> None:
    owned = {
        owner: subscribe(service, company, receiver.url(f"/{owner}"), owner)
        for owner in (*MODES, "nobody")
    }
    rules: list[Rule] = [
        {"id": mode, "fault": f"hook; mode={mode}", "match": {"client": mode}, "times": 1}
        for mode in MODES
    ]
    control.set(*rules)
    first, second = create(company), create(company)
    deliver(control)
    firings = wait_for_firings(control, company, len(MODES))
    both = [first, second]
    expected = {each: list[list[str]]() for each in ("delay", "drop", "drop-subscription")}
    expected |= {"nobody": [both], "duplicate": [both, both], "reorder": [[second, first]]}
    expected["collection"] = [["collection"]]
    count = sum(map(len, expected.values()))
    wait(service, receiver, count)
    assert {owner: posts(receiver, owner) for owner in owned} == expected

    assert {each.rule for each in firings} == set(MODES)
    for each in firings:
        client, path = owned[each.rule]
        assert (each.client, each.method, each.count) == (each.rule, "POST", 1)
        assert each.path == f"/api/companies({company.id})/contactsExt"
        assert each.request in path
        assert each.fault.startswith(f"hook; mode={each.rule}")
        gone = each.rule == "drop-subscription"
        assert client.get(path).status_code == (404 if gone else 200)
    trap = control.report("duplicate")["repeated-notification"]
    assert (trap.met, trap.by_fault, trap.recovered) == (1, 1, "unknown")

    deliver(control, "PT2M")
    wait(service, receiver, count + 1)
    assert posts(receiver, "delay") == [both]

    third = create(company)
    deliver(control)
    wait(service, receiver, count + 1 + len(owned) - 1)
    for owner in owned:
        later = [] if owner == "drop-subscription" else [[third]]
        earlier = [both] if owner == "delay" else expected[owner]
        assert posts(receiver, owner) == [*earlier, *later]


def test_the_same_deliveries_meet_the_same_faults(
    service: Service, company: Company, control: Rehearsal, receiver: Receiver
) -> None:
    paths = [f"p{number}" for number in range(8)]
    for path in paths:
        subscribe(service, company, receiver.url(f"/{path}"))
    due = [n for n in range(1, 9) if fraction(7, "r", n) < 0.5]
    rounds: list[set[str]] = []
    for number in (1, 2):
        control.set({"id": "r", "fault": "hook; mode=drop", "probability": 0.5, "seed": 7})
        create(company)
        deliver(control)
        firings = wait_for_firings(control, company, number * len(due))
        assert [each.count for each in firings] == due * number
        wait(service, receiver, number * (len(paths) - len(due)))
        rounds.append({path for path in paths if len(posts(receiver, path)) < number})
    assert rounds[0] == rounds[1]
    assert len(rounds[0]) == len(due)


def test_a_fault_that_the_receiver_cannot_notice_is_not_applicable(
    service: Service, company: Company, control: Rehearsal, receiver: Receiver
) -> None:
    """What it refuses is repeated without a fault, and one notification has one order."""
    subscribe(service, company, receiver.url("/again"), "again")
    control.set("hook; mode=duplicate")
    receiver.delivery = status(503)
    first = create(company)
    deliver(control)
    wait_for_lanes(service, "tries = 1", 1)
    receiver.delivery = status(200)
    deliver(control, "PT2M")
    wait(service, receiver, 2)
    control.set("hook; mode=reorder")
    second = create(company)
    deliver(control)
    wait(service, receiver, 3)
    assert posts(receiver, "again") == [[first], [first], [second]]
    outcomes = [(each.fault, each.outcome) for each in firings_of(control, company)]
    assert outcomes == [
        ("hook; mode=duplicate", NOT_APPLICABLE),
        ("hook; mode=reorder", NOT_APPLICABLE),
    ]


def test_a_reset_deletes_later_subscriptions_and_moves_the_clock_back(
    service: Service, company: Company, control: Rehearsal, receiver: Receiver
) -> None:
    """Notifications are due as before, though the sender has not looked since."""
    kept = subscribe(service, company, receiver.url("/kept"))
    assert control.client.request("POST", "mark").status_code == 204
    later = subscribe(service, company, receiver.url("/later"))
    first = create(company)
    deliver(control)
    wait(service, receiver, 2)
    assert (posts(receiver, "kept"), posts(receiver, "later")) == ([[first]], [[first]])
    assert control.client.request("POST", "reset").status_code == 204
    assert [client.get(path).status_code for client, path in (kept, later)] == [200, 404]
    second = create(company)
    assert control.advance("PT1M").json() == {"aheadSeconds": 60}
    wait(service, receiver, 3)
    assert posts(receiver, "kept") == [[first], [first, second]]
    assert len(posts(receiver, "later")) == 1
