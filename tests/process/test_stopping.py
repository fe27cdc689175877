"""A stop finishes accepted requests, accepts no new ones, and ends in time."""

import select
import socket
from collections.abc import Callable
from contextlib import ExitStack

import httpx
import msgspec
import pytest

from process.conftest import StartServer
from process.test_condition import metric
from support.client import record
from support.companies import Company
from support.databases import ON_SQLITE, writes_held
from support.server import STOP_OVERRUN, Server
from support.sockets import head, read_answer, send
from support.waiting import until

WAITED_FOR_SECONDS = 0.5
"""Seconds for which a connection stays silent while the service waits for its request."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def begin(server: Server, company: Company, body: bytes) -> socket.socket:
    """Send the head of a create, and return when the service waits for the body."""
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


def wait_until_not_listening(server: Server) -> None:
    def look() -> bool | None:
        try:
            server.connect().close()
        except ConnectionRefusedError:
            return True
        except ConnectionResetError:
            return None
        return None

    until(look, "an end of listening")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stop_finishes_every_accepted_request(workers: int, start_server: StartServer) -> None:
    server = start_server(workers)
    company = server.new_company()
    bodies = [msgspec.json.encode({"code": f"{number}"}) for number in range(10)]
    with ExitStack() as open_connections:
        connections = [
            open_connections.enter_context(begin(server, company, body)) for body in bodies
        ]

        server.ask_to_stop()
        if workers == 1:
            # of several workers, the process above them listens until they have ended
            wait_until_not_listening(server)
        given_up, _, _ = select.select(connections, [], [], WAITED_FOR_SECONDS)
        assert given_up == []
        for connection, body in zip(connections, bodies, strict=True):
            send(connection, body)
        created = [record(read_answer(connection), 201) for connection in connections]
        server.wait()

    assert [each["code"] for each in created] == [f"{number}" for number in range(10)]
    assert len(company.changes()) == 10


@ON_SQLITE
def test_a_stop_does_not_wait_for_idle_connections(start_server: StartServer) -> None:
    server = start_server()
    with server.connect() as idle:
        assert server.client.get("companies").status_code == 200
        server.ask_to_stop()
        server.wait()
        assert idle.recv(1) == b""


@ON_SQLITE
def test_a_stop_ends_in_time_if_a_client_does_not_send_its_body(
    start_server: StartServer,
) -> None:
    """The setting `stop_seconds` limits the wait for accepted requests."""
    server = start_server(stop_seconds=1.0)
    company = server.new_company()
    with begin(server, company, b'{"code": "A"}'):
        server.ask_to_stop()
        server.wait()

    assert company.changes() == []
    assert "Traceback" not in server.log.read_text()


def answered_at_a_stop(
    server: Server,
    begun: Callable[[Company], socket.socket],
    status_of: Callable[[httpx.Response], int],
) -> tuple[httpx.Response, Company]:
    """The response to a write that is let go when a stop no longer waits for its request.

    From then on, the store waits for the write for a second, in which a slow machine may not let it
    go: then the server starts again, for another try. `status_of` is that of the first write.
    """

    def look() -> tuple[httpx.Response, Company] | None:
        company = server.new_company()
        overruns = server.log.read_text().count(STOP_OVERRUN)
        with (
            writes_held(server.settings.database) as let_go,
            begun(company) as connection,
        ):
            until(lambda: metric(server, "comptoir_queued_writes") > 0 or None, "a waiting write")
            server.ask_to_stop()
            until(
                lambda: server.log.read_text().count(STOP_OVERRUN) > overruns or None,
                "a stop that no longer waits for the request",
            )
            let_go()
            answer = read_answer(connection)
            server.wait()
        if status_of(answer) == 503:
            server.start()
            return None
        return answer, company

    return until(look, "the outcome of a write during a stop")


def test_a_stop_during_a_write_returns_the_outcome_of_the_write(
    start_server: StartServer,
) -> None:
    """Otherwise a client that retries would create a second record."""
    server = start_server(stop_seconds=1.0)

    def begun(company: Company) -> socket.socket:
        connection = begin(server, company, b'{"code": "A"}')
        send(connection, b'{"code": "A"}')
        return connection

    answer, company = answered_at_a_stop(server, begun, lambda answer: answer.status_code)

    assert record(answer, 201)["code"] == "A"
    assert len(company.changes()) == 1
