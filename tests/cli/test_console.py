"""`comptoir console` finds the service that runs."""

from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from support.command import Command
from support.databases import ON_SQLITE, FreshDatabase
from support.server import Server, with_tls
from support.settings import settings_of
from support.waiting import until

NONE_RUNS = "WARNING: no service runs here with this database. Start it with `comptoir serve`"


@pytest.mark.parametrize("workers", [1, 2])
def test_the_link_leads_to_the_running_service(
    workers: int, fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    """With another port and with TLS, until it ends, and not after a kill."""
    settings = Settings(database=fresh_database(tmp_path, MODEL), keys=str(tmp_path / "keys"))
    command = Command(tmp_path, settings.database)
    before = command.done("console", "--role", "viewer", "--subject", "eva")
    assert before.last.startswith("http://127.0.0.1:8080/console/login#")
    assert before.err.startswith(NONE_RUNS)
    ended = command.done("console", "--subject", "eva", "--end")
    assert ended.out == "eva: all sessions ended\n"
    with Server(with_tls(settings, tmp_path / "tls"), tmp_path, workers) as server:
        address = f"{server.base_url.removesuffix('/api')}/console/login#"
        assert address.startswith("https://")
        found = command.done("console")
        assert found.last.startswith(address)
        assert found.err == ""
        named = command.done("console", "--public-url", "https://erp.example.com/api")
        assert named.last.startswith("https://erp.example.com/console/login#")
        server.kill()
        until(lambda: command.done("console").err.startswith(NONE_RUNS) or None, "its end")
        server.start()
        assert command.done("console").err == ""
        server.ask_to_stop()
        server.wait()
    assert command.done("console").err.startswith(NONE_RUNS)


@ON_SQLITE
def test_a_running_service_without_a_console_is_said(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    settings = settings_of(
        database=fresh_database(tmp_path, MODEL), keys=str(tmp_path / "keys"), console="off"
    )
    with Server(settings, tmp_path):
        found = Command(tmp_path, settings.database).done("console")
    assert found.err.startswith("WARNING: the service does not serve the console")
