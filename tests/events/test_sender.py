"""Changes reach the receivers of subscriptions once they are due, on given clocks."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_network
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection, text
from typing_extensions import override

from comptoir.app import open_store
from comptoir.auth.audit import Act, ActName, Actor
from comptoir.auth.tokens import Scope
from comptoir.catalog import MODEL
from comptoir.edm.times import INSTANT
from comptoir.errors.refusal import Refusal
from comptoir.features.business_central import CURRENT
from comptoir.features.business_central.profile import business_central
from comptoir.features.notifications import sender
from comptoir.features.notifications.notifications import at
from comptoir.features.notifications.resource import shake_hands
from comptoir.features.notifications.sender import Outcome, Sender, outcome_of
from comptoir.features.notifications.subscriptions import (
    LEASE_SECONDS,
    Subscription,
    Subscriptions,
    new_id,
)
from comptoir.outgoing import Post, PostAnswer
from comptoir.outgoing.session import Guard, Outgoing
from comptoir.store.control import ControlWatch
from comptoir.store.jobs import every, running
from comptoir.store.store import Store
from support.client import record, tag_of
from support.clients import Webshop, add_client
from support.clocks import SetClock
from support.companies import Company
from support.databases import in_database
from support.receiver import Answer, Receiver, cut, status
from support.roles import tokens_of_roles
from support.service import Service, StartService
from support.waiting import PATIENCE_SECONDS, until

HOOKS = business_central(CURRENT).hooks
assert HOOKS is not None
MINUTE = 60
LATER = 4 * 86_400
"""Seconds after which a subscription has ended."""


@dataclass
class FailingClock(SetClock):
    """A clock that fails at one of its calls, which 0 is."""

    calls_before: int = 0

    @override
    def __call__(self) -> float:
        self.calls_before -= 1
        if self.calls_before == -1:
            raise OSError("the clock has failed")
        return super().__call__()


def new_post() -> Post:
    """Posts by sockets, to this machine too."""
    return Outgoing(Guard([ip_network("127.0.0.0/8")], plain=True)).post


class Rig:
    """A sender over the database of a service, whose requests are posted by sockets.

    `clock` is the profile's and `real_clock` that of the processes.
    """

    def __init__(self, service: Service, store: Store) -> None:
        self.service = service
        self.wait = service.admin.wait
        self.clock, self.real_clock = SetClock(time.time()), SetClock(time.time())
        self.store = store
        self.subscriptions = Subscriptions(self.store)
        self.attempts: list[tuple[str, float | None]] = []
        self.sender = self.another()

    def another(self) -> Sender:
        """A sender as another process has it."""
        assert HOOKS is not None
        registry = ControlWatch(self.store.control)
        clocks = self.clock, self.real_clock
        another = Sender(
            self.store, self.subscriptions, MODEL, registry, HOOKS, new_post(), INSTANT, *clocks
        )
        another.note = self.note_attempt
        return another

    def note_attempt(self, outcome: str, late: float | None) -> None:
        self.attempts.append((outcome, late))

    def move_on(self, seconds: float) -> None:
        """Set both clocks to some seconds later, and after all changes that were made."""
        for each in (self.clock, self.real_clock):
            each.now = max(each.now, time.time()) + seconds

    def fail(self, calls_before: int) -> None:
        """Have a sender whose profile's clock fails once, when changes are due."""
        self.move_on(MINUTE)
        self.clock = FailingClock(self.clock.now, calls_before)
        self.sender = self.another()

    def subscribe(
        self,
        company: Company,
        url: str,
        entity_set: str = "contactsExt",
        owner: str = "tests",
        **columns: object,
    ) -> Subscription:
        """Add a subscription for three days."""
        now = self.clock()
        subscription = Subscription(
            id=new_id(company.id),
            owner=owner,
            url=url,
            sets=entity_set,
            resource=f"api/companies({company.id})/{entity_set}",
            client_state="state",
            version=1,
            expires_at=int(now) + 3 * 86_400,
            created_at=at(now),
            modified_at=at(now),
        )
        subscription = msgspec.structs.replace(subscription, **columns)
        act = Act(Actor(owner), ActName.SUBSCRIPTION_ADD, subscription.id)
        self.wait(self.subscriptions.add(subscription, act, lambda _: None))
        return subscription

    def stored(self, subscription: Subscription) -> bool:
        return self.wait(self.subscriptions.find(subscription.id)) is not None

    def look(self, after: float = 0.0) -> None:
        """Look, after some seconds unless they are 0, and wait for the deliveries."""
        if after:
            self.move_on(after)
        assert self.wait(self.sender.look())
        self.end_deliveries()

    def end_deliveries(self, of: Sender | None = None) -> None:
        """Wait until the deliveries that were begun have ended."""

        async def ended() -> None:
            await asyncio.gather(*(of or self.sender).deliveries)

        self.wait(ended())

    def begin(self, receiver: Receiver, count: int = 1) -> None:
        """Look when changes are due, and return when deliveries hang until they are released."""
        self.move_on(MINUTE)
        receiver.delivery = receiver.hang
        assert self.wait(self.sender.look())
        self.wait(asyncio.to_thread(receiver.wait, count))

    def remove(self, subscription: Subscription) -> bool:
        """Remove a subscription as its client does, if it is there."""
        act = Act(Actor("tests"), ActName.SUBSCRIPTION_REMOVE, subscription.id)
        return self.wait(self.subscriptions.change(subscription, None, act))

    def acts(self, subscription: Subscription) -> list[tuple[str, str]]:
        """What the audit log has of a subscription after its start."""
        entries = self.wait(self.store.control.audit(0, 10_000))
        found = [each for each in entries if each.target == subscription.id]
        return [(each.act, each.detail.partition(" reason=")[2]) for each in found[1:]]


async def _opened(service: Service) -> Store:
    return open_store(service.settings)


@pytest.fixture(autouse=True)
def slow_posts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that hangs until it is released does not fail before."""
    monkeypatch.setattr(sender, "POST_SECONDS", PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def service(share_service: StartService) -> Service:
    return share_service()


@pytest.fixture(scope="module")
def store(service: Service) -> Iterator[Store]:
    """The store of the senders."""
    store = service.admin.wait(_opened(service))
    yield store
    service.admin.wait(store.close())


@pytest.fixture
def company(service: Service) -> Iterator[Company]:
    """A company whose subscriptions do not outlive the test."""

    def clear(connection: Connection) -> None:
        for table in ("subscriptions", "lanes", "subscribed"):
            connection.execute(text(f"DELETE FROM {table}"))

    yield service.new_company()
    in_database(service.settings.database, clear)


@pytest.fixture
def rig(service: Service, store: Store) -> Iterator[Rig]:
    rig = Rig(service, store)
    yield rig
    rig.wait(rig.sender.stop())


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def create(company: Company, name: str = "A") -> str:
    """Create a contact; returns its path."""
    created = record(company.post("contactsExt", {"displayName": name}), 201)
    return f"contactsExt({created['id']})"


def change(company: Company, path: str, name: str = "B") -> None:
    response = company.patch(path, {"displayName": name}, if_match="*")
    assert response.status_code == 200, response.text


def remove(company: Company, path: str) -> None:
    assert company.delete(path, if_match="*").status_code == 204


def kinds(receiver: Receiver) -> list[tuple[str, str]]:
    """The change type of each notification, and the end of its resource."""
    return [(each.change_type, each.resource.rpartition("/")[2]) for each in receiver.notified]


def test_a_receiver_that_hangs_does_not_hold_up_a_client_for_long(receiver: Receiver) -> None:
    receiver.handshake = receiver.hang
    with pytest.raises(Refusal, match="did not respond completely within"):
        asyncio.run(shake_hands(receiver.url(), new_post(), 0.05))


def test_changes_are_sent_30_seconds_after_the_first(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    """Each with its record, in one post; what happened before the subscription is not sent."""
    old = create(company)
    subscription = rig.subscribe(company, receiver.url())
    new, gone = create(company), create(company)
    change(company, old)
    change(company, old, "C")
    remove(company, gone)
    company.post("shippingAgentsExt", {"code": "DHL"})
    changes = company.changes()
    first = datetime.fromisoformat(changes[1].at).timestamp()

    rig.clock.now = first + 29.5
    rig.look()
    assert receiver.deliveries == []
    rig.look(after=1)
    ((path, value),) = receiver.deliveries
    assert path == "/hook"
    assert [(each.change_type, each.resource) for each in value] == [
        (kind, f"api/companies({company.id})/{record}")
        for kind, record in (
            ("created", new),
            ("created", gone),
            ("updated", old),
            ("deleted", gone),
        )
    ]
    assert {each.subscription_id for each in value} == {subscription.id}
    assert {each.client_state for each in value} == {"state"}
    assert {each.expiration_date_time for each in value} == {at(subscription.expires_at)}
    assert [each.last_modified_date_time for each in value] == [
        changes[number].at for number in (1, 2, 4, 5)
    ]

    rig.look(after=60)
    assert len(receiver.deliveries) == 1
    change(company, new)
    rig.look(after=60)
    assert kinds(receiver)[4:] == [("updated", new)]


def test_the_delay_is_the_same_after_the_clock_was_moved_on(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    """The change log has the time of the processes."""
    rig.subscribe(company, receiver.url())
    day = 86_400
    rig.clock.now += day
    rig.look()
    create(company)
    changed_at = datetime.fromisoformat(company.changes()[0].at).timestamp()
    for seconds, count in ((29.5, 0), (30.5, 1)):
        rig.real_clock.now = changed_at + seconds
        rig.clock.now = rig.real_clock.now + day
        rig.look()
        assert len(receiver.deliveries) == count


def test_a_key_is_written_as_in_a_path(rig: Rig, company: Company, receiver: Receiver) -> None:
    rig.subscribe(company, receiver.url(), "shippingAgentsExt")
    assert company.post("shippingAgentsExt", {"code": "A'B C"}).status_code == 201
    rig.look(after=60)
    ((kind, key),) = kinds(receiver)
    assert (kind, company.record(key)["code"]) == ("created", "A'B C")


def test_the_subscriptions_of_a_url_are_sent_together(
    rig: Rig, service: Service, company: Company, receiver: Receiver
) -> None:
    """Even if some changes are not due yet; another URL and another company have their own."""
    other = service.new_company()
    for each, path, entity_set in (
        (company, "/one", "contactsExt"),
        (company, "/one", "shippingAgentsExt"),
        (company, "/two", "contactsExt"),
        (other, "/one", "contactsExt"),
    ):
        rig.subscribe(each, receiver.url(path), entity_set)
    create(company)
    create(other)
    rig.clock.now = datetime.fromisoformat(company.changes()[0].at).timestamp() + 30
    company.post("shippingAgentsExt", {"code": "DHL"})
    rig.look()
    rig.look(after=60)
    sent = sorted((path, len(value)) for path, value in receiver.deliveries)
    assert sent == [("/one", 1), ("/one", 2), ("/two", 1)]


def test_more_than_1000_changes_are_one_notification(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    """Its filter finds them all; it has none if some were deleted. Other sets do not count."""
    create(company, "before")
    agent = record(company.post("shippingAgentsExt", {"code": "DHL"}), 201)
    rig.subscribe(company, receiver.url())
    gone = create(company)
    company.load("contactsExt", *[{"number": f"N{number}"} for number in range(1_500)])
    remove(company, f"shippingAgentsExt({agent['id']})")
    create(company)
    root = f"api/companies({company.id})"
    rig.look(after=60)
    (notified,) = receiver.notified
    assert notified.change_type == "collection"
    assert notified.last_modified_date_time == company.changes()[-1].at
    assert notified.resource.startswith(f"{root}/contactsExt?")
    query = notified.resource.partition("?")[2]
    assert query.startswith("$filter=lastModifiedDateTime%20gt%20")
    assert company.get("contactsExt/$count", query).text in ("1502", "1503")

    company.load("contactsExt", *[{"number": f"M{number}"} for number in range(1_500)])
    remove(company, gone)
    rig.look(after=60)
    assert receiver.notified[1].resource == f"{root}/contactsExt"

    company.load("contactsExt", *[{"number": f"P{number}"} for number in range(1_501)])
    rig.look(after=60)
    assert receiver.notified[2].resource.startswith(f"{root}/contactsExt?")

    company.load("contactsExt", *[{"number": f"O{number}"} for number in range(1_000)])
    rig.look(after=60)
    (*_, (_, value)) = receiver.deliveries
    assert {each.change_type for each in value} == {"created"}
    assert len({each.resource for each in value}) == 1_000
    rig.look(after=60)
    assert len(receiver.deliveries) == 4


def test_one_delivery_reads_a_bounded_number_of_changes(
    rig: Rig, company: Company, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one has those after them."""
    monkeypatch.setattr(sender, "READ_CHANGES", 2)
    monkeypatch.setattr(sender, "MOST_READS", 2)
    rig.subscribe(company, receiver.url())
    paths = [create(company) for _ in range(5)]
    rig.look(after=60)
    assert kinds(receiver) == [("created", each) for each in paths[:4]]
    rig.look(after=60)
    assert kinds(receiver) == [("created", each) for each in paths]


def test_a_client_with_slow_receivers_leaves_room_for_others(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    paths = [f"/slow{number:02}" for number in range(sender.MOST_OF_CLIENT + 1)]
    for path in paths:
        rig.subscribe(company, receiver.url(path))
    rig.subscribe(company, receiver.url("/other"), owner="other")
    create(company)
    rig.begin(receiver, sender.MOST_OF_CLIENT + 1)
    begun = {path for path, _ in receiver.deliveries}
    (waiting,) = {*paths, "/other"} - begun
    assert waiting != "/other"
    receiver.delivery = status(200)
    receiver.release()
    rig.end_deliveries()
    rig.look()
    assert [path for path, _ in receiver.deliveries].count(waiting) == 1


def test_the_outcome_of_a_status() -> None:
    assert HOOKS is not None
    for number, outcome in (
        *((number, Outcome.DELIVERED) for number in (200, 201, 202, 204, 299)),
        *((number, Outcome.FAILED) for number in (408, 429, 500, 502, 503, 504, 599)),
        *((number, Outcome.REFUSED) for number in (100, 199, 300, 301, 302, 307, 308, 304)),
        *((number, Outcome.REFUSED) for number in (400, 401, 403, 404, 405, 410, 413, 499, 600)),
    ):
        assert outcome_of(PostAnswer(number, b""), HOOKS.retried) is outcome


@pytest.mark.parametrize(
    ("answer", "reason"), [(status(503), "responded with status 503"), (cut, "did not answer")]
)
def test_a_failed_delivery_is_repeated_five_times(
    answer: Answer, reason: str, rig: Rig, company: Company, receiver: Receiver
) -> None:
    """With the changes since then. After the sixth failure the subscription is deleted."""
    receiver.delivery = answer
    end = int(rig.clock()) + LATER
    subscription = rig.subscribe(company, receiver.url(), expires_at=end)
    path = create(company)
    rig.move_on(3_600)
    rig.clock.now = int(rig.clock.now) + 0.75
    rig.look()
    for count, minutes in enumerate((1, 1, 10, 100, 1_000), start=1):
        assert len(receiver.deliveries) == count
        rig.look(after=minutes * MINUTE - 0.5)
        assert len(receiver.deliveries) == count
        assert rig.stored(subscription)
        change(company, path, f"N{count}")
        # rounding does not shorten a wait
        rig.look(after=1.5)
    assert [len(value) for _, value in receiver.deliveries] == [1, 2, 2, 2, 2, 2]
    assert not rig.stored(subscription)
    assert rig.acts(subscription) == [(ActName.SUBSCRIPTION_DROP, f"the receiver {reason}")]
    rig.look(after=60)
    assert len(receiver.deliveries) == 6


def test_a_delivery_succeeds_after_a_failure(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    subscription = rig.subscribe(company, receiver.url())
    path = create(company)
    receiver.delivery = status(503)
    rig.look(after=60)
    receiver.delivery = status(200)
    rig.look(after=70)
    assert kinds(receiver) == [("created", path)] * 2
    assert [outcome for outcome, _ in rig.attempts] == ["failed", "delivered"]
    due_at = datetime.fromisoformat(company.changes()[0].at).timestamp() + 30
    assert [late for _, late in rig.attempts] == [None, pytest.approx(rig.clock.now - due_at)]
    receiver.delivery = status(503)
    change(company, path)
    rig.look(after=60)
    rig.look(after=70)
    assert rig.stored(subscription)
    assert len(receiver.deliveries) == 4, "the failures are counted again from the first"


def test_the_lag_is_that_of_the_first_change_that_is_late(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    """Also while an attempt waits for the next one; changes of other sets do not count."""
    rig.subscribe(company, receiver.url())
    company.post("shippingAgentsExt", {"code": "DHL"})
    assert rig.wait(rig.sender.lag()) == 0
    create(company)
    first = datetime.fromisoformat(company.changes()[-1].at).timestamp()
    rig.clock.now = rig.real_clock.now = first + 30
    assert rig.wait(rig.sender.lag()) == 0
    receiver.delivery = status(503)
    rig.clock.now = rig.real_clock.now = first + 37
    rig.look()
    create(company)
    assert rig.wait(rig.sender.lag()) == pytest.approx(7)
    receiver.delivery = status(200)
    rig.look(after=70)
    assert rig.wait(rig.sender.lag()) == 0


@pytest.mark.parametrize("answer", [302, 410])
def test_a_refused_delivery_ends_the_subscription(
    answer: int, rig: Rig, company: Company, receiver: Receiver
) -> None:
    """All those of the URL that it was for; a redirect is not followed."""
    receiver.delivery = status(answer, Location=receiver.url("/elsewhere"))
    both = [rig.subscribe(company, receiver.url(), each) for each in ("contactsExt", "itemsExt")]
    idle = rig.subscribe(company, receiver.url("/other"))
    create(company)
    assert company.post("itemsExt", {"number": "I1"}).status_code == 201
    receiver_of_idle = rig.subscribe(company, receiver.url(), "shippingAgentsExt")
    rig.look(after=60)
    assert sorted(path for path, _ in receiver.deliveries) == ["/hook", "/other"]
    assert [rig.stored(each) for each in (*both, idle)] == [False] * 3
    assert rig.stored(receiver_of_idle)
    reason = f"the receiver responded with status {answer}"
    assert rig.acts(both[0]) == [(ActName.SUBSCRIPTION_DROP, reason)]


def test_a_receiver_inside_the_network_gets_nothing(rig: Rig, company: Company) -> None:
    """An address that the guard refuses is a failure, as if nobody listened there."""
    subscription = rig.subscribe(company, "https://10.0.0.1:8443/hook")
    create(company)
    rig.look(after=60)
    assert rig.stored(subscription)
    for minutes in (1, 1, 10, 100, 1_000):
        rig.look(after=minutes * MINUTE + 10)
    assert not rig.stored(subscription)


def test_a_subscription_ends(rig: Rig, company: Company, receiver: Receiver) -> None:
    """Its pending changes are not sent."""
    subscription = rig.subscribe(company, receiver.url())
    rig.look(after=3 * 86_400 - 3_600)
    assert rig.stored(subscription)
    create(company)
    rig.look(after=7_200)
    assert not rig.stored(subscription)
    assert receiver.deliveries == []
    assert rig.acts(subscription) == [(ActName.SUBSCRIPTION_EXPIRE, "")]


def test_a_process_that_stops_leaves_its_delivery_to_another(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    """After its lease: the receiver may get a notification twice, but misses none."""
    rig.subscribe(company, receiver.url())
    path = create(company)
    rig.begin(receiver)
    rig.wait(rig.sender.stop())
    receiver.delivery = status(200)

    rig.sender = rig.another()
    rig.look()
    assert len(receiver.deliveries) == 1
    rig.look(after=LEASE_SECONDS + 1)
    assert kinds(receiver) == [("created", path)] * 2
    rig.look(after=60)
    assert len(receiver.deliveries) == 2


def test_the_outcome_of_a_lost_lease_does_not_count(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    """A process that was slower than its lease changes nothing when it ends at last."""
    subscription = rig.subscribe(company, receiver.url())
    create(company)
    slow = rig.sender
    rig.begin(receiver)
    receiver.delivery = status(200)
    rig.sender = rig.another()
    rig.look(after=LEASE_SECONDS + 1)
    assert len(receiver.deliveries) == 2
    receiver.release()
    rig.end_deliveries(slow)
    assert rig.stored(subscription)
    rig.look(after=120)
    assert len(receiver.deliveries) == 2, "the failure of the slow one is not repeated"


def test_a_subscription_that_is_deleted_meanwhile_stays_deleted(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    subscription = rig.subscribe(company, receiver.url())
    create(company)
    rig.begin(receiver)
    assert rig.remove(subscription)
    receiver.release()
    rig.end_deliveries()
    assert not rig.stored(subscription)
    assert not rig.remove(subscription)


def test_clients_that_lost_their_rights_get_nothing(
    rig: Rig, company: Company, receiver: Receiver, tmp_path: Path
) -> None:
    elsewhere = "00000000-0000-4000-8000-000000000000"
    losses = {
        ("disable",): "was disabled or removed",
        ("remove",): "was disabled or removed",
        ("change", "--company", elsewhere): "no longer has the company",
        ("change", "--scope", "records.read"): "no longer has the scopes",
    }
    lost: list[tuple[Webshop, Subscription]] = []
    for number in range(len(losses)):
        webshop = add_client(rig.service, tmp_path, scope="records.read events")
        url, owner = receiver.url(f"/{number}"), f"client:{webshop.name}"
        lost.append((webshop, rig.subscribe(company, url, owner=owner)))
    create(company)
    rig.look(after=60)
    assert len(receiver.deliveries) == len(losses)
    for (verb, *options), (webshop, _) in zip(losses, lost, strict=True):
        webshop.command.done("client", verb, webshop.name, *options)
    create(company)
    rig.sender = rig.another()
    rig.look(after=60)
    assert len(receiver.deliveries) == len(losses)
    for reason, (_, subscription) in zip(losses.values(), lost, strict=True):
        assert not rig.stored(subscription)
        assert rig.acts(subscription) == [(ActName.SUBSCRIPTION_DROP, f"the client {reason}")]


def test_a_client_that_was_just_added_has_its_notifications(
    rig: Rig, company: Company, receiver: Receiver, tmp_path: Path
) -> None:
    """Also while the process does not know of it yet."""
    for count in (1, 2):
        webshop = add_client(rig.service, tmp_path, scope="records.read events")
        rig.subscribe(company, receiver.url(f"/{count}"), owner=f"client:{webshop.name}")
    create(company)
    rig.look(after=60)
    assert len(receiver.deliveries) == 2
    late = add_client(rig.service, tmp_path, scope="records.read events")
    rig.subscribe(company, receiver.url("/late"), owner=f"client:{late.name}")
    create(company)
    rig.look(after=60)
    assert sorted(path for path, _ in receiver.deliveries[2:]) == ["/1", "/2", "/late"]


def test_a_renewal_does_not_undo_another(rig: Rig, company: Company, receiver: Receiver) -> None:
    first = rig.subscribe(company, receiver.url())
    act = Act(Actor("tests"), ActName.SUBSCRIPTION_RENEW, first.id)
    renewed, late = (
        msgspec.structs.replace(first, version=2, client_state=state) for state in ("new", "late")
    )
    assert rig.wait(rig.subscriptions.change(first, renewed, act))
    assert not rig.wait(rig.subscriptions.change(first, late, act))
    assert rig.wait(rig.subscriptions.find(first.id)) == renewed
    assert rig.acts(first) == [(ActName.SUBSCRIPTION_RENEW, "")]


def test_a_subscription_to_a_set_that_no_longer_exists(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    """As after a release without it; other subscriptions go on."""
    gone = rig.subscribe(company, receiver.url(), "goneExt")
    rig.subscribe(company, receiver.url())
    path = create(company)
    rig.look(after=60)
    assert kinds(receiver) == [("created", path)]
    assert rig.acts(gone) == [(ActName.SUBSCRIPTION_DROP, "the entity set does not exist")]


def test_a_client_without_the_right_to_read_gets_nothing(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    scopes = frozenset({Scope.RECORDS_READ, Scope.EVENTS})
    tokens_of_roles(rig.service, {"items": {"itemsExt": "R"}}, scopes)
    of_items = rig.subscribe(company, receiver.url(), "itemsExt", "client:items")
    of_contacts = rig.subscribe(company, receiver.url(), "contactsExt", "client:items")
    create(company)
    assert company.post("itemsExt", {"number": "I1"}).status_code == 201
    rig.look(after=60)
    assert [each.subscription_id for each in receiver.notified] == [of_items.id]
    reason = "the client may no longer read the entity set"
    assert rig.acts(of_contacts) == [(ActName.SUBSCRIPTION_DROP, reason)]


def test_a_cursor_passes_the_changes_of_other_sets(
    rig: Rig, company: Company, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a look after a restart reads few of them; nothing is stored for each."""
    monkeypatch.setattr(sender, "MOST_PASSED", 3)
    subscription = rig.subscribe(company, receiver.url(), "itemsExt")

    def cursor() -> int:
        now = rig.clock() + LATER
        ((_, lane),) = rig.wait(rig.subscriptions.waiting(company.id, now, rig.real_clock()))
        return lane.cursor

    for _ in range(3):
        create(company)
        rig.look()
    assert cursor() == 0
    create(company)
    rig.look()
    assert cursor() == 4
    assert company.post("itemsExt", {"number": "I1"}).status_code == 201
    rig.look(after=60)
    assert [each.subscription_id for each in receiver.notified] == [subscription.id]


def test_a_company_without_subscriptions_is_forgotten_after_an_hour(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    """An hour, because a subscription may be about to be stored."""
    subscription = rig.subscribe(company, receiver.url())
    subscribed = rig.subscriptions.companies
    rig.look(after=3_700)
    assert [each for each, _ in rig.wait(subscribed())] == [company.id]
    assert rig.remove(subscription)
    rig.subscribe(company, receiver.url("/other"))
    rig.look()
    assert [each for each, _ in rig.wait(subscribed())] == [company.id]


def test_companies_that_fail_do_not_hold_up_others(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    """A company that was deleted is forgotten."""
    rig.wait(rig.subscriptions.add_company("00000000-0000-4000-8000-000000000000"))
    rig.subscribe(company, receiver.url())
    path = create(company)
    rig.look(after=60)
    assert kinds(receiver) == [("created", path)]
    rig.look(after=3_700)
    assert [each for each, _ in rig.wait(rig.subscriptions.companies())] == [company.id]


def test_a_write_stores_nothing_for_subscriptions(
    rig: Rig, company: Company, receiver: Receiver
) -> None:
    """The change log is all that deliveries need."""
    rig.subscribe(company, receiver.url())
    waiting = rig.subscriptions.waiting
    before = rig.wait(waiting(company.id, rig.clock() + LATER, rig.real_clock()))
    path = create(company)
    tag = tag_of(company.get(path))
    assert company.patch(path, {"displayName": "B"}, if_match=tag).status_code == 200
    rig.look()
    assert rig.wait(waiting(company.id, rig.clock() + LATER, rig.real_clock())) == before


@pytest.mark.parametrize(("calls_before", "delivered"), [(0, 0), (1, 1)])
def test_a_failure_holds_up_only_one_company_until_the_next_look(
    calls_before: int,
    delivered: int,
    rig: Rig,
    company: Company,
    receiver: Receiver,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The first call is for all companies, and the second for the first of them."""
    for each in (company, rig.service.new_company()):
        rig.subscribe(each, receiver.url())
        create(each)
    rig.fail(calls_before)
    assert not rig.wait(rig.sender.look())
    rig.end_deliveries()
    assert len(receiver.deliveries) == delivered
    assert "the clock has failed" in caplog.text
    rig.look()
    assert len(receiver.deliveries) == 2


def test_a_delivery_that_fails_is_logged_and_repeated_after_its_lease(
    rig: Rig, company: Company, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    rig.subscribe(company, receiver.url())
    create(company)
    rig.fail(calls_before=2)
    rig.look()
    assert len(receiver.deliveries) == 1
    assert "the clock has failed" in caplog.text
    rig.look(after=LEASE_SECONDS + 1)
    assert len(receiver.deliveries) == 2


def test_the_sender_goes_on_after_a_failure(rig: Rig, company: Company, receiver: Receiver) -> None:
    rig.subscribe(company, receiver.url())
    create(company)
    rig.fail(calls_before=0)

    async def deliveries() -> None:
        async with running([every(0.01, rig.sender.look)]):
            await asyncio.to_thread(until, lambda: receiver.deliveries or None, "a delivery")
        # the loop only runs while the test waits, and must not pause within a transaction
        await rig.sender.stop()

    rig.wait(deliveries())
