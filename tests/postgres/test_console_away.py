"""The console while PostgreSQL is stopped."""

import time

import pytest

from comptoir.config import Settings
from postgres.conftest import Served, migrated
from support.clocks import SetClock
from support.console import Browser, new_code, origin_of
from support.postgres import Postgres
from support.waiting import until

NEW_CLIENT = "/console/clients/new"
RECORDS = "/console/records/contactsExt"


def test_the_console_without_its_database(
    own_server: Postgres, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The overview remains, typed forms are kept, nobody logs in; and then all is as before."""
    # a session is believed for a minute, and the server may need longer to stop
    monkeypatch.setattr(time, "time", SetClock(time.time()))
    service = served(migrated(own_server), connect_seconds=Settings().connect_seconds)
    browser = Browser(service, origin_of(service.settings))
    stranger = browser.another()
    browser.log_in(new_code(service.admin))
    code = new_code(service.admin)
    form = browser.get(NEW_CLIENT)
    own_server.stop()
    page = browser.get("/console")
    assert page.status_code == 200
    assert "The database does not answer." in page.text
    assert "Waiting writes" in page.text
    assert browser.get("/console/sessions").status_code == 503
    assert browser.get(RECORDS).status_code == 503
    kept = browser.submit(form, NEW_CLIENT, name="webshop")
    assert kept.status_code == 503
    assert "This page keeps what you typed." in kept.text
    stranger.cookies[stranger.session_cookie] = "unknown"
    assert stranger.get("/console").status_code == 503
    assert stranger.post("/console/login", {"code": code}).status_code == 503
    own_server.start()
    until(lambda: browser.get("/console/sessions").status_code == 200 or None, "the sessions")
    assert "Secret of webshop" in browser.submit(kept, NEW_CLIENT).text
    stranger.cookies.clear()
    assert stranger.log_in(code).status_code == 200
    assert "The database does not answer." not in browser.get("/console").text
