"""The console while PostgreSQL is stopped."""

from comptoir.config import Settings
from postgres.conftest import Served
from support.console import Browser, new_code, origin_of
from support.databases import migrated
from support.postgres import Postgres
from support.waiting import until

NEW_CLIENT = "/console/clients/new"
RECORDS = "/console/records/contactsExt"


def test_the_console_without_its_database(own_server: Postgres, served: Served) -> None:
    """Every page is 503, nobody logs in, and then all is as before."""
    service = served(migrated(own_server), connect_seconds=Settings().connect_seconds)
    browser = Browser(service, origin_of(service.settings))
    stranger = browser.another()
    browser.log_in(new_code(service.admin))
    code = new_code(service.admin)
    form = browser.get(NEW_CLIENT)
    own_server.stop()
    for path in ("/console", "/console/sessions", RECORDS):
        page = browser.get(path)
        assert page.status_code == 503
        assert "The database does not answer." in page.text
    assert browser.submit(form, NEW_CLIENT, name="webshop").status_code == 503
    assert stranger.post("/console/login", {"code": code}).status_code == 503
    own_server.start()
    until(lambda: browser.get("/console/sessions").status_code == 200 or None, "the sessions")
    assert "Secret of webshop" in browser.submit(form, NEW_CLIENT, name="webshop").text
    assert stranger.log_in(code).status_code == 200
