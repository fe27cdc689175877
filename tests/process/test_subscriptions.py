"""Notifications by processes: each change comes once, and a kill loses none.

Their times are those of a rehearsal's clock.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from comptoir.auth.audit import ActName
from comptoir.auth.tokens import Scope
from comptoir.catalog import MODEL
from comptoir.config import Settings
from process.test_condition import metric
from support.client import record
from support.companies import Company
from support.databases import ON_SQLITE, FreshDatabase, run_sql
from support.receiver import Receiver, status
from support.server import Server
from support.settings import changed, settings_of
from support.waiting import until

SCOPES = (Scope.RECORDS_READ, Scope.RECORDS_WRITE, Scope.EVENTS)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def notifying(database: str, folder: Path) -> Settings:
    """Settings by which notifications are due at once, and subscriptions last for minutes."""
    return settings_of(
        database=database,
        keys=str(folder / "keys"),
        profile="business-central",
        outgoing_allow="127.0.0.0/8",
        outgoing_http="on",
        clock_factor=1_000.0,
    )


@pytest.fixture
def settings(fresh_database: FreshDatabase, tmp_path: Path) -> Settings:
    return notifying(fresh_database(tmp_path, MODEL), tmp_path)


def advance(server: Server, duration: str) -> None:
    """Move the clock of a rehearsal on."""
    token = server.tokens.issue((Scope.FAULTS,))
    response = server.origin.using(token).post("faults/clock", {"advance": duration})
    assert response.status_code == 200, response.text


def subscribe(server: Server, company: Company, receiver: Receiver) -> None:
    root = server.client.using(server.tokens.issue(SCOPES))
    resource = f"companies({company.id})/contactsExt"
    sent = {"notificationUrl": receiver.url(), "resource": resource}
    assert root.post("subscriptions", sent).status_code == 201


def create(company: Company) -> str:
    created = record(company.post("contactsExt", {"displayName": "A"}), 201)
    return f"contactsExt({created['id']})"


def notified(receiver: Receiver) -> list[str]:
    return [each.resource.rpartition("/")[2] for each in receiver.notified]


def test_of_several_processes_one_delivers(
    settings: Settings, tmp_path: Path, receiver: Receiver
) -> None:
    with Server(settings, tmp_path, workers=2) as server:
        company = server.new_company()
        subscribe(server, company, receiver)
        created = [create(company) for _ in range(20)]
        until(lambda: len(notified(receiver)) >= len(created) or None, "a notification of each")
        last = create(company)
        until(lambda: last in notified(receiver) or None, "the last notification")
        attempts = len(receiver.deliveries)
        counted = f'comptoir_deliveries_total{{outcome="delivered"}} {attempts:.1f}'
        on_time = f"comptoir_delivery_lag_seconds_count {attempts:.1f}"

        def is_counted() -> bool | None:
            metrics = server.origin.get("metrics").text
            return True if counted in metrics and on_time in metrics else None

        until(is_counted, "the attempts of all processes are counted")
    assert notified(receiver) == [*created, last]
    # times have the form of the profile
    assert {each.expiration_date_time[19:] for each in receiver.notified} == {"Z"}


@ON_SQLITE
def test_the_metrics_show_how_late_notifications_are(
    settings: Settings, tmp_path: Path, receiver: Receiver
) -> None:
    receiver.delivery = status(503)
    with Server(changed(settings, faults="on"), tmp_path) as server:
        company = server.new_company()
        subscribe(server, company, receiver)
        create(company)

        def lag() -> float | None:
            # one of a few looks measures it, and a clock that moves causes a look
            advance(server, "PT0.1S")
            return metric(server, "comptoir_notification_lag_seconds") or None

        assert until(lag, "a lag") > 0


def test_a_killed_process_loses_no_notification(
    settings: Settings, tmp_path: Path, receiver: Receiver
) -> None:
    """After the end of its lease, another process delivers the changes again."""
    receiver.delivery = receiver.hang
    with Server(settings, tmp_path) as server:
        company = server.new_company()
        subscribe(server, company, receiver)
        created = create(company)
        receiver.wait(1)
        server.kill()
        receiver.delivery = status(200)
        run_sql(settings.database, "UPDATE lanes SET leased_until = 0")
        server.start()
        receiver.wait(2)
        last = create(server.again(company))
        until(lambda: last in notified(receiver) or None, "the last notification")
    assert notified(receiver) == [created, created, last]


@ON_SQLITE
def test_the_times_are_those_of_the_clock_of_a_rehearsal(
    settings: Settings, tmp_path: Path, receiver: Receiver
) -> None:
    rehearsing = changed(settings, faults="on", clock_factor=1.0)
    receiver.delivery = status(503)
    with Server(rehearsing, tmp_path) as server:
        company = server.new_company()
        subscribe(server, company, receiver)
        created = create(company)
        assert receiver.deliveries == []
        advance(server, "PT30S")
        tries = partial(run_sql, settings.database, "SELECT tries FROM lanes")
        until(lambda: tries() == [(1,)] or None, "the outcome of the first attempt")
        receiver.delivery = status(200)
        advance(server, "PT1M")
        receiver.wait(2)
        advance(server, "P3D")
        control = server.admin.control
        until(
            lambda: (
                ActName.SUBSCRIPTION_EXPIRE
                in {each.act for each in server.admin.wait(control.audit(0, 100))}
                or None
            ),
            "the end of the subscription",
        )
    assert notified(receiver) == [created, created]
