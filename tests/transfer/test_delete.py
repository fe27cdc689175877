"""`comptoir company delete`: the deleted data, other data, and interrupts."""

import asyncio
import signal
from collections.abc import Callable
from io import StringIO
from itertools import count
from pathlib import Path

import pytest

from cli.test_renew import company_of
from comptoir.config import Settings
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.errors.table import COMPANY_NOT_FOUND
from comptoir.store.company_steps import delete_companies
from comptoir.store.snapshot import ShowProgress
from conftest import stock
from support.backups import FileBackup
from support.client import page, record
from support.command import COMPANY, OTHER_COMPANY, Command
from support.companies import Company
from support.databases import ON_SQLITE, run_sql
from support.event_loop import in_thread
from support.history import changes
from support.repeats import repeatable
from support.samples import SAMPLES
from support.server import Server
from support.service import Service, StartService
from support.stores import opened
from support.subscriptions import subscribe
from support.waiting import until
from transfer.conftest import ON_ONE_PAIR, STEP_ROWS
from transfer.two_databases import Stopped, TwoDatabases, rows_of

AGENTS = "shippingAgentsExt"
TRACKED = {"Prefer": "odata.track-changes"}
SEARCHED = "itemsExt"
UNKNOWN = "c0ffee00-0000-4000-8000-000000000009"
RESUMES = "comptoir: interrupted. The same command resumes.\n"


@pytest.fixture(scope="module")
def service(share_service: StartService) -> Service:
    return share_service()


@pytest.fixture
def command(service: Service, tmp_path: Path) -> Command:
    """The command, with the database of the service."""
    return Command(tmp_path, service.settings.database)


@pytest.fixture
def company(service: Service) -> Company:
    """A company that has rows in every table."""
    return filled(service.new_company())


def filled(company: Company, documents: int = 3) -> Company:
    """A company with samples, a repeatable write, an unfinished load and documents."""
    stock(company)
    items = [{"number": f"N{at}", "displayName": "Lamp"} for at in range(documents)]
    company.load(SEARCHED, *items)
    company.catch_up(SEARCHED)
    record(company.post(AGENTS, {"code": "R"}, repeatable()), 201)
    company.admin.begin_load(company.stored, "customersExt", [{"number": "L1"}])
    return company


def rows_left(command: Command, company: Company) -> dict[str, int]:
    """The tables in which a company has rows, and how many."""
    found = rows_of(command.url, company)
    return {table: len(rows) for table, rows in found.items() if rows}


def unfinished(command: Command, *companies: Company) -> set[object]:
    """Those of some companies whose deletion is unfinished."""
    stored = {each for (each,) in run_sql(command.url, "SELECT company_id FROM copies")}
    return stored & {each.id for each in companies}


def delete_here(command: Command, company_id: str, listener: ShowProgress) -> None:
    """Delete a company within this process, with a progress listener."""

    async def work() -> None:
        async with opened(Settings(database=command.url)) as store:
            await delete_companies(store, [company_id], listener)

    asyncio.run(work())


def stop(*_: object) -> None:
    raise Stopped


def finds(company: Company, word: str) -> int:
    """The number of items that a search finds."""
    return len(page(company.get(SEARCHED, {"$search": word})).value)


def test_all_data_of_a_company_is_deleted_and_none_of_others(
    command: Command, service: Service, company: Company
) -> None:
    other = filled(service.new_company())
    for each in (company, other):
        subscribe(command.url, each)
    before = rows_of(command.url, other)
    assert len(rows_left(command, company)) == len(before) - 1, "no rows in a table but copies"
    lamps = finds(other, "lamp")

    printed = command.done("company", "delete", company.id.upper(), company.id, "--yes").out

    assert printed == f"Test & Söhne {company.id} {company.id}: deleted\n"
    assert company.get(AGENTS).status_code == 404
    assert company.post(AGENTS, {"code": "B"}).status_code == 404
    assert rows_left(command, company) == {}
    assert not unfinished(command, company)
    assert company.id not in command.done("company", "list").out
    assert rows_of(command.url, other) == before
    assert finds(other, "lamp") == lamps > 0
    assert other.post(AGENTS, {"code": "B"}).status_code == 201


def test_nothing_of_a_deleted_company_is_found_in_one_with_its_id(
    command: Command, service: Service, company: Company
) -> None:
    made = company.post(AGENTS, {"code": "A"})
    command.done("company", "delete", company.id, "--yes")
    command.done("company", "create", "Again", "--id", company.id)

    assert finds(company, "lamp") == 0
    assert changes(company) == []
    company.load(SEARCHED, {"number": "1", "displayName": "Desk lamp"})
    company.catch_up(SEARCHED)
    assert finds(company, "lamp") == 1
    old = str(record(made, 201)["@odata.etag"])
    again = record(company.post(AGENTS, {"code": "A"}), 201)
    assert again["@odata.etag"] != old
    assert len(company.changes()) == 2
    assert service.client.get(f"companies({company.id})").json()["name"] == "Again"


@ON_SQLITE
def test_the_text_index_keeps_no_entries(command: Command, company: Company) -> None:
    """On PostgreSQL, the text index is an index of the documents."""
    entries = "SELECT rowid FROM search_index WHERE search_index MATCH 'lam'"
    before = len(run_sql(command.url, entries))

    command.done("company", "delete", company.id, "--yes")

    assert len(run_sql(command.url, entries)) == before - 3


def test_another_process_serves_404_when_the_command_has_ended(
    command: Command, company: Company
) -> None:
    with Server.over(lambda *_: command.url, command.folder) as server:
        there = company_of(server, company.id)
        path = f"{AGENTS}({record(there.post(AGENTS, {'code': 'S'}), 201)['id']})"
        # as a process, which waits as long as another one may cache a company
        assert command.run("company", "delete", company.id, "--yes").status == 0

        for answer in (
            there.get(AGENTS),
            there.get(path),
            there.patch(path, {"name": "New"}, "*"),
            there.delete(path, "*"),
            there.post(AGENTS, {"code": "T"}),
        ):
            assert answer.status_code == 404
            assert company.id in answer.json()["error"]["message"]
        assert company.id not in server.client.get("companies").text
        server.ask_to_stop()
        server.wait()
    assert rows_left(command, company) == {}


def test_wherever_it_is_interrupted_the_same_command_resumes(
    command: Command, service: Service, small_steps: None
) -> None:
    """Each run is interrupted after its first step, until nothing is left."""
    company = filled(service.new_company(), STEP_ROWS + 10)
    kept = filled(service.new_company())
    before = rows_of(command.url, kept)
    left = sum(rows_left(command, company).values())
    for runs in count(1):
        try:
            delete_here(command, company.id, stop)
        except Stopped:
            found = rows_left(command, company)
            assert found["copies"] == 1
            assert sum(found.values()) < left
            left = sum(found.values())
            assert company.get(AGENTS).status_code == 404
            if runs == 1:
                error = command.error("company", "create", "Other", "--id", company.id)
                assert f"`comptoir company delete {company.id}`" in error
                error = command.error("company", "rename", company.id, "New")
                assert f"the copy or the deletion of the company {company.id} is unfin" in error
        else:
            # a step for each entity set, and two for the documents
            assert runs > len(SAMPLES) + 2
            break
    assert rows_left(command, company) == {}
    assert rows_of(command.url, kept) == before
    assert finds(kept, "lamp") == 3


def test_many_rows_are_dropped_in_several_steps(
    command: Command, service: Service, small_steps: None
) -> None:
    company = service.new_company()
    total = STEP_ROWS + 10
    company.load("customersExt", *({"number": f"C{at}"} for at in range(total)))
    reported: list[tuple[str, int, int]] = []

    delete_here(command, company.id, lambda *progress: reported.append(progress))

    steps = [each[1:] for each in reported if each[0] == "dropping customersExt"]
    assert steps == [(STEP_ROWS, total), (total, total)]
    assert rows_left(command, company) == {}


@pytest.mark.parametrize(
    ("fresh_database", "number"),
    [("postgres", signal.SIGKILL), ("sqlite", signal.SIGINT)],
    indirect=["fresh_database"],
)
def test_a_command_that_is_killed_is_finished_by_the_same_command(
    command: Command, service: Service, company: Company, number: int
) -> None:
    both = service.new_company(), company
    ids = [each.id for each in both]
    with command.started("company", "delete", *ids, "--yes") as process:
        # it then waits as long as services cache a company
        until(
            lambda: len(unfinished(command, *both)) == 2 or None, "companies that are being deleted"
        )
        process.send_signal(number)
        assert process.wait() == (-number if number == signal.SIGKILL else 128 + number)
        said = process.stderr.read().decode()
    assert said == ("" if number == signal.SIGKILL else RESUMES)
    listed = command.done("company", "list").out
    assert not any(each in listed for each in ids)

    printed = command.done("company", "delete", *ids, "--yes").out

    assert printed == "".join(f"{each}: deleted\n" for each in ids)
    assert rows_left(command, company) == {}
    assert not unfinished(command, *both)
    assert f"the company {company.id} does not exist" in command.error(
        "company", "delete", company.id
    )


def during(command: Command, company: Company, work: Callable[[], object]) -> None:
    """Delete a company, and run `work` when the first rows are deleted."""
    left = 1

    def listen(*_: object) -> None:
        nonlocal left
        if left:
            left -= 1
            in_thread(work)

    delete_here(command, company.id, listen)


def test_the_later_of_two_simultaneous_deletions_continues(
    command: Command, company: Company
) -> None:
    def overtake() -> None:
        delete_here(command, company.id, lambda *_: None)

    with pytest.raises(OperatorError, match="another command deletes the company"):
        during(command, company, overtake)
    assert rows_left(command, company) == {}


def test_a_load_into_a_company_that_is_being_deleted_is_refused(
    command: Command, company: Company
) -> None:
    """Even rows that change nothing, which would leave the progress of a load."""
    refused: list[str] = []

    def load() -> None:
        admin = company.admin
        for begins in (admin.begin_load, admin.load):
            with pytest.raises(Refusal) as refusal:
                begins(company.stored, "customersExt", [{"number": "L1"}])
            refused.append(refusal.value.error.code)

    during(command, company, load)

    assert refused == [COMPANY_NOT_FOUND.code] * 2
    assert rows_left(command, company) == {}


@ON_ONE_PAIR
def test_an_unfinished_copy_is_deleted(pair: TwoDatabases) -> None:
    company = stock(pair.source.new_company())
    pair.stopped_at(company, "comparing")
    assert pair.copied_so_far(company, "contactsExt")
    there = Command(pair.command.folder, pair.urls[1])

    there.done("company", "delete", company.id, "--yes")

    assert rows_left(there, company) == {}
    assert pair.copied(company)
    pair.assert_same(company)


@ON_ONE_PAIR
def test_a_copy_that_starts_again_leaves_no_documents_of_the_earlier_one(
    pair: TwoDatabases,
) -> None:
    company = stock(pair.source.new_company())
    pair.attempt(company)
    there = pair.there(company)
    there.catch_up(SEARCHED)
    company.load(SEARCHED, {"number": "NEW", "displayName": "New"})
    pair.stopped_at(company, "comparing")
    assert rows_left(Command(pair.command.folder, pair.urls[1]), company)["search_documents"]

    pair.stopped_at(company, "copying contactsExt", restart=True)

    left = rows_left(Command(pair.command.folder, pair.urls[1]), company)
    assert left.keys().isdisjoint({"search_documents", "search_marks"})
    pair.attempt(company)
    pair.assert_same(company)


@ON_ONE_PAIR
def test_a_copy_is_refused_where_the_company_is_being_deleted(pair: TwoDatabases) -> None:
    company = stock(pair.source.new_company())
    pair.attempt(company)
    there = Command(pair.command.folder, pair.urls[1])
    with pytest.raises(Stopped):
        delete_here(there, company.id, stop)

    assert "or one that is being dropped" in pair.error(company)
    pair.attempt(company, restart=True)
    pair.assert_same(company)


def test_reads_of_a_company_that_a_service_still_knows_do_not_fail(
    command: Command, service: Service, company: Company
) -> None:
    """Its own row is deleted first, and services cache it a little longer."""
    assert company.get(SEARCHED).status_code == 200
    with pytest.raises(Stopped):
        delete_here(command, company.id, stop)

    for query, headers in (("", TRACKED), ("$search=lamp", {})):
        assert company.get(SEARCHED, query, headers).status_code in (200, 404)


@ON_SQLITE  # the steps are those of every database
def test_a_command_for_several_companies_resumes_after_one_of_them_is_done(
    command: Command, service: Service, company: Company
) -> None:
    other = filled(service.new_company())
    command.done("company", "delete", company.id, "--yes")
    with pytest.raises(Stopped):
        delete_here(command, other.id, stop)

    command.done("company", "delete", company.id, other.id, "--yes")

    assert not unfinished(command, company, other)
    assert rows_left(command, other) == {}


@ON_SQLITE
def test_a_restored_backup_from_before_the_deletion_is_noticed(ready: Command) -> None:
    """The watermarks are in the same place for every database."""
    with Service(lambda *_: ready.url, ready.folder) as service:
        backup = FileBackup(ready.url)
        record(company_of(service).post(AGENTS, {"code": "A"}), 201)
    ready.done("company", "delete", COMPANY, "--yes")
    with Server.over(lambda *_: ready.url, ready.folder) as server:
        assert COMPANY not in server.client.get("companies").text

    backup.restored()

    assert "lacks changes" in ready.run("serve", "--port", "0").err


WRONG = [
    ((), "Missing argument 'ID…'"),
    (("17", "--yes"), "'17' is not a company's id"),
    ((UNKNOWN, "--yes"), f"the company {UNKNOWN} does not exist"),
    ((COMPANY, UNKNOWN, "--yes"), f"the company {UNKNOWN} does not exist"),
    ((COMPANY,), "Use --yes to delete without a confirmation"),
    ((COMPANY, "--yes", "--database", "sqlite:///none.db"), "the database none.db does not exist"),
]


def test_a_deletion_of_an_unknown_company_is_refused_as_a_whole(
    ready: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    for arguments, reason in WRONG:
        assert reason in ready.error("company", "delete", *arguments)
    assert len(ready.done("company", "list").out.splitlines()) == 2
    assert not (ready.folder / "none.db").exists()


@ON_SQLITE
def test_a_terminal_asks_for_the_name(ready: Command) -> None:
    """The question does not depend on the database."""
    delete = ("company", "delete")
    wrong = ready.on_terminal(*delete, COMPANY, typed="test\n")
    assert (wrong.status, wrong.out) == (1, "")
    assert f"Delete Test {COMPANY} permanently? Type its name" in wrong.err
    assert "comptoir: this is not the name of the company. Nothing was deleted;" in wrong.err

    right = ready.on_terminal(*delete, COMPANY, OTHER_COMPANY, typed="Test\nOther\n")
    assert right.status == 0
    assert right.out == f"Test {COMPANY}: deleted\nOther {OTHER_COMPANY}: deleted\n"


@ON_SQLITE
def test_a_terminal_asks_for_the_id_after_an_interrupted_deletion(
    command: Command, company: Company
) -> None:
    """The question does not depend on the database."""
    with pytest.raises(Stopped):
        delete_here(command, company.id, stop)

    done = command.on_terminal("company", "delete", company.id, typed=f"{company.id}\n")

    assert (done.status, done.out) == (0, f"{company.id}: deleted\n")
    assert "whose deletion or copy is unfinished" in done.err
