"""A plain service imports what it serves with: optional parts cost it neither time nor memory."""

from comptoir.store.urls import is_postgres
from process.conftest import StartServer
from support.server import Server

PROFILED = ("env", "PYTHONPROFILEIMPORTTIME=1")

OPTIONAL = {
    "aiohttp": "the keys of outside issuers",
    "yarl": "the keys of outside issuers",
    "comptoir.store.revisions": "migrations, when the schema is current",
    "comptoir.features.samples.command": "sample companies",
    "comptoir.features.console.app": "the console, until somebody opens it",
    "jinja2": "the console, until somebody opens it",
    "offapi": "Swagger UI, whose files are served without an import",
    "pyarrow": "Parquet files",
    "comptoir.features.rehearsal.rehearsal": "faults on demand",
    "comptoir.features.testing": "tests of clients",
    "pytest": "tests of clients",
    "comptoir.features.transfer.load": "loads",
    "comptoir.features.transfer.copy": "copies",
    "comptoir.features.notifications.sender": "subscriptions",
    "comptoir.features.notifications.subscriptions": "subscriptions",
    "comptoir.features.notifications.resource": "subscriptions",
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
