"""Several processes with one database behave as one service."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from process.conftest import StartServer
from support.client import record, tag_of
from support.companies import Company
from support.databases import ON_SQLITE
from support.postgres import children_of
from support.refusals import refusal
from support.server import Server
from support.waiting import until
from support.worker_connections import WorkerConnections


@pytest.fixture
def spread(two: Server) -> Iterator[WorkerConnections]:
    """Ten connections to each of the two processes."""
    with WorkerConnections(two, 10) as spread:
        yield spread


@pytest.fixture
def company(two: Server, spread: WorkerConnections) -> Company:
    """A company whose requests go to both processes in turn."""
    return replace(two.new_company(), carrier=spread)


def test_of_many_updates_with_one_tag_exactly_one_wins(company: Company) -> None:
    answer = company.post("shippingAgentsExt", {"code": "A"})
    path = f"shippingAgentsExt({record(answer, 201)['id']})"
    for attempt in range(5):
        guard = {"If-Match": tag_of(answer)}
        requests = [
            company.build("PATCH", path, body={"name": f"{attempt}-{number}"}, headers=guard)
            for number in range(20)
        ]

        answers = company.carrier.send_all(requests)

        assert sorted(each.status_code for each in answers) == [200] + [412] * 19
        [answer] = [each for each in answers if each.status_code == 200]
        assert company.record(path) == record(answer)
        for other in answers:
            if other is not answer:
                assert tag_of(answer) in refusal(other, "Request_EntityChanged").message

    assert [change.number for change in company.changes()] == [1, 2, 3, 4, 5, 6]


def test_writers_in_both_processes_take_turns(company: Company) -> None:
    """No write is refused because the other process writes, and change numbers have no gaps."""
    requests = [
        company.build("POST", "shippingAgentsExt", body={"code": f"{number}"})
        for number in range(200)
    ]

    answers = company.carrier.send_all(requests)

    assert {each.status_code for each in answers} == {201}
    assert [change.number for change in company.changes()] == list(range(1, 201))


def test_each_process_reads_what_the_other_has_written(company: Company) -> None:
    """Each response includes all writes that were acknowledged before the request."""
    created = company.post("shippingAgentsExt", {"code": "A"})
    path = f"shippingAgentsExt({record(created, 201)['id']})"
    for number in range(11):
        record(company.patch(path, {"name": f"{number}"}, if_match="*"))
        answers = company.carrier.send_all([company.build("GET", path) for _ in range(8)])
        assert {record(each)["name"] for each in answers} == {f"{number}"}


def test_a_new_company_is_known_to_all_processes(two: Server, spread: WorkerConnections) -> None:
    for _ in range(3):
        company = two.new_company()
        answers = spread.send_all([company.build("GET", "shippingAgentsExt") for _ in range(8)])
        assert {each.status_code for each in answers} == {200}


def test_metrics_include_all_processes(two: Server, spread: WorkerConnections) -> None:
    answers = spread.send_all([two.client.build("PUT", "companies") for _ in range(20)])
    assert {each.status_code for each in answers} == {405}

    line = 'comptoir_requests_total{method="PUT",status="405"} 20.0'
    until(lambda: line in two.origin.get("metrics").text or None, line)


@ON_SQLITE
def test_workers_do_not_outlive_their_parent_process(start_server: StartServer) -> None:
    """Otherwise they would keep the port, and run beside the service that replaces them."""
    server = start_server(workers=2)

    def refuses() -> bool | None:
        try:
            server.connect().close()
        except ConnectionRefusedError:
            return True
        return None

    server.kill_parent()

    until(refuses, "an address on which nobody listens")


def workers_of(server: Server) -> set[int]:
    """The process ids of the workers; the process above them has other children too."""
    found = set()
    for each in children_of(server.pid):
        # one may end right now
        with suppress(FileNotFoundError, ProcessLookupError):
            if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes():
                found.add(each)
    return found


def has_workers(server: Server, count: int) -> bool | None:
    return len(workers_of(server)) == count or None


@ON_SQLITE
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux lists the workers")
def test_a_worker_that_does_not_respond_is_not_killed(start_server: StartServer) -> None:
    """A busy machine may start it slowly, and its replacement too."""
    server = start_server(workers=2)
    until(partial(has_workers, server, 2), "two workers")
    suspended, other = workers_of(server)
    os.kill(suspended, signal.SIGSTOP)
    # the process above looks at its workers between two signals
    for count in (3, 4):
        os.kill(server.pid, signal.SIGTTIN)
        until(partial(has_workers, server, count), f"{count} workers")
    os.kill(other, signal.SIGKILL)
    until(lambda: other not in workers_of(server) or None, "the end of the other worker")
    until(partial(has_workers, server, 4), "its replacement")
    assert suspended in workers_of(server)
    os.kill(suspended, signal.SIGCONT)
    server.ask_to_stop()
    server.wait()


def test_workers_use_the_limits_of_the_settings(start_server: StartServer) -> None:
    server = start_server(workers=2, request_seconds=0.5)

    with server.connect() as silent:
        assert silent.recv(1) == b""
