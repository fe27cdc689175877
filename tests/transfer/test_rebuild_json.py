"""`comptoir migrate --rebuild-json`: the stored JSON is encoded again from the columns."""

import asyncio
import signal
from collections.abc import Callable

import pytest
from sqlalchemy import Connection, Table, func, select, update

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.record_json import LONGEST_JSON
from comptoir.sql.tables import COMPANY_ID, build_tables
from comptoir.store.company_steps import rebuild_json
from comptoir.store.snapshot import ShowProgress
from comptoir.store.store import SLICE_ROWS
from conftest import stock
from support.batches import send_documents
from support.client import record
from support.command import Command
from support.companies import Company
from support.databases import ON_SQLITE, in_database
from support.event_loop import in_thread
from support.repeats import repeatable
from support.samples import PATHS, SAMPLES
from support.service import Service
from support.stores import opened
from support.waiting import until
from transfer.conftest import STEP_ROWS
from transfer.test_copy_interrupted import load_customers
from transfer.two_databases import TwoDatabases, rows_of

AGENTS, AGENT = "shippingAgentsExt", PATHS["shippingAgentsExt"]
CUSTOMERS = "customersExt"

ATTEMPTS = 5
"""Of a signal, which a busy machine may send only after a command has encoded everything."""

WRONG = {"record_json": b'1\\"","id":"another"'}
OUTDATED: dict[str, dict[str, bytes | int | None]] = {
    "wrong": {**WRONG},
    "never stored": {"record_json": None, "json_version": None, "json_layout": None},
    "null": {"record_json": None},
    "empty": {"record_json": b""},
    "version": {**WRONG, "json_version": 0},
    "layout": {**WRONG, "json_layout": 1},
}
"""Codes of agents, and what is stored with their columns."""


@pytest.fixture
def company(service_over: Service) -> Company:
    """A company with a sample of every entity set."""
    return stock(service_over.new_company("Checked"))


def table_of(name: str) -> Table:
    return build_tables(MODEL).records[name].table


def tamper(
    url: str,
    entity_set: str,
    company: Company,
    code: str | None = None,
    **values: bytes | str | int | None,
) -> None:
    """Set columns of all records of an entity set, or of the one with a code, by plain SQL."""
    table = table_of(entity_set)
    statement = update(table).where(table.c[COMPANY_ID] == company.id).values(values)
    if code is not None:
        statement = statement.where(table.c.code == code)
    in_database(url, lambda connection: connection.execute(statement).rowcount)


def left_without(url: str, company: Company) -> int:
    """The number of customers without JSON."""
    table = table_of(CUSTOMERS)
    missing = select(func.count()).where(
        table.c[COMPANY_ID] == company.id, table.c.record_json.is_(None)
    )

    def read(connection: Connection) -> int:
        return connection.execute(missing).scalar_one()

    return in_database(url, read)


def rebuilt(command: Command) -> None:
    """Rebuild the JSON of all records, by the command."""
    command.done("migrate", "--rebuild-json")


def rebuilt_here(url: str, company: Company, entity_set: str, listener: ShowProgress) -> None:
    """Rebuild the JSON of an entity set within this process, with a progress listener."""

    async def work() -> None:
        async with opened(Settings(database=url)) as store:
            await rebuild_json(store, company.id, entity_set, listener)

    asyncio.run(work())


def before_writing(work: Callable[[int, int], object]) -> ShowProgress:
    """A listener that runs `work` when records are read, and their JSON is not yet written."""

    def listen(_: str, done: int, total: int) -> None:
        in_thread(work, done, total)

    return listen


def test_every_write_stores_the_json_of_its_columns(
    ready: Command, service_over: Service, company: Company
) -> None:
    for resource, name in ((AGENTS, "name"), ("contactsExt", "displayName")):
        path = PATHS[resource]
        record(company.patch(path, {name: "Patched"}, "*", repeatable()))
        record(company.put(path, {**SAMPLES[resource], name: "Replaced"}, "*"))
    assert company.delete(PATHS["campaignsExt"], "*").status_code == 204
    record(company.post(AGENTS, {"code": "NEW"}, repeatable()), 201)
    requests = [
        {"id": code, "method": "POST", "url": AGENTS, "body": {"code": code}, "atomicityGroup": "g"}
        for code in "AB"
    ]
    assert send_documents(company, requests).status_code == 200
    company.load(CUSTOMERS, {"number": "1", "city": "Graz"}, {"number": "2", "city": ""})
    company.load(CUSTOMERS, {"number": "1", "city": "Wien"})
    ready.done("company", "renew", company.id)
    record(company.patch(AGENT, {"name": "After the renewal"}, "*"))

    rows = rows_of(ready.url, company)

    printed = ready.done("migrate", "--rebuild-json").last

    assert printed == f"The JSON of {len(SAMPLES) + 4} records is encoded again."
    assert rows_of(ready.url, company) == rows


def test_a_copy_stores_the_json_of_its_columns(own_pair: TwoDatabases) -> None:
    company = stock(own_pair.source.new_company())
    own_pair.attempt(company)
    there = Command(own_pair.command.folder, own_pair.urls[1])

    rows = rows_of(there.url, company)

    rebuilt(there)

    assert rows_of(there.url, company) == rows


def test_json_is_encoded_again_from_the_columns(ready: Command, company: Company) -> None:
    record(company.patch(PATHS["contactsExt"], {"displayName": "x" * LONGEST_JSON}, "*"))
    made = [record(company.post(AGENTS, {"code": code}), 201) for code in OUTDATED]
    before, rows = company.listed(AGENTS), rows_of(ready.url, company)
    changes = company.changes()
    for code, values in OUTDATED.items():
        tamper(ready.url, AGENTS, company, code, **values)
    assert company.record(f"{AGENTS}({made[0]['id']})")["id"] == "another"

    rebuilt(ready)

    for each in made:
        assert company.record(f"{AGENTS}({each['id']})") == each, "with its entity tag"
    assert company.listed(AGENTS) == before
    assert company.changes() == changes
    assert rows_of(ready.url, company) == rows


def test_many_records_are_encoded_in_several_units(
    ready: Command, company: Company, small_steps: None
) -> None:
    total = load_customers(company, STEP_ROWS) + 1
    rows = rows_of(ready.url, company)
    tamper(ready.url, CUSTOMERS, company, record_json=None)
    shown: list[tuple[int, int, int]] = []

    def note(done: int, total: int) -> None:
        shown.append((done, total, left_without(ready.url, company)))

    rebuilt_here(ready.url, company, CUSTOMERS, before_writing(note))

    assert shown == [
        (STEP_ROWS, total, total),
        (2 * STEP_ROWS, total, total - STEP_ROWS),
        (total, total, total - 2 * STEP_ROWS),
    ]
    assert rows_of(ready.url, company) == rows


def test_records_that_change_meanwhile_keep_their_new_json(
    ready: Command, company: Company
) -> None:
    ids = [record(company.post(AGENTS, {"code": each}), 201)["id"] for each in "AB"]
    tamper(ready.url, AGENTS, company, None, **WRONG)

    def write(*_: int) -> None:
        record(company.patch(AGENT, {"name": "Changed"}, "*"))
        assert company.delete(f"{AGENTS}({ids[0]})", "*").status_code == 204

    rebuilt_here(ready.url, company, AGENTS, before_writing(write))

    assert company.record(AGENT)["name"] == "Changed"
    assert company.get(f"{AGENTS}({ids[0]})").status_code == 404
    assert company.record(f"{AGENTS}({ids[1]})")["code"] == "B"
    rows = rows_of(ready.url, company)
    rebuilt(ready)
    assert rows_of(ready.url, company) == rows


@ON_SQLITE  # the units are those of every database
def test_a_command_that_is_killed_may_be_run_again(ready: Command, company: Company) -> None:
    many = load_customers(company, SLICE_ROWS)
    for _ in range(ATTEMPTS):
        tamper(ready.url, CUSTOMERS, company, record_json=None)
        with ready.started("migrate", "--rebuild-json") as process:
            until(
                lambda: left_without(ready.url, company) <= many or process.poll(),
                "encoded records",
            )
            process.kill()
            status = process.wait()
        if left_without(ready.url, company):
            break
    assert left_without(ready.url, company)
    assert status == -signal.SIGKILL

    rebuilt(ready)

    assert left_without(ready.url, company) == 0


def test_the_command_that_was_removed_names_the_one_in_its_place(ready: Command) -> None:
    said = ready.error("check", "--repair")
    assert said == "comptoir: the command check is removed. Use `comptoir migrate --rebuild-json`."
