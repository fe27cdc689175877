"""Repeatable requests, when the process that did them is gone or another one is asked."""

from dataclasses import replace

from process.conftest import StartServer
from support.client import record, tag_of
from support.contract import without_control
from support.repeats import essence, repeatable
from support.server import Server
from support.worker_connections import WorkerConnections

AGENT = {"code": "UPS"}


def test_a_repeat_after_a_kill_has_the_answer_of_the_first(start_server: StartServer) -> None:
    """The write and what is known of it are on the disk together."""
    server = start_server()
    company, create, change = server.new_company(), repeatable(), repeatable(If_Match="*")
    first = company.post("shippingAgentsExt", AGENT, create)
    path = f"shippingAgentsExt({record(first, 201)['id']})"
    changed = company.patch(path, {"name": "New"}, headers=change)
    server.kill()
    server.start()
    company = server.again(company)

    answers = [
        company.post("shippingAgentsExt", AGENT, create),
        company.patch(path, {"name": "New"}, headers=change),
    ]

    for before, again, status in ((first, answers[0], 201), (changed, answers[1], 200)):
        assert without_control(record(again, status)) == without_control(record(before, status))
        assert tag_of(again) == tag_of(before)
    assert len(company.changes()) == 2


def test_of_many_repeats_in_two_processes_one_is_done(two: Server) -> None:
    with WorkerConnections(two, 10) as spread:
        company = replace(two.new_company(), carrier=spread)
        for code in "ABC":
            headers = repeatable()
            requests = [
                company.build("POST", "shippingAgentsExt", "", {"code": code}, headers)
                for _ in range(20)
            ]

            answers = spread.send_all(requests)

            assert {each.status_code for each in answers} == {201}
            assert len({essence(each)[2] for each in answers}) == 1
        assert [change.number for change in company.changes()] == [1, 2, 3]
