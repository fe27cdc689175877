"""Faults that change records, or what is read of them."""

from collections.abc import Callable

from comptoir.auth.tokens import Scope
from support.companies import Company
from support.rehearsal import APPLIED, Rehearsal, code
from support.roles import tokens_of_roles
from support.service import Service


def test_a_job_changes_a_record_that_was_read(company: Company, rehearsal: Rehearsal) -> None:
    created = company.post("contactsExt", {"displayName": "Touched"}).json()
    path = f"contactsExt({created['id']})"
    rehearsal.set({"id": "job", "fault": "touch; field=city", "match": {"nth": 2}})
    assert APPLIED not in company.get(path).headers
    read = company.get(path)
    assert read.headers[APPLIED] == "job"
    assert (read.json()["city"], read.headers["etag"]) == ("", created["@odata.etag"])
    stale = company.patch(path, {"city": "Graz"}, read.headers["etag"])
    assert (stale.status_code, code(stale)) == (412, "Request_EntityChanged")
    rehearsal.set("touch; field=city")
    assert [company.get(path).json()["city"] for _ in range(3)] == [".", "", "."]


def test_a_header_changes_no_record_for_a_client_that_may_not(
    faulty: Service, company: Company
) -> None:
    created = company.post("contactsExt", {"displayName": "Touched"}).json()
    path, header = f"contactsExt({created['id']})", {"Comptoir-Fault": "touch"}
    role = tokens_of_roles(faulty, {"touching": {"contactsExt": "R"}})["touching"]
    for token in (faulty.tokens.issue([Scope.RECORDS_READ]), role):
        refused = company.using(token).get(path, headers=header)
        assert (refused.status_code, code(refused)) == (403, "Authorization_RequestDenied")
    assert company.get(path).headers["etag"] == created["@odata.etag"]
    assert company.get(path, headers=header).status_code == 200
    assert company.get(path).headers["etag"] != created["@odata.etag"]


def test_a_job_leaves_what_identifies_a_record(company: Company, rehearsal: Rehearsal) -> None:
    for fault in ("touch", "touch; field=displayName"):
        values = {"code": fault[-6:].upper(), "name": "A"}
        created = company.post("shippingAgentsExt", values).json()
        path = f"shippingAgentsExt({created['id']})"
        rehearsal.set(fault)
        first, second = company.get(path), company.get(path)
        assert first.headers[APPLIED] == "r"
        outcome = "applied" if fault == "touch" else "not applicable"
        assert rehearsal.firings()[-1].outcome == outcome
        assert second.json()["code"] == created["code"]
        assert (second.json()["name"] == "A") == (fault != "touch")


def test_a_list_and_a_record_of_a_read_only_set_have_no_job(
    company: Company, rehearsal: Rehearsal
) -> None:
    rehearsal.set("touch")
    for path in ("contactsExt", "contactsExt/$count", ""):
        assert APPLIED not in company.get(path).headers


def test_the_next_page_is_shifted(faulty: Service, rehearsal: Rehearsal) -> None:
    for shift, names in ((1, "BC"), (2, "ABC"), (-1, ""), (0, "C")):
        company = faulty.new_company()
        for name in "ABC":
            company.post("contactsExt", {"displayName": name})
        rehearsal.set({"id": "r", "fault": f"page-shift; n={shift}"})
        first = company.get("contactsExt", {"$orderby": "displayName"})
        assert APPLIED not in first.headers
        for _ in range(2):
            second = company.follow(first.json()["@odata.nextLink"])
            assert second.headers[APPLIED] == "r"
            found = [each["displayName"] for each in second.json()["value"]]
            assert found == list(names)
        assert company.get("contactsExt/$count").text.endswith("3")


def test_a_batch_that_is_a_transaction_is_undone(rehearsed: Service) -> None:
    for index, statuses in ((0, [503]), (1, [201, 503]), (7, [201, 201])):
        company = rehearsed.new_company()
        writes = [
            {"id": each, "method": "POST", "url": "shippingAgentsExt", "body": {"code": each}}
            | {"headers": {"Content-Type": "application/json"}}
            for each in "AB"
        ]
        fault = {"Isolation": "snapshot", "Comptoir-Fault": f"batch-rollback; index={index}"}
        answered = company.post("$batch", {"requests": writes}, fault).json()["responses"]
        assert [each["status"] for each in answered] == statuses
        stored = sorted(str(each["code"]) for each in company.listed("shippingAgentsExt"))
        assert stored == (["A", "B"] if index == 7 else [])
        if index < 2:
            assert answered[-1]["headers"][APPLIED] == "header"
        # requests of the batch meet faults too
        slow = {"Comptoir-Fault": "timeout; phase=after", "Content-Type": "application/json"}
        requests = [{**writes[0], "headers": slow, "body": {"code": "C"}}]
        sent = company.post("$batch", {"requests": requests}, {"Isolation": "snapshot"})
        (answer,) = sent.json()["responses"]
        assert (answer["status"], answer["headers"][APPLIED]) == (408, "header")
        assert "C" in [each["code"] for each in company.listed("shippingAgentsExt")]


def test_a_fault_after_a_refused_write_does_not_fail_the_batch(rehearsed: Service) -> None:
    """The refused one is named, and the fault has nothing to act on."""
    company = rehearsed.new_company()
    sent = {"method": "POST", "url": "shippingAgentsExt", "body": {"code": "A"}}
    slow = {"Comptoir-Fault": "slow; seconds=0.001", "Content-Type": "application/json"}
    twice = {**sent, "headers": {"Content-Type": "application/json"}}
    parts = [{**twice, "id": "1"}, {**twice, "id": "2"}, {**sent, "id": "3", "headers": slow}]
    answered = company.post("$batch", {"requests": parts}, {"Isolation": "snapshot"})
    assert [each["status"] for each in answered.json()["responses"]] == [201, 400]
    assert company.listed("shippingAgentsExt") == []


def cities(company: Company) -> list[str]:
    """The city of the only contact with this name: in a list, and read by its key."""
    (listed,) = company.listed("contactsExt", {"$filter": "startswith(displayName,'Stale')"})
    read = company.record(f"contactsExt({listed['id']})")
    return [str(listed["city"]), str(read["city"])]


def moving(service: Service) -> tuple[Company, Callable[[str], None]]:
    """A new company with a contact, and a function that sets the city of the contact."""
    company = service.new_company()
    created = company.post("contactsExt", {"displayName": "Stale"}).json()

    def move(city: str) -> None:
        moved = company.patch(f"contactsExt({created['id']})", {"city": city}, "*")
        assert moved.status_code == 200

    return company, move


def test_reads_lag_behind_a_number_of_changes(faulty: Service, rehearsal: Rehearsal) -> None:
    company, move = moving(faulty)
    rehearsal.set("stale-read; lag=2")
    assert cities(company) == ["", ""]
    assert rehearsal.firings()[-1].outcome == "not applicable"
    seen = []
    for city in "1234":
        move(city)
        seen.append(cities(company))
    assert seen == [["", ""], ["", ""], ["2", "2"], ["2", "2"]]
    stale = company.get("contactsExt")
    assert stale.headers[APPLIED] == "r"
    assert rehearsal.firings()[-1].outcome == "applied"
    for rules in ((), ("stale-read; lag=2",)):
        # what was kept for the former rule is not shown by a later one
        rehearsal.set(*rules)
        assert cities(company) == ["4", "4"]


def test_reads_lag_by_a_time_of_the_clock(faulty: Service, rehearsal: Rehearsal) -> None:
    company, move = moving(faulty)
    rehearsal.set("stale-read; seconds=30")
    move("1")
    move("2")
    assert cities(company) == ["", ""]
    rehearsal.advance("PT30S")
    assert cities(company) == ["2", "2"]
    move("3")
    assert cities(company) == ["2", "2"]


def test_only_reads_that_may_lag_do(faulty: Service, rehearsal: Rehearsal) -> None:
    company, move = moving(faulty)
    rehearsal.set("stale-read; reads=readonly")
    move("1")
    assert cities(company) == ["1", "1"]
    may_lag = {"Data-Access-Intent": "ReadOnly"}
    (listed,) = company.get("contactsExt", headers=may_lag).json()["value"]
    assert listed["city"] == ""


def test_a_group_is_a_change_that_reads_do_not_show(faulty: Service, rehearsal: Rehearsal) -> None:
    company = faulty.new_company()
    rehearsal.set("stale-read")
    write = {"method": "POST", "url": "contactsExt", "body": {"displayName": "G"}}
    json = {"headers": {"Content-Type": "application/json"}}
    for more in ({"atomicityGroup": "g"}, {}):
        company.post("$batch", {"requests": [{"id": "1", **write, **json, **more}]})
    assert len(company.listed("contactsExt")) == 1
    rehearsal.set()
    assert len(company.listed("contactsExt")) == 2
