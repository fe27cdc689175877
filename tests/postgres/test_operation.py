"""Failures of a server in use: immediate errors, and recovery without a restart."""

import logging

import httpx
import pytest

from comptoir.errors.refusal import ErrorType
from comptoir.errors.table import (
    DATABASE_BUSY,
    DATABASE_NOT_READY,
    DATABASE_READ_ONLY,
    DATABASE_UNREACHABLE,
)
from postgres.conftest import Served, on_insert
from support.client import record
from support.companies import Company
from support.databases import migrated, writes_held
from support.postgres import Databases, Postgres, name_of
from support.service import Service
from support.waiting import until

CAMPAIGN = {"number": "C-1", "description": "Winter"}


def unavailable(response: httpx.Response, error: ErrorType) -> str:
    """The message of a 503 with `Retry-After`."""
    assert response.status_code == 503, response.text
    assert int(response.headers["Retry-After"]) > 0
    found = response.json()["error"]
    assert found["code"] == error.code, found
    assert "Traceback" not in response.text
    return str(found["message"])


def readiness(service: Service) -> int:
    return service.origin.get("readyz").status_code


def recovered(company: Company) -> httpx.Response:
    """The first successful response to a read."""

    def look() -> httpx.Response | None:
        response = company.get("campaignsExt")
        return response if response.status_code == 200 else None

    return until(look, "a database that answers")


def test_a_server_that_starts_later_is_used(own_server: Postgres, served: Served) -> None:
    url = migrated(own_server)
    own_server.stop()
    service = served(url)

    assert readiness(service) == 503
    unavailable(service.client.get("companies"), DATABASE_UNREACHABLE)

    own_server.start()
    until(lambda: readiness(service) == 200 or None, "a service that is ready")
    assert service.client.get("companies").status_code == 200


def test_concurrent_first_requests_log_their_failure_once(
    own_server: Postgres, served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    service = served(own_server.new_database())

    def refused(error: ErrorType) -> str:
        caplog.clear()
        requests = [service.client.build("GET", "companies") for _ in range(5)]
        for response in service.send_all(requests):
            unavailable(response, error)
        [logged] = [each for each in caplog.records if each.levelno >= logging.ERROR]
        return logged.getMessage()

    assert "has no schema" in refused(DATABASE_NOT_READY)
    own_server.stop()
    assert "database error" in refused(DATABASE_UNREACHABLE)


@pytest.mark.parametrize("ending", ["kill", "stop"])
def test_a_server_is_used_again_after_a_crash(
    own_server: Postgres, served: Served, ending: str
) -> None:
    service = served(migrated(own_server))
    company = service.new_company()
    kept = record(company.post("campaignsExt", CAMPAIGN), 201)

    if ending == "kill":
        own_server.kill()
    else:
        own_server.stop()
    unavailable(company.get("campaignsExt"), DATABASE_UNREACHABLE)
    unavailable(company.post("campaignsExt", {"number": "C-2"}), DATABASE_UNREACHABLE)

    own_server.start()
    recovered(company)
    assert record(company.get(f"campaignsExt({kept['id']})")) == kept
    assert len(company.listed("campaignsExt")) == 1
    record(company.post("campaignsExt", {"number": "C-2"}), 201)


def test_a_write_waits_for_a_lock_for_a_limited_time(
    postgres_server: Databases, served: Served
) -> None:
    url = migrated(postgres_server)
    company = served(url, lock_seconds=0.2).new_company()

    with writes_held(url):
        assert "lock" in unavailable(company.post("campaignsExt", CAMPAIGN), DATABASE_BUSY)
        assert company.listed("campaignsExt") == []

    record(company.post("campaignsExt", CAMPAIGN), 201)


def test_a_server_without_free_connections_returns_503(
    postgres_server: Databases, served: Served
) -> None:
    url = migrated(postgres_server)
    database = f'ALTER DATABASE "{name_of(url)}"'
    postgres_server.administer(f"{database} CONNECTION LIMIT 0")
    service = served(url)

    unavailable(service.client.get("companies"), DATABASE_BUSY)

    postgres_server.administer(f"{database} CONNECTION LIMIT -1")
    assert service.client.get("companies").status_code == 200


def test_a_role_without_privileges_returns_503(postgres_server: Databases, served: Served) -> None:
    url = migrated(postgres_server)
    company = served(url).new_company()
    own = name_of(url)
    postgres_server.administer('ALTER TABLE "campaignsExt" OWNER TO postgres', database=own)

    assert "privileges" in unavailable(company.get("campaignsExt"), DATABASE_NOT_READY)
    assert "privileges" in unavailable(company.post("campaignsExt", CAMPAIGN), DATABASE_NOT_READY)


def test_a_read_only_database_returns_503_for_writes(
    postgres_server: Databases, served: Served
) -> None:
    url = migrated(postgres_server)
    service = served(url)
    company = service.new_company()
    # a service that has not connected yet refuses a read-only database as at its start
    assert company.get("campaignsExt").status_code == 200
    own = name_of(url)
    postgres_server.administer(
        f'ALTER DATABASE "{own}" SET default_transaction_read_only = on',
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{own}'",
    )

    until(lambda: company.get("campaignsExt").status_code == 200 or None, "a read")
    unavailable(company.post("campaignsExt", CAMPAIGN), DATABASE_READ_ONLY)
    ready = service.origin.get("readyz")
    assert ready.status_code == 200
    assert "warning: the database is read-only: reads work" in ready.text


def test_many_concurrent_requests_share_few_connections(
    postgres_server: Databases, served: Served
) -> None:
    service = served(migrated(postgres_server), database_connections=2)
    company = service.new_company()
    requests = [
        company.build("POST", "campaignsExt", body={"number": f"C-{n}"}) for n in range(100)
    ]

    assert {each.status_code for each in service.send_all(requests)} == {201}
    assert len(company.listed("campaignsExt")) == 100
    numbers = [each.number for each in company.changes()]
    assert numbers == list(range(1, 101))


def test_a_client_that_disconnects_leaves_no_transaction_open(
    postgres_server: Databases, served: Served
) -> None:
    """At any stage of a long read; the next one uses the same connection."""
    url = migrated(postgres_server)
    service = served(url, database_connections=2)
    company = service.new_company()
    record(company.post("contactsExt", {"displayName": "Somebody"}), 201)
    search = company.build("GET", "contactsExt", "$search=some")

    for turns in range(100):
        service.abandon(search, turns)
        assert service.send(search).status_code == 200

    states = f"SELECT state FROM pg_stat_activity WHERE datname = '{name_of(url)}'"
    assert set(postgres_server.asked(states)) == {("idle",)}


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE companies OWNER TO postgres",
        "ALTER TABLE schema_state OWNER TO postgres",
        "DROP TABLE companies CASCADE",
        "UPDATE alembic_version SET version_num = '9999'",
        "UPDATE alembic_version SET version_num = '0001'",
        "DELETE FROM alembic_version",
    ],
)
def test_readiness_fails_after_the_schema_or_a_privilege_is_lost(
    postgres_server: Databases, served: Served, statement: str
) -> None:
    """Also if the schema was current when the service started."""
    url = migrated(postgres_server)
    service = served(url)
    assert readiness(service) == 200

    postgres_server.administer(statement, database=name_of(url))

    unavailable(service.origin.get("readyz"), DATABASE_NOT_READY)


@pytest.mark.parametrize(
    ("profile", "status", "code"),
    [("standard", 503, "Internal_Unavailable"), ("business-central", 408, "Request_Timeout")],
)
def test_a_write_that_the_server_stops_has_taken_too_long(
    profile: str, status: int, code: str, postgres_server: Databases, served: Served
) -> None:
    url = migrated(postgres_server)
    company = served(url, profile=profile).new_company()
    # it ends as by statement_timeout, without a wait
    halt = "PERFORM pg_cancel_backend(pg_backend_pid()); PERFORM pg_sleep(600)"
    with on_insert(url, "campaignsExt", halt):
        refused = company.post("campaignsExt", CAMPAIGN)
    assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    record(company.post("campaignsExt", CAMPAIGN), 201)
