"""The console while PostgreSQL is stopped."""

import time

import pytest

from comptoir.config import Settings
from postgres.conftest import Served, migrated
from support.clocks import SetClock
from support.console import Browser, new_code, origin_of
from support.postgres import Postgres
from support.waiting import until


def test_the_console_without_its_database(
    own_server: Postgres, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The overview remains; who is not known cannot log in; and then all is as before."""
    # a session is believed for a minute, and the server may need longer to stop
    monkeypatch.setattr(time, "time", SetClock(time.time()))
    service = served(migrated(own_server), connect_seconds=Settings().connect_seconds)
    browser = Browser(service, origin_of(service.settings))
    stranger = browser.another()
    browser.log_in(new_code(service.admin))
    code = new_code(service.admin)
    own_server.stop()
    page = browser.get("/console")
    assert page.status_code == 200
    assert "The database does not answer." in page.text
    assert "Waiting writes" in page.text
    assert browser.get("/console/sessions").status_code == 503
    stranger.cookies[stranger.session_cookie] = "unknown"
    assert stranger.get("/console").status_code == 503
    assert stranger.post("/console/login", {"code": code}).status_code == 503
    own_server.start()
    until(lambda: browser.get("/console/sessions").status_code == 200 or None, "the sessions")
    stranger.cookies.clear()
    assert stranger.log_in(code).status_code == 200
    assert "The database does not answer." not in browser.get("/console").text
