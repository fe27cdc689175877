"""A stop finishes accepted requests, accepts no new ones, and ends in time."""

import select
import socket
from collections.abc import Sequence
from contextlib import ExitStack

import httpx
import msgspec
import pytest

from process.conftest import StartServer
from process.test_condition import metric
from support.batches import HTTP, MULTIPART, Entry, parts, replies
from support.client import record
from support.companies import Company
from support.databases import ON_SQLITE, writes_held
from support.server import STOP_OVERRUN, Server
from support.sockets import ask, head, in_full, read_answer, send
from support.waiting import until

WAITED_FOR_SECONDS = 0.5
"""Seconds for which a connection stays silent while the service waits for its request."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def begin(server: Server, company: Company, body: bytes) -> socket.socket:
    """Send the head of a create, and return when the service waits for the body."""
    whole = company.build("POST", "shippingAgentsExt", "", body, {"Expect": "100-continue"})
    connection = server.connect()
    send(connection, in_full(whole).removesuffix(body))
    received = b""
    while len(received) < len(CONTINUE):
        received += connection.recv(len(CONTINUE) - len(received))
    assert received == CONTINUE
    return connection


@ON_SQLITE
@pytest.mark.parametrize("workers", [1, 2])
def test_a_stop_finishes_every_accepted_request(workers: int, start_server: StartServer) -> None:
    """It does not wait for idle connections."""
    server = start_server(workers)
    company = server.new_company()
    bodies = [msgspec.json.encode({"code": f"{number}"}) for number in range(10)]
    with ExitStack() as open_connections:
        idle = open_connections.enter_context(server.connect())
        assert ask(idle, head("GET", "/healthz", {})).content == b"ok\n"
        connections = [
            open_connections.enter_context(begin(server, company, body)) for body in bodies
        ]

        server.ask_to_stop()
        if workers == 1:
            # of several workers, the process above them listens until they have ended
            server.wait_until_closed()
        given_up, _, _ = select.select(connections, [], [], WAITED_FOR_SECONDS)
        assert given_up == []
        for connection, body in zip(connections, bodies, strict=True):
            send(connection, body)
        created = [record(read_answer(connection), 201) for connection in connections]
        server.wait()
        assert idle.recv(1) == b""

    assert [each["code"] for each in created] == [f"{number}" for number in range(10)]
    assert len(company.changes()) == 10


def begin_batch(server: Server, company: Company, content_type: str, body: bytes) -> socket.socket:
    headers = {"Content-Type": content_type, "Prefer": "continue-on-error"}
    connection = server.connect()
    send(connection, in_full(company.build("POST", "$batch", "", body, headers)))
    return connection


CREATE = f"--batch_1\n{HTTP}\nPOST shippingAgentsExt HTTP/1.1\nContent-Type: application/json\n\n"
THREE = "".join(f'{CREATE}{{"code": "{code}"}}\n' for code in "ABC") + "--batch_1--"
ENTRIES: Sequence[Entry] = [
    {"id": code, "method": "POST", "url": "shippingAgentsExt", "body": {"code": code}}
    for code in "ABC"
]


Outcomes = tuple[httpx.Response, httpx.Response, httpx.Response]


def test_a_stop_returns_the_outcomes_of_writes(start_server: StartServer) -> None:
    """Otherwise clients that retry would create records twice.

    The writes are let go when a stop no longer waits for their requests. From then on, the store
    waits for the writes for a second, in which a slow machine may not let them go: then the server
    starts again, for another try.
    """
    server = start_server(stop_seconds=1.0)

    def look() -> tuple[Outcomes, list[int]] | None:
        companies = [server.new_company() for _ in range(3)]
        overruns = server.log.read_text().count(STOP_OVERRUN)
        with writes_held(server.settings.database) as let_go, ExitStack() as stack:
            body = b'{"code": "A"}'
            single = stack.enter_context(begin(server, companies[0], body))
            send(single, body)
            sent = msgspec.json.encode({"requests": ENTRIES})
            json = stack.enter_context(begin_batch(server, companies[1], "application/json", sent))
            mixed = stack.enter_context(
                begin_batch(server, companies[2], MULTIPART, THREE.encode())
            )
            # the batch in JSON sends its three writes together
            until(lambda: metric(server, "comptoir_queued_writes") == 5 or None, "waiting writes")
            server.ask_to_stop()
            until(
                lambda: server.log.read_text().count(STOP_OVERRUN) > overruns or None,
                "a stop that no longer waits for the requests",
            )
            let_go()
            answers = read_answer(single), read_answer(json), read_answer(mixed)
            server.wait()
        first = replies(answers[1])[0], parts(answers[2])[0]
        if 503 in (answers[0].status_code, *(each.status for each in first)):
            server.start()
            return None
        return answers, [len(each.changes()) for each in companies]

    (single, json, mixed), changes = until(look, "the outcomes of writes during a stop")

    assert record(single, 201)["code"] == "A"
    assert [each.status for each in replies(json)] == [201, 201, 201]
    assert [each.status for each in parts(mixed)] == [201, 503, 503]
    assert changes == [1, 3, 1]
