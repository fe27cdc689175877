"""A stop answers what was accepted, takes nothing new, and ends in time."""

import signal
import socket

import msgspec
import pytest

from process.conftest import StartServer
from support.client import Record, record
from support.office import Company
from support.server import Server
from support.wire import head, read_answer, send

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def begin(server: Server, company: Company, body: bytes) -> socket.socket:
    """Send a create's head, and return when the service waits for its body: it is under way."""
    path = company.root.removeprefix(server.origin.root)
    headers = {
        "Authorization": f"Bearer {company.token}",
        "Content-Type": "application/json",
        "Content-Length": f"{len(body)}",
        "Expect": "100-continue",
    }
    connection = server.connect()
    send(connection, head("POST", f"{path}/shippingAgentsExt", headers))
    received = b""
    while len(received) < len(CONTINUE):
        received += connection.recv(len(CONTINUE) - len(received))
    assert received == CONTINUE
    return connection


def wait_until_nobody_listens(server: Server) -> None:
    while True:
        try:
            server.connect().close()
        except ConnectionRefusedError:
            return


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stop_answers_every_request_that_is_under_way(
    workers: int, start_server: StartServer
) -> None:
    server = start_server(workers)
    company = server.new_company()
    bodies = [msgspec.json.encode({"code": f"{number}"}) for number in range(10)]
    connections = [begin(server, company, body) for body in bodies]

    server.ask_to_stop()
    wait_until_nobody_listens(server)
    created: list[Record] = []
    for connection, body in zip(connections, bodies, strict=True):
        with connection:
            send(connection, body)
            created.append(record(read_answer(connection), 201))
    status = server.wait()

    assert status in (0, -signal.SIGTERM)
    assert [each["code"] for each in created] == [f"{number}" for number in range(10)]
    assert len(company.changes()) == 10
    server.start()
    restarted = Company(
        server,
        f"{server.client.root}/companies({company.id})",
        company.token,
        company.stored,
        company.office,
    )
    assert len(restarted.listed("shippingAgentsExt")) == 10


def test_a_stop_does_not_wait_for_idle_connections(start_server: StartServer) -> None:
    server = start_server()
    with server.connect() as idle:
        assert server.client.get("companies").status_code == 200
        server.ask_to_stop()
        server.wait()
        assert idle.recv(1) == b""


def test_a_stop_ends_in_time_though_a_client_never_sends_its_body(
    start_server: StartServer,
) -> None:
    """`Server.wait` allows 10 s."""
    server = start_server()
    company = server.new_company()
    with begin(server, company, b'{"code": "A"}'):
        server.ask_to_stop()
        server.wait()

    assert company.changes() == []
