"""A plain service imports what it serves with, and its workers may need long for that."""

from pathlib import Path

from comptoir.store.urls import is_postgres
from process.conftest import StartServer
from support.databases import ON_SQLITE
from support.server import Server
from support.waiting import until

PROFILED = ("env", "PYTHONPROFILEIMPORTTIME=1")

OPTIONAL = {
    "aiohttp": "the keys of outside issuers",
    "yarl": "the keys of outside issuers",
    "alembic": "migrations, when the schema is current",
    "sqlalchemy.orm": "migrations, when the schema is current",
    "mako": "the templates of migrations",
    "mimesis": "sample companies",
    "comptoir.samples": "sample companies",
    "comptoir.console": "the console, until somebody opens it",
    "jinja2": "the console, until somebody opens it",
    "offapi": "Swagger UI, whose files are served without an import",
    "pyarrow": "Parquet files",
    "rich": "progress bars",
    "pydantic": "values that only `typer` could read",
    "comptoir.rehearsal": "faults on demand",
    "comptoir.http.rehearsing": "faults on demand",
    "comptoir.testing": "tests of clients",
    "pytest": "tests of clients",
    "comptoir.transfer.load": "loads",
    "comptoir.transfer.copy": "copies",
    "comptoir.events.sender": "subscriptions",
    "comptoir.events.subscriptions": "subscriptions",
    "comptoir.service.subscriptions": "subscriptions",
}
"""What a service imports for none of its first requests, and what it is for."""

ON_POSTGRES = {"asyncpg", "sqlalchemy.dialects.postgresql", "comptoir.sql.dialects.postgresql"}
"""What a service imports on PostgreSQL, and on SQLite does not."""


def imported(server: Server) -> set[str]:
    """The modules that a service has imported when it has answered, and the packages of these."""
    company = server.new_company()
    created = company.post("contactsExt", {"displayName": "A"})
    assert created.status_code == 201
    assert company.get("contactsExt", {"$filter": "displayName eq 'A'"}).status_code == 200
    server.ask_to_stop()
    server.wait()
    lines = server.log.read_text().splitlines()
    names = [line.split()[-1].split(".") for line in lines if line.startswith("import time:")]
    return {".".join(name[:depth]) for name in names for depth in range(1, len(name) + 1)}


def test_a_service_imports_no_optional_part(start_server: StartServer) -> None:
    """The database is up to date: the fixture has migrated it."""
    server = start_server(wrapper=PROFILED)
    on_postgres = is_postgres(server.settings.database)
    found = imported(server)
    assert "sqlalchemy.sql" in found
    assert OPTIONAL.keys() & found == set()
    assert ON_POSTGRES & found == (ON_POSTGRES if on_postgres else set())


SLOW = """
import sys, time
if "--multiprocessing-fork" in sys.orig_argv:
    with open({starts!r}, "a") as starts:
        starts.write("a worker")
    time.sleep({seconds})
"""
"""What Python runs first: it delays a worker, as a busy machine does, and counts the starts."""

BOTH = "a worker" * 2
MORE_THAN_USUAL = 6
"""Seconds after which the parent of uvicorn's workers would by default replace them."""


@ON_SQLITE
def test_a_worker_that_starts_slowly_is_not_replaced(
    start_server: StartServer, tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    slow = tmp_path / "slow"
    slow.mkdir()
    text = SLOW.format(starts=str(starts), seconds=MORE_THAN_USUAL)
    (slow / "sitecustomize.py").write_text(text)

    server = start_server(2, ("env", f"PYTHONPATH={slow}"))

    assert server.origin.get("healthz").status_code == 200
    until(lambda: len(starts.read_text()) >= len(BOTH) or None, "the start of both workers")
    assert starts.read_text() == BOTH
