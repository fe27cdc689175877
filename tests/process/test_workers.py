"""Several processes with one database behave as one service."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from process.conftest import StartServer
from support.client import encoded, record, tag_of
from support.companies import Company
from support.contract import without_control
from support.databases import ON_SQLITE
from support.mirror import Mirror
from support.postgres import children_of
from support.refusals import refusal
from support.repeats import essence, repeatable
from support.server import Server
from support.sockets import ask, head
from support.waiting import until
from support.worker_connections import WorkerConnections, process_of

WRITERS = 8
WRITES = 10
AGENTS = "shippingAgentsExt"
FILTER = encoded({"$filter": "length(name) ge 3"})

LISTS_WORKERS = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="only Linux lists the workers"
)


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
        for number in range(100)
    ]

    answers = company.carrier.send_all(requests)

    assert {each.status_code for each in answers} == {201}
    assert [change.number for change in company.changes()] == list(range(1, 101))


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


@ON_SQLITE
def test_workers_do_not_outlive_their_parent_process(start_server: StartServer) -> None:
    """Otherwise they would keep the port, and run beside the service that replaces them."""
    server = start_server(workers=2, request_seconds=0.5)
    # they use the limits of the settings
    with server.connect() as silent:
        assert silent.recv(1) == b""

    server.kill_parent()

    server.wait_until_closed()


def workers_of(server: Server) -> set[int]:
    """The process ids of the workers."""
    return set(children_of(server.pid))


WAIT_AT_START = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.register_at_fork(after_in_child=lambda: signal.sigwait([signal.SIGUSR1]))
"""
"""Lets each worker wait for a signal before it starts."""

AS_ON_MACOS = """
from comptoir.http import supervisor
supervisor.WORKER_PROCESS = supervisor.SpawnProcess
"""


def serving(server: Server) -> set[str]:
    """The processes that take new connections."""
    found = set()
    for _ in range(20):
        with server.connect() as connection:
            found.add(process_of(ask(connection, head("GET", "/healthz", {}))))
    return found


@ON_SQLITE
@LISTS_WORKERS
def test_a_worker_that_hangs_is_replaced_unless_it_starts(start_server: StartServer) -> None:
    """On a busy machine, a replacement would not start faster. Only a stop does not wait.

    What a replaced worker has counted stays in the sums, and what it had open does not.
    """
    server = start_server(3, first=WAIT_AT_START)
    until(lambda: len(workers_of(server)) == 3 or None, "three workers")
    starting, hanging, third = workers_of(server)
    for each in (hanging, third):
        os.kill(each, signal.SIGUSR1)
    until(lambda: len(serving(server)) == 2 or None, "two workers that serve")
    limits = "comptoir_descriptor_limit "
    counted = 'comptoir_requests_total{method="PUT",status="405"} 20.0\n'

    def shown() -> str | None:
        """The sum of a gauge when the requests are counted."""
        found = server.origin.get("metrics").text
        sums = [line for line in found.splitlines() if line.startswith(limits)]
        return sums[0] if counted in found else None

    server.send_all([server.client.build("PUT", "companies") for _ in range(20)])
    before = until(shown, "metrics of both workers")
    os.kill(hanging, signal.SIGSTOP)
    until(lambda: hanging not in workers_of(server) or None, "the end of the worker")
    (replaced,) = until(lambda: workers_of(server) - {starting, third} or None, "a new worker")
    assert starting in workers_of(server)
    os.kill(replaced, signal.SIGUSR1)
    until(lambda: shown() == before or None, "the metrics of the new worker")
    server.wait_for_log("has not responded for")
    # a signal to a worker that starts is not one to the service
    os.kill(starting, signal.SIGTERM)
    os.kill(starting, signal.SIGUSR1)
    server.wait_for_log("a worker has ended by SIGTERM; another one replaces it")
    server.ask_to_stop()
    assert server.wait() == 0
    assert not workers_of(server)


@ON_SQLITE
@LISTS_WORKERS
def test_workers_that_end_again_and_again_end_the_service(start_server: StartServer) -> None:
    server = start_server(workers=2)

    def stopped() -> bool | None:
        for worker in workers_of(server):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        return True if "the service has stopped" in server.log.read_text() else None

    until(stopped, "the end of the service")
    assert server.wait() == 1
    last = server.log.read_text().splitlines()[-1]
    assert "workers failed 5 times within a minute, at last: a worker has ended by SIGKILL" in last


@ON_SQLITE
def test_workers_that_are_not_copies_of_the_process_above_them(start_server: StartServer) -> None:
    server = start_server(2, first=AS_ON_MACOS)
    until(lambda: len(serving(server)) == 2 or None, "two workers that serve")
    server.ask_to_stop()
    assert server.wait() == 0


@ON_SQLITE
def test_a_start_removes_what_a_killed_service_has_left(
    start_server: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    server = start_server(workers=2)

    def only() -> str | None:
        names = [each.name for each in folder.glob("comptoir-*")]
        return names[0] if len(names) == 1 else None

    left = until(only, "a folder")
    server.kill()
    # a killed worker holds the folder until its end
    server.wait_until_closed()
    server.start()
    until(lambda: only() not in (None, left) or None, "a folder instead of the one before")


def test_a_follower_beside_many_writers_has_all_records(two: Server) -> None:
    company = two.new_company()
    mirrors = [Mirror(company, AGENTS, page_size=7), Mirror(company, AGENTS, FILTER, 7)]

    with ThreadPoolExecutor(WRITERS) as threads:
        writers = [threads.submit(write, company, number) for number in range(WRITERS)]
        while not all(writer.done() for writer in writers):
            for mirror in mirrors:
                mirror.catch_up()
                assert len(mirror.reported) == len(set(mirror.reported))
    for writer in writers:
        writer.result()

    for mirror, query in zip(mirrors, ["", FILTER], strict=True):
        mirror.catch_up()
        there = company.listed(AGENTS, query)
        assert mirror.records == {f"{company.root}/{AGENTS}({each['id']})": each for each in there}


def write(company: Company, writer: int) -> None:
    """Create records, change each twice, and delete every third."""
    for number in range(WRITES):
        created = company.post(AGENTS, {"code": f"{writer}-{number}", "name": "ab"}).json()
        path = f"{AGENTS}({created['id']})"
        for name in ("abc" * (number % 2), "abcd"[: number % 5]):
            assert company.patch(path, {"name": name}, "*").status_code == 200
        if number % 3 == 0:
            answer = company.request("DELETE", path, headers={"If-Match": "*"})
            assert answer.status_code == 204


def test_a_repeat_after_a_kill_has_the_answer_of_the_first(start_server: StartServer) -> None:
    """The write and what is known of it are on the disk together."""
    server = start_server()
    company, create, change = server.new_company(), repeatable(), repeatable(If_Match="*")
    first = company.post("shippingAgentsExt", {"code": "UPS"}, create)
    path = f"shippingAgentsExt({record(first, 201)['id']})"
    changed = company.patch(path, {"name": "New"}, headers=change)
    server.kill()
    server.start()
    company = server.again(company)

    answers = [
        company.post("shippingAgentsExt", {"code": "UPS"}, create),
        company.patch(path, {"name": "New"}, headers=change),
    ]

    for before, again, status in ((first, answers[0], 201), (changed, answers[1], 200)):
        assert without_control(record(again, status)) == without_control(record(before, status))
        assert tag_of(again) == tag_of(before)
    assert len(company.changes()) == 2


def test_of_many_repeats_in_two_processes_one_is_done(company: Company) -> None:
    for code in "ABC":
        headers = repeatable()
        requests = [
            company.build("POST", "shippingAgentsExt", "", {"code": code}, headers)
            for _ in range(20)
        ]

        answers = company.carrier.send_all(requests)

        assert {each.status_code for each in answers} == {201}
        assert len({essence(each)[2] for each in answers}) == 1
    assert [change.number for change in company.changes()] == [1, 2, 3]
