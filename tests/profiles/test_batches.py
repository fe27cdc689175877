"""The limits and the faults of a snapshot; the corpus has the batches of the profiles."""

from support.batches import Entry, Reply, replies, send_documents
from support.companies import Company
from support.databases import ON_SQLITE
from support.service import StartService

WHOLE: Entry = {"id": "whole", "method": "GET", "url": "shippingAgentsExt?$select=code"}


def create(code: str, **more: object) -> Entry:
    return {"id": code, "method": "POST", "url": "shippingAgentsExt", "body": {"code": code}} | more


def codes(company: Company) -> list[str]:
    return sorted(str(each["code"]) for each in company.listed("shippingAgentsExt"))


def snapshot(company: Company, *requests: Entry) -> list[Reply]:
    return replies(send_documents(company, requests, {"Isolation": "snapshot"}))


@ON_SQLITE  # the limit does not depend on the database
def test_the_reads_of_a_snapshot_are_limited(start_service: StartService) -> None:
    service = start_service(profile="business-central", batch_bytes=900)
    company = service.new_company()
    company.load("shippingAgentsExt", *({"code": f"{each}"} for each in range(50)))
    answered = snapshot(company, create("A"), WHOLE)

    assert [each.status for each in answered] == [201, 413]
    assert "A" not in codes(company)


@ON_SQLITE  # faults do not depend on the database
def test_the_requests_of_a_snapshot_meet_faults(start_service: StartService) -> None:
    service = start_service(profile="business-central", faults="on")
    for fault, statuses, stored in (
        ("throttle", [201, 429], []),
        ("timeout; phase=after", [408], ["A", "B"]),
        ("away; kind=json", [503], []),
    ):
        company = service.new_company()
        second = create("B", headers={"Comptoir-Fault": fault})
        answered = snapshot(company, create("A"), second, WHOLE)

        assert [each.status for each in answered] == statuses, fault
        assert codes(company) == stored, fault
