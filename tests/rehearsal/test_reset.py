"""A reset returns to the records of the mark, and forgets the rest."""

import pytest

from support.client import Record
from support.companies import Company
from support.contract import without_control
from support.history import changes, undone
from support.refusals import refusal
from support.rehearsal import Rehearsal, control_of
from support.service import Service, StartService

AGENTS = "shippingAgentsExt"


@pytest.fixture(scope="module")
def own(share_service: StartService) -> Service:
    """A service of its own, because a mark has the records of all companies."""
    return share_service(faults="on")


@pytest.fixture
def control(own: Service) -> Rehearsal:
    return control_of(own)


def post(control: Rehearsal, act: str) -> None:
    response = control.client.request("POST", act)
    assert response.status_code == 204, response.text


def records(company: Company) -> list[Record]:
    """The records without their tags, which change with each write."""
    return [
        {name: value for name, value in each.items() if name != "@odata.etag"}
        for name in ("shippingAgentsExt", "contactsExt", "unitsOfMeasureExt")
        for each in company.listed(name)
    ]


def agent(company: Company, code: str) -> str:
    created = company.post("shippingAgentsExt", {"code": code, "name": code})
    assert created.status_code == 201
    return f"shippingAgentsExt({created.json()['id']})"


def test_records_are_restored(own: Service, control: Rehearsal) -> None:
    companies = [own.new_company(), own.new_company()]
    for company in companies:
        first, second, third = (agent(company, code) for code in "ABC")
        company.post("unitsOfMeasureExt", {"code": "PCS", "displayName": "Piece"})
        post(control, "mark")
        before = records(company)
        for _ in range(2):
            # a code moves from one record to another
            assert company.delete(first, "*").status_code == 204
            assert company.patch(second, {"code": "A"}, "*").status_code == 200
            assert company.patch(third, {"name": "Other"}, "*").status_code == 200
            agent(company, "D")
            company.post("contactsExt", {"displayName": "New", "onlinePassword": "hunter2"})
            assert records(company) != before
            changed = {each["id"]: without_control(each) for each in company.listed(AGENTS)}
            since = company.changes()[-1].number
            post(control, "reset")
            assert records(company) == before
            restored = [each for each in changes(company) if each.number > since]
            for each in (each for each in restored if each.entity_set == AGENTS):
                now = company.get(f"{AGENTS}({each.record})")
                found = without_control(now.json()) if now.is_success else None
                assert undone(found, each) == changed.get(each.record)
            assert {each.verb for each in restored} == {"create", "update", "delete"}


def test_a_reset_needs_the_changes_since_the_mark(own: Service, control: Rehearsal) -> None:
    company = own.new_company()
    path = agent(company, "A")
    post(control, "mark")
    for name in ("B", "C"):
        assert company.patch(path, {"name": name}, "*").status_code == 200
    own.admin.trim_logs(41, log_days=40)

    error = refusal(control.client.request("POST", "reset"), "Request_LinkExpired")
    assert error.message.startswith(
        "The change 2 is not kept any longer: the oldest is 3. Start from"
    )
    assert company.record(path)["name"] == "C"
    post(control, "mark")


def test_a_reset_is_in_the_change_log_and_ends_old_tags(own: Service, control: Rehearsal) -> None:
    company = own.new_company()
    path = agent(company, "A")
    post(control, "mark")
    changed = company.patch(path, {"name": "Other"}, "*")
    post(control, "reset")
    assert company.patch(path, {"name": "B"}, changed.headers["etag"]).status_code == 412
    assert company.record(path)["name"] == "A"


def test_a_reset_keeps_the_name_of_a_company(own: Service, control: Rehearsal) -> None:
    company = own.new_company()
    path = agent(company, "A")
    post(control, "mark")
    own.admin.rename(company.stored, f"New {company.id}")
    company.patch(path, {"name": "Other"}, "*")

    post(control, "reset")

    assert company.record(path)["name"] == "A"
    assert own.client.record(f"companies({company.id})")["name"] == f"New {company.id}"


def test_a_reset_forgets_rules_clock_and_log(own: Service, control: Rehearsal) -> None:
    company = own.new_company()
    control.set("throttle")
    assert company.get("contactsExt").status_code == 429
    control.advance("PT30M")
    post(control, "reset")
    assert company.get("contactsExt").status_code == 200
    assert control.firings() == []
    assert [each.status for each in control.requests()] == [200]
    assert control.client.get("").json() == {"rules": []}
    assert control.advance("PT1S").json() == {"aheadSeconds": 1}
    post(control, "reset")


def test_a_reset_without_a_mark_keeps_the_records(start_service: StartService) -> None:
    service = start_service(faults="on")
    company = service.new_company()
    agent(company, "A")
    post(control_of(service), "reset")
    assert len(company.listed("shippingAgentsExt")) == 1
