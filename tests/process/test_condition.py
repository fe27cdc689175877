"""What an operator learns of a service that works: by the log, `/readyz` and `/metrics`."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from postgres.conftest import on_insert
from process.conftest import StartServer
from process.test_workers import workers_of
from support.client import record
from support.clients import add_client
from support.companies import Company
from support.databases import ON_SQLITE, FreshDatabase, run_sql
from support.mounts import mounted
from support.refusals import refusal
from support.server import Server
from support.waiting import until
from support.worker_connections import WorkerConnections

FAR = "2099-01-01T00:00:00.000Z"
PAST = "2020-01-01T00:00:00.000Z"
AHEAD = "comptoir_last_change_ahead_seconds"
FULL = "comptoir_disk_full"
CREDENTIAL_END = "comptoir_credential_end_timestamp_seconds"

ALLOWANCE = 16 << 20
"""The size of the file system that gets full."""


def metric(server: Server, name: str) -> float:
    lines = server.origin.get("metrics").text.splitlines()
    (value,) = [line.removeprefix(f"{name} ") for line in lines if line.startswith(f"{name} ")]
    return float(value)


def readiness(server: Server) -> str:
    answer = server.origin.get("readyz")
    assert answer.status_code == 200
    return answer.text


def ends_in_days(server: Server) -> int:
    """When the next client is without a secret, in days from now; 0 for never."""
    at = metric(server, CREDENTIAL_END)
    return round((at - time.time()) / 86_400) if at else 0


@ON_SQLITE  # clients are read alike from every database
def test_the_next_end_of_a_clients_last_secret_is_shown(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(workers=2)
    assert ends_in_days(server) == 0

    def awaited(days: int) -> None:
        until(lambda: True if ends_in_days(server) == days else None, f"an end in {days} days")

    far = add_client(server, tmp_path, "--days", "90")
    awaited(90)
    near = add_client(server, tmp_path, "--days", "10")
    awaited(10)
    near.command.done("client", "secret", "add", near.name, "--days", "100")
    awaited(90)
    far.command.done("client", "disable", far.name)
    awaited(100)


def set_last_time(server: Server, company: Company, at: str) -> None:
    """Give a company's last change the time that a clock which was wrong gave it."""
    statement = "UPDATE companies SET changed_at = :at WHERE company_id = :id"
    run_sql(server.settings.database, statement, at=at, id=company.id)


def write(company: Company, code: str) -> None:
    record(company.post("shippingAgentsExt", {"code": code}), 201)


def test_a_last_change_ahead_of_the_clock_is_shown(start_server: StartServer) -> None:
    """A clock that was ahead and came back leaves it: times never fall."""
    server = start_server()
    company = server.new_company()
    write(company, "A")
    assert metric(server, AHEAD) == 0
    assert readiness(server) == "ready\n"

    set_last_time(server, company, FAR)
    write(company, "B")
    write(company, "C")

    assert [each.at for each in company.changes()][1:] == [FAR, FAR]
    # a write is counted when its answer has been sent, which the client may notice before
    until(lambda: metric(server, AHEAD) > 1e9 or None, "a metric that shows it")
    assert "ahead of the clock" in readiness(server)
    lines = [each for each in server.log.read_text().splitlines() if "ahead of the" in each]
    assert len(lines) == 1
    assert company.id in lines[0]
    assert '"level":"warning"' in lines[0]

    set_last_time(server, company, PAST)
    write(company, "D")
    assert readiness(server) == "ready\n"
    until(lambda: metric(server, AHEAD) == 0 or None, "a metric that shows it")


@pytest.fixture
def small_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder on a small file system of its own."""
    with mounted(tmp_path / "small", f"size={ALLOWANCE}") as folder:
        yield folder


def is_refused(company: Company) -> bool | None:
    """Whether a write, one of many that take room, is refused since there is none left."""
    answer = company.post("contactsExt", {"displayName": "x" * 4_000})
    if answer.status_code == 201:
        return None
    refusal(answer, "Internal_DatabaseFull")
    return True


def test_a_file_system_without_room_is_shown(
    fresh_sqlite: FreshDatabase, small_folder: Path, tmp_path: Path
) -> None:
    ballast = small_folder / "ballast"
    with Server.over(lambda *_: fresh_sqlite(small_folder, MODEL), tmp_path) as server:
        company = server.new_company()
        write(company, "A")
        assert "MiB left" in readiness(server)
        assert "full" not in readiness(server)
        assert metric(server, FULL) == 0

        left = os.statvfs(small_folder)
        ballast.write_bytes(bytes(left.f_bavail * left.f_frsize))
        until(lambda: is_refused(company), "a refusal")

        assert "the disk of the database is full" in readiness(server)
        assert company.get("shippingAgentsExt").status_code == 200
        until(lambda: metric(server, FULL) == 1 or None, "a metric that shows it")

        ballast.unlink()
        write(company, "B")
        assert "full" not in readiness(server)
        until(lambda: metric(server, FULL) == 0 or None, "a metric that shows it")


def test_workers_do_without_room_for_temporary_files(
    fresh_sqlite: FreshDatabase, small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(small_folder))
    with Server.over(fresh_sqlite, tmp_path, 2) as server:
        with WorkerConnections(server, 1) as spread:
            left = os.statvfs(small_folder)
            (small_folder / "ballast").write_bytes(bytes(left.f_bavail * left.f_frsize))
            requests = [server.client.build("PUT", "companies") for _ in range(20)]
            assert {each.status_code for each in spread.send_all(requests)} == {405}
        line = 'comptoir_requests_total{method="PUT",status="405"} 20.0'
        until(lambda: line in server.origin.get("metrics").text or None, line)
        os.kill(min(workers_of(server)), signal.SIGKILL)
        # the new worker serves too
        with WorkerConnections(server, 1):
            assert line in server.origin.get("metrics").text


def test_a_database_server_without_room_is_shown(
    fresh_postgres: FreshDatabase, tmp_path: Path
) -> None:
    """A trigger says what PostgreSQL says; its disk belongs to the whole test run.

    One of two workers notices it. The requests are on one connection, so all are to this worker.
    """
    with Server.over(fresh_postgres, tmp_path, workers=2) as server:
        company = server.new_company()
        write(company, "A")
        full = "RAISE 'could not extend file' USING ERRCODE = 'disk_full'"
        with on_insert(server.settings.database, "contactsExt", full):
            until(lambda: is_refused(company), "a refusal")
            until(lambda: metric(server, FULL) == 1 or None, "a metric that shows it")
            assert "the disk of the database is full" in readiness(server)

        write(company, "B")
        until(lambda: metric(server, FULL) == 0 or None, "a metric that shows it")
        assert readiness(server) == "ready\n"
