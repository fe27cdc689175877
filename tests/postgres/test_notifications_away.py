"""Notifications while PostgreSQL is stopped: they come later, and the log stays short."""

from functools import partial
from pathlib import Path

from comptoir.auth.tokens import Scope
from support.client import record
from support.companies import Company
from support.databases import migrated, run_sql
from support.postgres import Postgres
from support.receiver import Receiver
from support.server import Server
from support.settings import settings_of
from support.waiting import until

ERRORS = "comptoir_database_errors_total"
SCOPES = (Scope.RECORDS_READ, Scope.RECORDS_WRITE, Scope.EVENTS)


def create(company: Company) -> str:
    return str(record(company.post("contactsExt", {"displayName": "A"}), 201)["id"])


def test_notifications_come_after_the_database_was_stopped(
    own_server: Postgres, tmp_path: Path
) -> None:
    settings = settings_of(
        database=migrated(own_server),
        keys=str(tmp_path / "keys"),
        profile="business-central",
        outgoing_allow="127.0.0.0/8",
        outgoing_http="on",
        clock_factor=1_000.0,
    )
    with Receiver() as receiver, Server(settings, tmp_path) as server:

        def errors() -> float:
            lines = server.origin.get("metrics").text.splitlines()
            return sum(float(line.split()[-1]) for line in lines if line.startswith(ERRORS))

        company = server.new_company()
        root = server.client.using(server.tokens.issue(SCOPES))
        resource = f"companies({company.id})/contactsExt"
        sent = {"notificationUrl": receiver.url(), "resource": resource}
        assert root.post("subscriptions", sent).status_code == 201
        first = create(company)
        cursor = partial(run_sql, settings.database, "SELECT cursor FROM lanes")
        until(lambda: cursor() == [(1,)] or None, "the end of the first delivery")
        own_server.stop()
        until(lambda: errors() >= 4 or None, "looks that fail")
        own_server.start()
        server.wait_for_log("clients can be read from the database again")
        second = create(company)
        receiver.wait(2)
        lines = server.log.read_text().splitlines()
        assert len([each for each in lines if "database error" in each]) <= 3
    resources = [each.resource for each in receiver.notified]
    assert resources == [f"api/{resource}({each})" for each in (first, second)]
