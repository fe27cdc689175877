"""What is stored of changes, and who sees it; the corpus has the requests for it."""

import msgspec
import pytest

from comptoir.auth.tokens import Scope
from comptoir.catalog import MODEL
from support.client import Record, record
from support.companies import Company
from support.contract import without_control
from support.databases import run_sql
from support.history import Change, changes, of_record, page_of
from support.refusals import refusal
from support.roles import tokens_of_roles
from support.samples import PATHS
from support.service import Service

AGENTS = "shippingAgentsExt"
CONTACTS = "contactsExt"
ABSENT = "aaaaaaaa-0000-4000-8000-000000000009"
CANARY = "canary-of-a-password"


@pytest.fixture
def agent(company: Company) -> Record:
    """A record, created by the change 1 and updated by the change 2."""
    created = record(company.post(AGENTS, {"code": "DHL", "name": "First"}), 201)
    company.patch(path_of(created), {"name": "Second"}, "*")
    return created


def path_of(agent: Record) -> str:
    return f"{AGENTS}({agent['id']})"


def numbers(found: list[Change]) -> list[int]:
    return [each.number for each in found]


def test_values_have_the_form_that_records_have(own_stock: Company) -> None:
    """Numbers, dates, times and Booleans, and a key in quotes."""
    for entity_set in MODEL.stored:
        name, key = entity_set.name, entity_set.type.key
        [shown] = map(without_control, own_stock.listed(name))
        address = PATHS[name]
        if own_stock.delete(address, "*").status_code == 204:
            query = of_record(name, shown[key], len(own_stock.changes()))
            secret = shown.keys() & {"onlinePassword"}
            assert changes(own_stock, query)[0].before == {**shown, **dict.fromkeys(secret)}
    assert len(own_stock.changes()) > len(MODEL.stored) + 5


def test_a_page_of_long_values_is_shorter(company: Company) -> None:
    entity_set, key = "ItemProductTextLongContentsExt", "systemId"
    for number in range(60):
        text = f"{number:04d}" * 30_000
        company.load(entity_set, {key: ABSENT, "base64Text": text})
    for query in ("", of_record(entity_set, ABSENT)):
        read = page_of(company.get("changes", query))
        found = read.value
        assert len(found) < 40
        while read.next_link is not None:
            read = page_of(company.follow(read.next_link))
            found += read.value
        assert numbers(found) == [*range(60, 0, -1)]
        assert found[0].before is not None
        assert found[0].before["base64Text"] == "0058" * 30_000


def test_it_needs_the_scope_to_read(company: Company, service: Service) -> None:
    writer = company.using(service.tokens.issue([Scope.RECORDS_WRITE]))
    refusal(writer.get("changes"), "Authorization_RequestDenied")
    reader = company.using(service.tokens.issue([Scope.RECORDS_READ]))
    assert changes(reader) == []
    elsewhere = company.using(service.tokens.issue(companies=[ABSENT]))
    refusal(elsewhere.get("changes"), "Internal_CompanyNotFound")


def test_roles_show_only_the_sets_that_they_may_read(
    company: Company, service: Service, agent: Record
) -> None:
    company.post("itemsExt", {"number": "A"})
    tokens = tokens_of_roles(service, {"items": {"itemsExt": "R"}, "none": {}})
    items, none = (company.using(tokens[name]) for name in ("items", "none"))

    assert numbers(changes(items)) == [3]
    assert numbers(changes(items, "entitySet=itemsExt")) == [3]
    assert changes(none) == []
    for query in (f"entitySet={AGENTS}", of_record(AGENTS, agent["id"])):
        refusal(items.get("changes", query), "Authorization_RequestDenied", "entitySet")


def test_it_is_not_a_part_of_the_model(service: Service) -> None:
    for document in (service.client.get("$metadata"), service.origin.get("docs/openapi.json")):
        assert document.status_code == 200
        assert "changes(" not in document.text
        assert "/changes" not in document.text


def test_a_secret_is_not_stored(company: Company, service: Service) -> None:
    created = record(company.post(CONTACTS, {"displayName": "Ann", "onlinePassword": "x"}), 201)
    path = f"{CONTACTS}({created['id']})"
    company.patch(path, {"onlinePassword": CANARY}, "*")
    company.put(path, {"displayName": "Ann", "onlinePassword": f"{CANARY}2"}, "*")
    company.delete(path, "*")

    deleted, replaced, updated, _ = changes(company)

    for each in (replaced, updated):
        assert each.before is not None
        assert each.after is not None
        assert each.before["onlinePassword"] is each.after["onlinePassword"] is None
    assert deleted.before is not None
    assert deleted.before["onlinePassword"] is None
    stored = run_sql(
        service.settings.database,
        "SELECT difference FROM changes WHERE company_id = :id",
        id=company.id,
    )
    assert len(stored) == 4
    assert CANARY not in str(stored)
    assert "onlinePassword" in str(stored)


def test_a_load_stores_what_it_changes(company: Company, agent: Record) -> None:
    key = str(agent["id"])
    company.load(AGENTS, {"id": key, "name": "Loaded"}, {"id": ABSENT, "name": "New"})
    by_record = {each.record: each for each in changes(company, "from=4") if each.number > 2}
    assert (by_record[key].before, by_record[key].after) == ({"name": "Second"}, {"name": "Loaded"})
    assert (by_record[ABSENT].verb, by_record[ABSENT].before) == ("create", None)
    assert numbers(changes(company, of_record(AGENTS, key)))[1:] == [2, 1]


def test_old_values_are_trimmed_and_the_changes_stay(company: Company, agent: Record) -> None:
    many = [{"id": f"aaaaaaaa-0000-4000-8000-{n:012d}", "code": f"{n}"} for n in range(1_200)]
    company.load(AGENTS, *many)
    company.load(AGENTS, *[{**each, "name": "x"} for each in many])
    before = changes(company, size=20_000)
    assert sum(each.before is not None for each in before) == 1_201

    for days in (90, 36_500):
        company.admin.trim_logs(history_days=days)
        assert changes(company, size=20_000) == before

    company.admin.trim_logs(history_days=0)
    assert changes(company, size=20_000) == [
        msgspec.structs.replace(each, before=None, after=None) for each in before
    ]
    company.patch(path_of(agent), {"name": "Third"}, "*")
    last, *rest = changes(company, of_record(AGENTS, agent["id"]))
    assert (last.before, numbers(rest)) == ({"name": "Second"}, [2, 1])
