"""What changes did to records, as `companies(ID)/changes` shows it, and what is stored of that."""

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
from support.service import Service, StartService

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


def test_an_update_has_the_values_before_and_after(company: Company, agent: Record) -> None:
    company.patch(path_of(agent), {"name": "Second"}, "*")
    company.patch(path_of(agent), {"name": "Third", "code": "UPS"}, "*")

    third, second, first = changes(company)

    assert (first.number, first.verb, first.by) == (1, "create", "tests")
    assert (first.previous, first.before, first.after) == (None, None, None)
    assert (second.previous, second.before, second.after) == (
        1,
        {"name": "First"},
        {"name": "Second"},
    )
    assert third.before == {"code": "DHL", "name": "Second"}
    assert third.after == {"code": "UPS", "name": "Third"}
    assert third.previous == 2
    assert (third.entity_set, third.record) == (AGENTS, agent["id"])
    assert [each.at for each in (third, second, first)] == [
        each.at for each in reversed(company.changes())
    ]


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


def test_the_history_of_a_deleted_record_begins_at_its_delete(
    company: Company, agent: Record
) -> None:
    company.delete(path_of(agent), "*")
    again = record(company.post(AGENTS, {"id": str(agent["id"]), "code": "DHL"}), 201)

    assert again["id"] == agent["id"]
    assert numbers(changes(company, of_record(AGENTS, agent["id"]))) == [4]
    assert numbers(changes(company, of_record(AGENTS, agent["id"], 3))) == [3, 2, 1]
    company.delete(path_of(agent), "*")
    error = refusal(
        company.get("changes", of_record(AGENTS, agent["id"])), "Internal_RecordNotFound", "record"
    )
    assert "add from with the number of its delete" in error.message


def test_pages_have_each_change_once_while_others_are_made(company: Company, agent: Record) -> None:
    for name in ("a", "b", "c"):
        company.patch(path_of(agent), {"name": name}, "*")
    wishes = {"Prefer": "odata.maxpagesize=1"}
    for query in ("$top=4", {**of_record(AGENTS, agent["id"]), "$top": "4"}):
        last = company.changes()[-1].number
        first = company.get("changes", query, wishes)
        assert first.headers["preference-applied"] == "odata.maxpagesize=1"
        read = page_of(first)
        found = read.value
        while read.next_link is not None:
            company.patch(path_of(agent), {"name": f"{len(found)} {last}"}, "*")
            read = page_of(company.follow(read.next_link, wishes))
            found += read.value
        assert numbers(found) == [last, last - 1, last - 2, last - 3]


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


def test_no_page_is_longer_than_the_rest(company: Company, agent: Record) -> None:
    assert page_of(company.get("changes", "$top=2")).next_link is None
    assert page_of(company.get("changes", "$top=0")).value == []
    assert page_of(company.get("changes", "from=0")).value == []
    assert numbers(changes(company, "from=1")) == [1]
    assert numbers(changes(company, f"$top=9&entitySet={AGENTS}&$format=json")) == [2, 1]


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


def test_it_is_not_a_part_of_the_model(service: Service, company: Company) -> None:
    for document in (service.client.get("$metadata"), service.origin.get("docs/openapi.json")):
        assert document.status_code == 200
        assert "changes(" not in document.text
        assert "/changes" not in document.text
    refusal(company.get(f"{AGENTS}/changes"), "BadRequest_ResourceNotFound")
    refusal(service.client.get("changes"), "BadRequest_ResourceNotFound")


def test_under_the_other_profile_it_has_that_form(start_service: StartService) -> None:
    service = start_service(profile="business-central")
    company = service.new_company("Kontor & Söhne")
    created = record(company.post("contactsExt", {"type": "Person", "displayName": "Ann"}), 201)
    company.patch(f"contactsExt({created['id']})", {"type": "Company"}, "*")
    named = service.client.get("Company('Kontor%20%26%20S%C3%B6hne')/changes", "$top=1")
    read = page_of(named)
    [change] = read.value
    assert change.before is not None
    assert change.before["type"] == created["type"]
    assert "T" in change.at
    assert read.next_link is None
    following = page_of(
        service.client.get(
            "Company('Kontor%20%26%20S%C3%B6hne')/changes",
            headers={"Prefer": "odata.maxpagesize=1"},
        )
    ).next_link
    assert following is not None
    assert "/Company('Kontor%20%26%20S%C3%B6hne')/changes?from=1" in following
    assert numbers(page_of(service.client.follow(following)).value) == [1]


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


def test_without_days_nothing_is_stored(start_service: StartService) -> None:
    company = start_service(history_days=0).new_company()
    created = record(company.post(AGENTS, {"code": "DHL", "name": "First"}), 201)
    company.patch(path_of(created), {"name": "Second"}, "*")
    company.delete(path_of(created), "*")
    found = changes(company, of_record(AGENTS, created["id"], 3))
    assert [(each.number, each.previous, each.before) for each in found] == [
        (3, 2, None),
        (2, 1, None),
        (1, None, None),
    ]


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
