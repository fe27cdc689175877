"""Several processes over one database: one truth."""

import pytest

from process.conftest import StartServer
from support.client import record, tag_of
from support.refusals import refusal
from support.server import Server


@pytest.fixture
def two(start_server: StartServer) -> Server:
    return start_server(workers=2)


def test_of_many_updates_with_one_tag_exactly_one_wins(two: Server) -> None:
    """The connections are many, so both processes take part."""
    company = two.new_company()
    created = company.post("shippingAgentsExt", {"code": "A"})
    path = f"shippingAgentsExt({record(created, 201)['id']})"
    tag = tag_of(created)
    for attempt in range(5):
        requests = [
            company.build("PATCH", path, body={"name": f"{attempt}-{n}"}, headers={"If-Match": tag})
            for n in range(20)
        ]

        answers = two.send_all(requests)

        assert sorted(each.status_code for each in answers) == [200] + [412] * 19
        [winner] = [each for each in answers if each.status_code == 200]
        assert company.record(path) == record(winner)
        for answer in answers:
            if answer is not winner:
                assert tag_of(winner) in refusal(answer, "Request_EntityChanged").message
        tag = tag_of(winner)

    assert [change.number for change in company.changes()] == [1, 2, 3, 4, 5, 6]


def test_writers_in_both_processes_wait_for_one_another(two: Server) -> None:
    """No write is refused because the other process is writing, and numbers have no gaps."""
    company = two.new_company()
    for attempt in range(5):
        requests = [
            company.build("POST", "shippingAgentsExt", body={"code": f"{attempt}-{number}"})
            for number in range(30)
        ]
        assert {each.status_code for each in two.send_all(requests)} == {201}

    assert [change.number for change in company.changes()] == list(range(1, 151))


def test_what_one_process_wrote_the_other_reads(two: Server) -> None:
    """Each answer shows what was acknowledged before the request, whichever process answers."""
    company = two.new_company()
    created = company.post("shippingAgentsExt", {"code": "A"})
    path = f"shippingAgentsExt({record(created, 201)['id']})"
    for number in range(10):
        record(company.patch(path, {"name": f"{number}"}, if_match="*"))
        answers = two.send_all([company.build("GET", path) for _ in range(8)])
        assert {record(each)["name"] for each in answers} == {f"{number}"}


def test_a_company_that_is_added_is_known_to_all(two: Server) -> None:
    for _ in range(3):
        company = two.new_company()
        answers = two.send_all([company.build("GET", "shippingAgentsExt") for _ in range(8)])
        assert {each.status_code for each in answers} == {200}


def test_metrics_are_those_of_all_processes(two: Server) -> None:
    answers = two.send_all([two.client.build("GET", "companies") for _ in range(20)])
    assert {each.status_code for each in answers} == {200}

    exposition = two.origin.get("metrics").text

    assert 'comptoir_requests_total{method="GET",status="200"} 20.0' in exposition
