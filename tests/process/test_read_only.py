"""A database that accepts no writes, and a service that is to accept none (`read_only`)."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from support.client import record
from support.command import Command
from support.companies import Company
from support.databases import FreshDatabase
from support.mounts import mounted
from support.postgres import Databases, name_of
from support.refusals import refusal
from support.server import Server
from support.service import Service


@contextmanager
def read_only_copy(database: Path, folder: Path) -> Iterator[Path]:
    """A copy of a file on a file system that is mounted to be read only."""
    with mounted(folder):
        shutil.copy(database, folder)
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        yield folder / database.name


def with_agent(fresh: FreshDatabase, folder: Path) -> tuple[str, Company]:
    """The URL of a database, and its company with a shipping agent."""
    with Service(fresh, folder) as service:
        company = service.new_company()
        record(company.post("shippingAgentsExt", {"code": "A"}), 201)
    return service.settings.database, company


def refuses_writes(server: Server | Service, company: Company) -> bool:
    """Whether one that only reads returns a record, and refuses each write by name."""
    client = server.client
    root = f"companies({company.id})/shippingAgentsExt"
    (found,) = client.get(root).json()["value"]
    address = f"{root}({found['id']})"
    current = {"If-Match": "*"}
    for answer in (
        client.post(root, {"code": "B"}),
        client.patch(address, {"displayName": "B"}, headers=current),
        client.delete(address, headers=current),
    ):
        assert "read_only is on" in refusal(answer, "Authorization_ServiceReadOnly").message
    return bool(client.get(address).json()["code"] == "A")


def test_a_service_may_be_set_to_read_only(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    url, company = with_agent(fresh_database, tmp_path)
    with Service(fresh_database, tmp_path, read_only="on") as service:
        assert refuses_writes(service, company)
        ready = service.origin.get("readyz")
        assert ready.text == "ready\nread_only is on: writes of records and companies are refused\n"
    command = Command(tmp_path, url)
    config = command.config("read_only = 'on'\n")
    # what concerns the console and clients still works
    assert "/console/login#" in command.done("console", "--config", config).last
    error = command.error("company", "create", "Other", "--config", config)
    assert "its setting read_only is on" in error


def test_a_file_on_a_read_only_disk_is_only_read(
    fresh_sqlite: FreshDatabase, tmp_path: Path
) -> None:
    url, company = with_agent(fresh_sqlite, tmp_path)
    command = Command(tmp_path, url)
    with read_only_copy(command.database, tmp_path / "disk") as copy:
        on_copy = replace(command, url=f"sqlite:///{copy}")
        error = on_copy.error("serve", "--port", "0")
        assert f"{copy} or its folder is read-only. " in error
        assert "set read_only to on" in error
        with Server.over(lambda *_: on_copy.url, tmp_path, read_only="on") as server:
            assert refuses_writes(server, company)
            ready = server.origin.get("readyz")
            assert ready.status_code == 200
            assert "warning: the database is read-only" in ready.text


def test_a_read_only_database_on_a_server_is_only_read(
    fresh_postgres: FreshDatabase, postgres_server: Databases, tmp_path: Path
) -> None:
    url, company = with_agent(fresh_postgres, tmp_path)
    postgres_server.administer(
        f'ALTER DATABASE "{name_of(url)}" SET default_transaction_read_only = on'
    )
    error = Command(tmp_path, url).error("serve", "--port", "0")
    assert (
        "is read-only. Set default_transaction_read_only to off there, or read_only to on" in error
    )
    with Service(fresh_postgres, tmp_path, read_only="on") as service:
        assert refuses_writes(service, company)
        assert "warning: the database is read-only" in service.origin.get("readyz").text
