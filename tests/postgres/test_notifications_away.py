"""Notifications while PostgreSQL is stopped: they come later, and the log stays short."""

from functools import partial
from pathlib import Path

from postgres.test_control_away import database_errors
from process.test_subscriptions import create, notified, notifying, subscribe
from support.databases import migrated, run_sql
from support.postgres import Postgres
from support.receiver import Receiver
from support.server import Server
from support.waiting import until


def test_notifications_come_after_the_database_was_stopped(
    own_server: Postgres, tmp_path: Path
) -> None:
    settings = notifying(migrated(own_server), tmp_path)
    with Receiver() as receiver, Server(settings, tmp_path) as server:
        company = server.new_company()
        subscribe(server, company, receiver)
        first = create(company)
        cursor = partial(run_sql, settings.database, "SELECT cursor FROM lanes")
        until(lambda: cursor() == [(1,)] or None, "the end of the first delivery")
        own_server.stop()
        until(lambda: database_errors(server) >= 4 or None, "looks that fail")
        own_server.start()
        server.wait_for_log("clients can be read from the database again")
        second = create(company)
        receiver.wait(2)
        lines = server.log.read_text().splitlines()
        assert len([each for each in lines if "database error" in each]) <= 3
    assert notified(receiver) == [first, second]
    assert receiver.notified[0].resource == f"api/companies({company.id})/{first}"
