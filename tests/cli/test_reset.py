"""`comptoir reset`: the sample company is as at first, and nothing else has changed."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from comptoir.catalog import MODEL
from support.client import Client, Record, record, tag_of, values
from support.command import Command
from support.databases import ON_SQLITE, FreshDatabase, run_sql
from support.service import Service

NAME = "Comptoir Sample"
STORED = [each.name for each in MODEL.stored]
TRACKED = {"Prefer": "odata.track-changes"}


@pytest.fixture
def sampled(fresh_database: FreshDatabase, tmp_path: Path) -> tuple[Command, str]:
    """A database with the sample company, and its id."""

    def fill(url: str) -> None:
        Command(tmp_path, url).done("sample")

    command = Command(tmp_path, fresh_database(tmp_path, MODEL, fill))
    return command, command.done("company", "list").last_word


@pytest.fixture
def service(sampled: tuple[Command, str]) -> Iterator[Service]:
    command, _ = sampled
    with Service(lambda *_: command.url, command.folder) as service:
        yield service


@pytest.fixture
def running(service: Service, sampled: tuple[Command, str]) -> Client:
    """A client of the sample company of a running service."""
    _, company_id = sampled
    root = f"{service.client.root}/companies({company_id})"
    return Client(service, root, service.client.token)


def records(client: Client) -> dict[str, list[Record]]:
    """All records of a company, without their tags."""
    found: dict[str, list[Record]] = {}
    for name in STORED:
        listed = client.listed(name, {"$orderby": MODEL.by_name[name].type.key})
        found[name] = [
            {key: value for key, value in each.items() if key != "@odata.etag"} for each in listed
        ]
    return found


def test_the_sample_is_as_at_first(sampled: tuple[Command, str], running: Client) -> None:
    """After changes of all kinds, one of which exchanges unique values; a second one is empty."""
    command, company_id = sampled
    before = records(running)
    first, second, third = running.listed("shippingAgentsExt", {"$top": 3})
    running.delete(f"shippingAgentsExt({third['id']})", "*")
    running.patch(f"shippingAgentsExt({first['id']})", {"code": "SPARE"}, "*")
    running.patch(f"shippingAgentsExt({second['id']})", {"code": first["code"]}, "*")
    running.patch(f"shippingAgentsExt({first['id']})", {"code": second["code"]}, "*")
    record(running.post("contactsExt", {"displayName": "New", "onlinePassword": "secret"}), 201)
    item = running.listed("itemsExt", {"$top": 1})[0]
    running.delete(f"itemsExt({item['id']})", "*")
    assert records(running) != before

    printed = command.done("reset", "--yes").out
    assert printed == f"{NAME} {company_id}: restored to its first state\n"
    assert records(running) == before

    log = command.done("changes", "--company", company_id).out
    assert log.splitlines()[-1].endswith('"by":"comptoir reset"}')
    command.done("reset", "--yes")
    assert command.done("changes", "--company", company_id).out == log


def test_a_running_service_stays_correct(
    sampled: tuple[Command, str], service: Service, running: Client
) -> None:
    """Delta links and searches show the reset, and only changed records have other tags."""
    command, _ = sampled
    changed, kept = running.listed("contactsExt", {"$top": 2})
    path, other = f"contactsExt({changed['id']})", f"contactsExt({kept['id']})"
    link: str = msgspec.json.decode(running.get("contactsExt", headers=TRACKED).content)[
        "@odata.deltaLink"
    ]
    written = running.patch(path, {"displayName": "Zebrafish"}, "*")
    assert len(running.listed("contactsExt", {"$search": "zebrafish"})) == 1

    # the search has begun to index the records
    assert service.beside(lambda: command.run("reset", "--yes")).status == 0

    assert running.listed("contactsExt", {"$search": "zebrafish"}) == []
    assert running.patch(path, {"city": "X"}, tag_of(written)).status_code == 412
    assert record(running.get(path))["displayName"] == changed["displayName"]
    unchanged = running.get(other, headers={"If-None-Match": str(kept["@odata.etag"])})
    assert unchanged.status_code == 304
    assert [each["id"] for each in values(running.follow(link))] == [changed["id"]]


@ON_SQLITE
def test_no_other_company_is_touched(sampled: tuple[Command, str]) -> None:
    command, company_id = sampled
    other = command.done("company", "create", "Other").last_word
    path = command.folder / "unitsOfMeasureExt.csv"
    path.write_text("code\nPCS\n")
    for each in (other, company_id):
        command.done("load", "--company", each, path)
    before = command.done("changes", "--company", other).out
    command.done("reset", "--yes")
    assert command.done("changes", "--company", other).out == before


@ON_SQLITE
def test_a_reset_asks_first(sampled: tuple[Command, str], running: Client) -> None:
    """Without a terminal, nobody can answer. It shows the progress of loads, but not before."""
    command, company_id = sampled
    (agent,) = running.listed("shippingAgentsExt", {"$top": 1})
    path = f"shippingAgentsExt({agent['id']})"
    running.patch(path, {"name": "Other"}, "*")

    error = command.error("reset")
    refused = command.on_terminal("reset", typed="no\n")
    assert "can be confirmed only in a terminal. Use --yes" in error
    shown = refused.err.removeprefix("no\r\n")
    assert shown.startswith(f"Undo all changes of {NAME} {company_id}? Type yes: ")
    assert "Nothing was changed" in refused.err
    assert refused.status == 1
    assert running.record(path)["name"] == "Other"

    assert command.on_terminal("reset", typed="yes\n").status == 0
    assert running.record(path)["name"] == agent["name"]


@ON_SQLITE
def test_a_reset_needs_one_company_of_the_name(migrated: Command) -> None:
    assert f"the company {NAME} does not exist" in migrated.error("reset", "--yes")
    for name in ("One", "Two"):
        migrated.done("company", "create", name)
    run_sql(migrated.url, f"UPDATE companies SET name = '{NAME}'")
    assert f"2 companies have the name {NAME}" in migrated.error("reset", "--yes")


@ON_SQLITE
def test_a_company_of_the_same_name_is_not_emptied(migrated: Command) -> None:
    company_id = migrated.done("company", "create", NAME).last_word
    path = migrated.folder / "unitsOfMeasureExt.json"
    path.write_bytes(msgspec.json.encode([{"code": "PCS"}]))
    migrated.done("load", "--company", company_id, path)
    assert "did not begin with the sample" in migrated.error("reset", "--yes")
    assert len(migrated.done("changes", "--company", company_id).out.splitlines()) == 1
