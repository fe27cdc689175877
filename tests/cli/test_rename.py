"""`comptoir company rename`: what clients and services see of it, and what is refused."""

import asyncio
from contextlib import AsyncExitStack
from urllib.parse import quote
from uuid import uuid4

import msgspec
import pytest

from cli.test_renew import company_of
from comptoir.config import Settings
from comptoir.errors.refusal import OperatorError
from comptoir.store.company_steps import rename_company
from support.client import Client, record, tag_of
from support.command import COMPANY, OTHER_COMPANY, Command
from support.history import changes
from support.server import Server
from support.service import Service
from support.stores import opened

AGENTS = "shippingAgentsExt"
UNKNOWN = "c0ffee00-0000-4000-8000-000000000009"


@pytest.mark.usefixtures("brief_cache")
def test_a_renamed_company_has_its_new_name_another_tag_and_the_same_records(
    ready: Command, service_over: Service
) -> None:
    root, here = service_over.client, company_of(service_over)
    agent = record(here.post(AGENTS, {"code": "A"}), 201)
    before = root.record(f"companies({COMPANY})")
    tag = str(before["@odata.etag"])
    assert root.get(f"companies({COMPANY})", headers={"If-None-Match": tag}).status_code == 304

    printed = ready.done("company", "rename", COMPANY.upper(), "Söhne & Co").out

    assert printed == f"Söhne & Co {COMPANY}: renamed from Test\n"
    answer = root.get(f"companies({COMPANY})", headers={"If-None-Match": tag})
    after = record(answer)
    assert (after["name"], after["displayName"]) == ("Söhne & Co", "Söhne & Co")
    assert str(after["lastModifiedDateTime"]) > str(before["lastModifiedDateTime"])
    for current, status in ((tag, 200), (tag_of(answer), 304)):
        read = root.get(f"companies({COMPANY})", headers={"If-None-Match": current})
        assert read.status_code == status
    assert {each["name"] for each in root.listed("companies")} == {"Other", "Söhne & Co"}
    kept = {"If-None-Match": str(agent["@odata.etag"])}
    assert here.get(f"{AGENTS}({agent['id']})", headers=kept).status_code == 304
    assert here.patch(f"{AGENTS}({agent['id']})", {"name": "B"}, kept["If-None-Match"]).is_success

    ready.done("company", "rename", COMPANY, "Test")
    assert tag_of(root.get(f"companies({COMPANY})")) not in (tag, tag_of(answer))


@pytest.mark.usefixtures("brief_cache")
def test_a_rename_is_a_change_of_the_company(ready: Command, service_over: Service) -> None:
    for name in ("One", "Two"):
        ready.done("company", "rename", COMPANY, name)

    printed = ready.done("changes", "--company", COMPANY).out.splitlines()
    found = changes(company_of(service_over))

    entries = [msgspec.json.decode(each, type=dict[str, str | int]) for each in printed]
    assert [each["number"] for each in entries] == [1, 2]
    assert {(each["entitySet"], each["record"], each["verb"], each["by"]) for each in entries} == {
        ("companies", COMPANY, "update", "comptoir company rename")
    }
    assert [each.previous for each in found] == [1, None]
    for each, before, after in zip(found, ("One", "Test"), ("Two", "One"), strict=True):
        assert each.before is not None
        assert each.after is not None
        assert [each.before[name] for name in ("name", "displayName")] == [before] * 2
        assert [each.after[name] for name in ("name", "displayName")] == [after] * 2
        assert each.after["lastModifiedDateTime"] == each.at


def test_running_services_know_the_new_name_when_the_command_has_ended(ready: Command) -> None:
    """The profile finds companies by names, which it caches."""
    settings = Settings(
        database=ready.url, keys=str(ready.folder / "keys"), profile="business-central"
    )
    with Server(settings, ready.folder) as server:
        services = f"{server.client.root.removesuffix(settings.base_path)}/BC/ODataV4"

        def status(name: str) -> int:
            root = f"{services}/Company('{quote(name)}')"
            return Client(server.client.carrier, root, server.client.token).get(AGENTS).status_code

        assert [status(each) for each in ("Test", "New", "Other")] == [200, 404, 200]
        # as a process, which waits as long as another one may cache a name
        assert ready.run("company", "rename", COMPANY, "New").status == 0
        assert [status(each) for each in ("Test", "New", "Other")] == [404, 200, 200]
        # the former name is free again
        assert ready.run("company", "rename", OTHER_COMPANY, "test").status == 0
        assert [status(each) for each in ("New", "test")] == [200, 200]
        server.ask_to_stop()
        server.wait()


def test_of_companies_named_alike_at_once_one_gets_the_name(ready: Command) -> None:
    """Each has connections of its own, as separate processes do."""

    async def name_all() -> list[object]:
        async with AsyncExitStack() as stack:
            one, two, *others = [
                await stack.enter_async_context(opened(Settings(database=ready.url)))
                for _ in range(6)
            ]
            naming = [
                rename_company(one, COMPANY, "Acme", "tests"),
                rename_company(two, OTHER_COMPANY, "Acme", "tests"),
                *(each.create_company(str(uuid4()), "ACME") for each in others),
            ]
            return await asyncio.gather(*naming, return_exceptions=True)

    outcomes = asyncio.run(name_all())

    refused = [each for each in outcomes if isinstance(each, OperatorError)]
    assert len(refused) == 5, outcomes
    assert all("has the name 'A" in str(each) for each in refused)
    listed = ready.done("company", "list")
    assert (listed.out.casefold().count("acme"), listed.err) == (1, "")


REFUSED = [
    (UNKNOWN, "New", f"the company {UNKNOWN} does not exist"),
    ("17", "New", "'17' is not a company's id"),
    (COMPANY, "OTHER", f"the company {OTHER_COMPANY} has the name 'Other' already. Choose"),
    (COMPANY, "Test", f"the company {COMPANY} has the name 'Test', so nothing has changed. Choose"),
    (COMPANY, " ", "the company's name is blank or not printable"),
    (COMPANY, "two\nlines", "the company's name is blank or not printable"),
    (COMPANY, "x" * 4001, "exceeds the limit of 4000 characters"),
]


def test_a_refused_rename_changes_nothing(ready: Command, service_over: Service) -> None:
    before = service_over.client.listed("companies")

    for company_id, name, reason in REFUSED:
        assert reason in ready.error("company", "rename", company_id, name)

    assert service_over.client.listed("companies") == before
    assert ready.done("changes", "--company", COMPANY).out == ""


@pytest.mark.usefixtures("brief_cache")
def test_the_case_of_a_name_may_change(ready: Command) -> None:
    ready.done("company", "rename", COMPANY, "TEST")

    assert ready.done("company", "list").out.splitlines()[1] == f"TEST {COMPANY}"
