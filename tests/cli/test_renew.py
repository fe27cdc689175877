"""`comptoir company renew`: the tags and links that become invalid, and those that remain valid."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from comptoir.store import store
from comptoir.store.urls import is_postgres
from comptoir.store.watermarks import LOCK_NAME, NAME
from support.backups import BackUp, FileBackup, ServerBackup
from support.client import Client, page, record, tag_of
from support.command import COMPANY, OTHER_COMPANY, Command
from support.databases import ON_SQLITE, run_sql
from support.postgres import Databases
from support.repeats import repeatable
from support.replicas import token
from support.server import Server
from support.service import Service
from support.waiting import until

pytestmark = pytest.mark.usefixtures("brief_cache")
AGENTS = "shippingAgentsExt"
UNKNOWN = "c0ffee00-0000-4000-8000-000000000009"
TRACKED = {"Prefer": "odata.track-changes"}


@pytest.fixture
def back_up(request: pytest.FixtureRequest) -> BackUp:
    """Backs up a database on SQLite or PostgreSQL."""

    def make(url: str) -> FileBackup | ServerBackup:
        if not is_postgres(url):
            return FileBackup(url)
        server: Databases = request.getfixturevalue("postgres_server")
        return ServerBackup(url, server)

    return make


@contextmanager
def serving(command: Command) -> Iterator[Client]:
    """A service over a command's database, with its keys; it is stopped at the end."""
    with Server.over(lambda *_: command.url, command.folder) as server:
        yield company_of(server)
        server.ask_to_stop()
        server.wait()


def refused_start(command: Command) -> str:
    """The error of `comptoir serve` when it does not start."""
    with command.started("serve", "--port", "0") as process:
        assert process.stdout.readline() == b"", "it serves"
        assert process.wait() == 1
        return process.stderr.read().decode()


def company_of(service: Service | Server, company_id: str = COMPANY) -> Client:
    client = service.client
    return Client(client.carrier, f"{client.root}/companies({company_id})", client.token)


def created(client: Client) -> tuple[str, str]:
    """The path of a new shipping agent, and its tag."""
    made = client.post(AGENTS, {"code": "A"})
    return f"{AGENTS}({record(made, 201)['id']})", tag_of(made)


def incarnation(tag: str) -> str:
    """The part of an entity tag before the version."""
    return tag.rpartition(".")[0]


def current_tag(message: str) -> str:
    """The tag in the message of a refusal."""
    found = re.search(r'W/"[^"]+"', message)
    assert found is not None
    return found[0]


def delta_link(client: Client) -> str:
    """The delta link of a collection as it is now, without the address of the service."""
    body = msgspec.json.decode(client.get(AGENTS, headers=TRACKED).content)
    link: str = body["@odata.deltaLink"]
    return link.rpartition("/")[2]


def test_after_a_restore_nothing_of_the_lost_changes_matches(
    ready: Command, back_up: BackUp
) -> None:
    with serving(ready) as client:
        made = record(client.post(AGENTS, {"code": "A", "name": "before"}), 201)
        path = f"{AGENTS}({made['id']})"
        record(client.post(AGENTS, {"code": "Z"}), 201)
        early_tag, early_link = str(made["@odata.etag"]), delta_link(client)
        half = page(client.get(AGENTS, headers={"Prefer": "odata.maxpagesize=1"}))
        repeat = repeatable(If_Match=early_tag)
        kept = client.patch(path, {}, headers=repeat)
        tracked = page(
            client.get(AGENTS, headers={"Prefer": "odata.track-changes,odata.maxpagesize=1"})
        )
        backup = back_up(ready.url)
        lost = client.patch(path, {"name": "lost"}, early_tag)
        record(client.post(AGENTS, {"code": "B"}), 201)
        assert client.get(f"{AGENTS}/$count").text == "3"
        lost_link = delta_link(client)
    command = Command(ready.folder, backup.restored())

    error = refused_start(command)
    printed = command.done("company", "renew", COMPANY).out

    assert "lacks changes that this service has acknowledged" in error
    assert f"change 4 of the company {COMPANY}" in error
    assert "`comptoir company renew --all`" in error
    assert printed.startswith(f"Test {COMPANY}: renewed after change 2")
    with serving(command) as client:
        assert client.get(f"{AGENTS}/$count").text == "2"
        assert client.get(path, headers={"If-None-Match": early_tag}).status_code == 200
        assert client.patch(path, {"name": "new"}, early_tag).status_code == 412
        fresh_tag = tag_of(client.get(path))
        new = client.patch(path, {"name": "new"}, fresh_tag)
        record(client.post(AGENTS, {"code": "C"}), 201)
        # only the number of the change is the same
        assert tag_of(new).rpartition(".")[2] == tag_of(lost).rpartition(".")[2]
        read = client.get(path, headers={"If-None-Match": tag_of(lost)})
        assert record(read)["name"] == "new"
        assert client.get(path, headers={"If-None-Match": tag_of(new)}).status_code == 304
        assert client.patch(path, {"name": "over"}, tag_of(lost)).status_code == 412
        assert client.delete(path, tag_of(lost)).status_code == 412
        assert client.get(f"{AGENTS}/$count").text == "3"
        for link in (early_link, lost_link):
            assert client.get(link).status_code == 410
        assert client.get(path, headers=token(lost)).status_code == 400
        assert client.get(path, headers=token(new)).status_code == 200
        assert half.next_link is not None
        rest = page(client.get(half.next_link.rpartition("/")[2]))
        # paging resumes after the values of the last record
        assert {each["code"] for each in half.value + rest.value} >= {"A", "Z"}
        # but a skip token of a delta link misses the lost changes
        assert tracked.next_link is not None
        assert client.get(tracked.next_link.rpartition("/")[2]).status_code == 410
        again = client.patch(path, {}, headers=repeat)
        assert again.status_code == kept.status_code
        assert again.json()["name"] == "before"


def test_a_start_notices_an_older_database_even_if_as_much_was_written_to_it_since(
    ready: Command, back_up: BackUp
) -> None:
    with serving(ready) as client:
        backup = back_up(ready.url)
        record(client.post(AGENTS, {"code": "A"}), 201)
    command = Command(ready.folder, backup.restored())
    (command.folder / "unitsOfMeasureExt.csv").write_text("code\nPCS\nBOX\n")
    command.done("load", "--company", COMPANY, command.folder / "unitsOfMeasureExt.csv")

    error = refused_start(command)

    assert f"change 1 of the company {COMPANY}" in error
    command.done("company", "renew", "--all")
    with serving(command) as client:
        record(client.post(AGENTS, {"code": "A"}), 201)


def test_a_write_by_an_old_tag_is_refused_by_a_service_that_has_not_noticed(
    ready: Command, service_over: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction compares the tag with the company's current incarnation."""
    monkeypatch.setattr(store, "COMPANY_CACHE_SECONDS", 600)
    client = company_of(service_over)
    path, old = created(client)
    ready.done("company", "renew", COMPANY)

    refused = client.patch(path, {"name": "over"}, old)
    new = current_tag(refused.json()["error"]["message"])
    changed = client.patch(path, {"name": "new"}, new)
    seen = client.get(path, headers=token(changed))

    assert refused.status_code == 412
    assert new != old
    assert record(changed)["@odata.etag"] == tag_of(changed)
    assert incarnation(tag_of(changed)) == incarnation(new)
    # the token has the new incarnation, so the service has looked up the company again
    assert tag_of(seen) == tag_of(changed)
    assert client.patch(path, {"name": "newest"}, tag_of(changed)).status_code == 200


def test_running_services_know_of_a_renewal_when_the_command_has_ended(
    ready: Command, service_over: Service
) -> None:
    with serving(ready) as other:
        client = company_of(service_over)
        path, old = created(client)
        links = [delta_link(each) for each in (client, other)]
        # as a process, which waits as long as another one may cache a company
        assert ready.run("company", "renew", "--all").status == 0

        for each, link in zip((client, other), links, strict=True):
            read = each.get(path, headers={"If-None-Match": old})
            assert read.status_code == 200
            assert incarnation(tag_of(read)) != incarnation(old)
            assert each.get(link).status_code == 410
            assert each.get(delta_link(each)).status_code == 200


def test_only_the_named_companies_are_renewed(ready: Command, service_over: Service) -> None:
    paths = {each: created(company_of(service_over, each)) for each in (COMPANY, OTHER_COMPANY)}

    printed = ready.done("company", "renew", OTHER_COMPANY.upper(), OTHER_COMPANY).out

    assert printed == f"Other {OTHER_COMPANY}: renewed after change 1\n"
    for each, status in ((COMPANY, 304), (OTHER_COMPANY, 200)):
        path, tag = paths[each]
        answer = company_of(service_over, each).get(path, headers={"If-None-Match": tag})
        assert answer.status_code == status


REFUSED = [
    ([], "either ids or --all"),
    ([COMPANY, "--all"], "either ids or --all"),
    (["17"], "'17' is not a company's id"),
    ([COMPANY, UNKNOWN], f"the company {UNKNOWN} does not exist"),
]


def test_a_renewal_of_an_unknown_company_is_refused_as_a_whole(
    ready: Command, service_over: Service
) -> None:
    client = company_of(service_over)
    path, tag = created(client)

    for arguments, reason in REFUSED:
        assert reason in ready.error("company", "renew", *arguments)
    assert client.patch(path, {"name": "same"}, tag).status_code == 200


def test_all_processes_save_their_watermarks_in_one_file(ready: Command, back_up: BackUp) -> None:
    with serving(ready) as client:
        backup = back_up(ready.url)
        with Service(lambda *_: ready.url, ready.folder) as service:
            record(company_of(service, OTHER_COMPANY).post(AGENTS, {"code": "A"}), 201)
            record(client.post(AGENTS, {"code": "A"}), 201)

    error = refused_start(Command(ready.folder, backup.restored()))

    assert f"change 1 of the company {COMPANY}, and changes of 1 more" in error.replace(
        OTHER_COMPANY, COMPANY
    )


@ON_SQLITE
def test_a_kill_loses_at_most_the_last_seconds_of_the_watermarks(
    ready: Command, back_up: BackUp
) -> None:
    """The saved watermarks are the same on every database."""
    with Server.over(lambda *_: ready.url, ready.folder) as server:
        backup = back_up(ready.url)
        record(company_of(server).post(AGENTS, {"code": "A"}), 201)
        until(lambda: (ready.folder / "keys" / NAME).exists() or None, "watermarks that are kept")
        server.kill()

    assert "lacks changes" in refused_start(Command(ready.folder, backup.restored()))


@ON_SQLITE
def test_a_folder_that_cannot_be_written_causes_a_warning(
    ready: Command, service_over: Service, caplog: pytest.LogCaptureFixture
) -> None:
    (ready.folder / "keys" / LOCK_NAME).mkdir()
    with Service(lambda *_: ready.url, ready.folder) as service:
        record(company_of(service).post(AGENTS, {"code": "A"}), 201)

    assert caplog.text.count(f"{NAME} cannot be written") == 1
    assert record(company_of(service_over).post(AGENTS, {"code": "B"}), 201)


@ON_SQLITE
def test_a_damaged_file_causes_a_warning(ready: Command) -> None:
    (ready.folder / "keys").mkdir(mode=0o700)
    (ready.folder / "keys" / NAME).write_text("{")
    with ready.started("serve", "--port", "0") as process:
        assert process.stdout.readline().startswith(b"Serving")
        assert b"watermarks.json is damaged" in process.stderr.readline()


def test_a_change_that_was_trimmed_is_not_lost(ready: Command) -> None:
    """The last change that this host acknowledged may be an old one."""
    with serving(ready) as client:
        path, _ = created(client)
    with serving(Command(ready.folder / "other", ready.url)) as client:
        for name in ("second", "third"):
            record(client.patch(path, {"name": name}, "*"))
    run_sql(ready.url, f"DELETE FROM changes WHERE company_id = '{COMPANY}' AND number <= 2")
    with serving(ready) as client:
        assert record(client.get(path))["name"] == "third"
