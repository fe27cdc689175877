"""`comptoir check`: JSON that differs from the columns is found, and repaired."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, Table, func, select, update

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.record_json import LONGEST_JSON
from comptoir.sql.tables import COMPANY_ID, build_tables
from comptoir.store.store import SLICE_ROWS
from comptoir.transfer import ShowProgress
from comptoir.transfer.check import KEYS_KEPT, Checker
from conftest import stock
from support.batches import send_documents
from support.client import record
from support.command import COMPANY, OTHER_COMPANY, Command
from support.companies import Company
from support.databases import in_database
from support.repeats import repeatable
from support.samples import PATHS, SAMPLES, SHIPPING_AGENT
from support.service import Service
from transfer.two_databases import TwoDatabases, guid, rows_of

AGENTS, AGENT = "shippingAgentsExt", PATHS["shippingAgentsExt"]
CUSTOMERS = "customersExt"
RESUMES = "comptoir: interrupted. The same command resumes.\n"
UNKNOWN = "c0ffee00-0000-4000-8000-000000000009"
MANY = 2 * SLICE_ROWS + 500
"""Records that three units of work repair."""

ATTEMPTS = 5
"""Of a signal, which a busy machine may send only after a command has repaired everything."""

WRONG = {"record_json": b'1\\"","id":"another"'}
OUTDATED: dict[str, dict[str, bytes | int | None]] = {
    "never stored": {"record_json": None, "json_version": None, "json_layout": None},
    "null": {"record_json": None},
    "empty": {"record_json": b""},
    "version": {**WRONG, "json_version": 0},
    "layout": {**WRONG, "json_layout": 1},
}


@pytest.fixture
def service_over(ready: Command) -> Iterator[Service]:
    """A service within this process over the database of the command."""
    with Service(lambda *_: ready.url, ready.folder) as service:
        yield service


@pytest.fixture
def company(service_over: Service) -> Company:
    """A company with a sample of every entity set."""
    return stock(service_over.new_company("Checked"))


def table_of(name: str) -> Table:
    return build_tables(MODEL).records[name].table


def tamper(url: str, entity_set: str, company: Company, **values: bytes | str | int | None) -> None:
    """Set columns of all records of an entity set by plain SQL."""
    table = table_of(entity_set)
    statement = update(table).where(table.c[COMPANY_ID] == company.id).values(values)
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


def checked_here(url: str, company: Company, listener: ShowProgress) -> None:
    """Repair a company within this process, with a progress listener."""

    async def work() -> None:
        opened = open_store(Settings(database=url))
        try:
            checker = Checker(opened, company.stored, listener, repairs=True)
            async for _ in checker.check(MODEL.stored):
                pass
        finally:
            await opened.close()

    asyncio.run(work())


def before_repair(entity_set: str, work: Callable[[int, int], object]) -> ShowProgress:
    """A listener that runs `work` when records of a set are compared, and not yet repaired."""

    def listen(stage: str, done: int, total: int) -> None:
        if stage == f"checking {entity_set}":
            with ThreadPoolExecutor(1) as thread:
                # in another thread, since the work may run its own event loop
                thread.submit(work, done, total).result()

    return listen


def load_customers(company: Company) -> None:
    company.load(CUSTOMERS, *({"id": guid(at), "number": f"C{at}"} for at in range(MANY)))


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

    printed = ready.done("check").out

    assert printed == f"total: {len(SAMPLES) + 4} records, 0 wrong, 0 outdated\n"


def test_a_copy_stores_the_json_of_its_columns(pair: TwoDatabases) -> None:
    company = stock(pair.source.new_company())
    pair.copied(company)
    there = Command(pair.command.folder, pair.urls[1])

    printed = there.done("check", "--company", company.id).out

    assert printed == f"total: {len(SAMPLES)} records, 0 wrong, 0 outdated\n"


def test_a_record_that_is_too_long_for_json_is_not_outdated(
    ready: Command, service_over: Service, company: Company
) -> None:
    record(company.patch(PATHS["contactsExt"], {"displayName": "x" * LONGEST_JSON}, "*"))
    assert company.record(PATHS["contactsExt"])["displayName"] == "x" * LONGEST_JSON

    assert ready.done("check").last == f"total: {len(SAMPLES)} records, 0 wrong, 0 outdated"


def test_wrong_json_is_found_by_its_key_and_repaired(ready: Command, company: Company) -> None:
    before, rows = company.record(AGENT), rows_of(ready.url, company)
    listed, changes = company.listed(AGENTS), company.changes()
    tamper(ready.url, AGENTS, company, **WRONG)
    assert company.record(AGENT)["id"] == "another"

    found = ready.here("check")

    named = f"Checked {company.id}: {AGENTS}: 1 records, 1 wrong, 0 outdated"
    keys = f"; wrong: {SHIPPING_AGENT}\n"
    total = f"total: {len(SAMPLES)} records, 1 wrong, 0 outdated"
    assert (found.status, found.out) == (1, f"{named}{keys}{total}\n")
    assert company.record(AGENT)["id"] == "another"

    repaired = ready.done("check", "--repair")

    assert repaired.out == f"{named}; repaired{keys}{total}; repaired\n"
    assert company.record(AGENT) == before, "with its entity tag"
    assert company.listed(AGENTS) == listed
    assert company.changes() == changes
    assert rows_of(ready.url, company) == rows
    assert ready.done("check").last == f"total: {len(SAMPLES)} records, 0 wrong, 0 outdated"


def test_a_column_that_was_changed_by_sql_is_found(ready: Command, company: Company) -> None:
    tamper(ready.url, AGENTS, company, name="By SQL")
    assert company.record(AGENT)["name"] != "By SQL"

    assert ready.here("check").status == 1
    ready.done("check", "--repair")

    assert company.record(AGENT)["name"] == "By SQL"


@pytest.mark.parametrize("values", OUTDATED.values(), ids=OUTDATED)
def test_outdated_json_is_not_a_fault(
    ready: Command, company: Company, values: dict[str, bytes | int | None]
) -> None:
    before, rows = company.record(AGENT), rows_of(ready.url, company)
    tamper(ready.url, AGENTS, company, **values)

    found = ready.done("check").out

    named = f"Checked {company.id}: {AGENTS}: 1 records, 0 wrong, 1 outdated"
    assert found.splitlines()[0] == named
    assert ready.done("check", "--repair").out.splitlines()[0] == f"{named}; repaired"
    assert rows_of(ready.url, company) == rows
    assert company.record(AGENT) == before
    assert ready.done("check").last == f"total: {len(SAMPLES)} records, 0 wrong, 0 outdated"


def test_only_the_named_companies_are_checked(
    ready: Command, service_over: Service, company: Company
) -> None:
    other = stock(service_over.new_company("Other"))
    for each in (company, other):
        tamper(ready.url, AGENTS, each, **WRONG)

    ready.done("check", "--company", company.id.upper(), "--company", COMPANY, "--repair")

    assert ready.done("check", "--company", company.id).out.startswith("total: ")
    left = ready.here("check")
    assert left.status == 1
    assert [line.split(":")[0] for line in left.out.splitlines()] == [f"Other {other.id}", "total"]


def test_only_the_first_wrong_keys_are_named(ready: Command, company: Company) -> None:
    company.load("campaignsExt", *({"id": guid(at), "number": f"P{at}"} for at in range(10)))
    tamper(ready.url, "campaignsExt", company, **WRONG)

    line = ready.here("check").out.splitlines()[0]

    keys = ", ".join(guid(at) for at in range(KEYS_KEPT))
    assert line.endswith(f"campaignsExt: 11 records, 11 wrong, 0 outdated; wrong: {keys}, …")


def test_many_records_are_repaired_in_several_units(ready: Command, company: Company) -> None:
    load_customers(company)
    rows = rows_of(ready.url, company)
    tamper(ready.url, CUSTOMERS, company, record_json=None)
    shown: list[tuple[int, int, int]] = []

    def note(done: int, total: int) -> None:
        shown.append((done, total, left_without(ready.url, company)))

    checked_here(ready.url, company, before_repair(CUSTOMERS, note))

    total = MANY + 1
    assert shown == [
        (SLICE_ROWS, total, total),
        (2 * SLICE_ROWS, total, total - SLICE_ROWS),
        (total, total, total - 2 * SLICE_ROWS),
    ]
    assert rows_of(ready.url, company) == rows


@pytest.mark.parametrize("values", [WRONG, OUTDATED["null"]], ids=["wrong", "outdated"])
def test_a_record_that_changes_during_its_repair_keeps_its_new_json(
    ready: Command, company: Company, values: dict[str, bytes | int | None]
) -> None:
    other = record(company.post(AGENTS, {"code": "OTHER", "name": "Before"}), 201)
    tamper(ready.url, AGENTS, company, **values)

    def write(*_: int) -> None:
        record(company.patch(AGENT, {"name": "Changed"}, "*"))

    checked_here(ready.url, company, before_repair(AGENTS, write))

    assert company.record(AGENT)["name"] == "Changed"
    assert company.record(f"{AGENTS}({other['id']})")["name"] == "Before"
    total = f"total: {len(SAMPLES) + 1} records, 0 wrong, 0 outdated\n"
    assert ready.done("check").out == total


def test_a_record_that_is_deleted_during_its_repair_stays_deleted(
    ready: Command, company: Company
) -> None:
    tamper(ready.url, AGENTS, company, **WRONG)

    checked_here(ready.url, company, before_repair(AGENTS, lambda *_: company.delete(AGENT, "*")))

    assert company.get(AGENT).status_code == 404
    assert ready.done("check").out == f"total: {len(SAMPLES) - 1} records, 0 wrong, 0 outdated\n"


def test_a_cancelled_repair_keeps_what_it_has_stored(ready: Command, company: Company) -> None:
    load_customers(company)
    tamper(ready.url, CUSTOMERS, company, record_json=None)

    def cancel(stage: str, done: int, _: int) -> None:
        task = asyncio.current_task()
        if stage == f"checking {CUSTOMERS}" and done > SLICE_ROWS and task is not None:
            task.cancel()

    with pytest.raises(asyncio.CancelledError):
        checked_here(ready.url, company, cancel)
    assert left_without(ready.url, company) == MANY + 1 - SLICE_ROWS

    named = f"{CUSTOMERS}: {MANY + 1} records, 0 wrong, {MANY + 1 - SLICE_ROWS} outdated; repaired"
    assert named in ready.done("check", "--repair").out
    assert left_without(ready.url, company) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_command_that_is_killed_may_be_run_again(
    ready: Command, company: Company, number: int
) -> None:
    load_customers(company)
    for _ in range(ATTEMPTS):
        tamper(ready.url, CUSTOMERS, company, record_json=None)
        with ready.started("check", "--repair") as process:
            while left_without(ready.url, company) == MANY + 1 and process.poll() is None:
                pass
            process.send_signal(number)
            status = process.wait()
            said = process.stderr.read().decode()
        if left_without(ready.url, company):
            break
    assert left_without(ready.url, company)
    assert status == (-number if number == signal.SIGKILL else 128 + number)
    assert said == ("" if number == signal.SIGKILL else RESUMES)

    ready.done("check", "--repair")

    total = MANY + len(SAMPLES)
    assert ready.done("check").out == f"total: {total} records, 0 wrong, 0 outdated\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--company", "17"], "'17' is not a company's id"),
        (["--company", UNKNOWN], f"the company {UNKNOWN} does not exist"),
        (["--database", "sqlite:///none.db"], "the database none.db does not exist"),
    ],
)
def test_an_unknown_company_or_database_is_refused(
    ready: Command, arguments: list[str], reason: str
) -> None:
    assert reason in ready.fault("check", *arguments)


def test_companies_without_records_have_no_findings(ready: Command) -> None:
    checked = ready.done("check", "--company", COMPANY, "--company", OTHER_COMPANY)
    assert checked.out == "total: 0 records, 0 wrong, 0 outdated\n"
