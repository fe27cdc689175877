"""The console while PostgreSQL is stopped."""

from pathlib import Path

from comptoir.config import Settings
from postgres.conftest import migrated
from support.console import console_of, new_code
from support.postgres import Postgres
from support.server import Server
from support.waiting import until


def test_the_console_without_its_database(own_server: Postgres, tmp_path: Path) -> None:
    """The overview remains; who is not known cannot log in; and then all is as before."""
    settings = Settings(database=migrated(own_server), keys=str(tmp_path / "keys"))
    with Server(settings, tmp_path) as server:
        browser, stranger = console_of(server), console_of(server)
        browser.log_in(new_code(server.admin))
        code = new_code(server.admin)
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
