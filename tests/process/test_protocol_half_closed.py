"""Clients that shut down their sending side: some still read, others have disconnected."""

import socket

import pytest

from process.conftest import AGENTS, with_agents
from support.client import record
from support.companies import Company
from support.databases import ON_SQLITE, writes_held
from support.log import line_about
from support.server import Server
from support.sockets import head, in_full, read_answer, read_answers, send
from support.together import together

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LOWERED = "tolower(" * 90 + "name" + ")" * 90
SLOW = "$filter=" + " or ".join(f"{LOWERED} eq '{number}'" for number in range(15))
"""A filter that computes for seconds over long names."""


@pytest.fixture(scope="module")
def company(server: Server) -> Company:
    return with_agents(server)


def asked(company: Company, query: str = "") -> bytes:
    prefer = {"Prefer": f"maxpagesize={AGENTS}"}
    return in_full(company.build("GET", "shippingAgentsExt", query, headers=prefer))


def half_closed(server: Server, request: bytes) -> socket.socket:
    """A connection whose client has sent a request and shut down its sending side."""
    connection = server.connect()
    send(connection, request)
    connection.shutdown(socket.SHUT_WR)
    return connection


@together("query", ["", "$search=xx", "$filter=contains(name,'xx')", "$top=1"])
@together("count", [1, 3])
def test_a_half_closed_connection_gets_its_responses(
    count: int, query: str, server: Server, company: Company
) -> None:
    expected = company.get("shippingAgentsExt", query, {"Prefer": f"maxpagesize={AGENTS}"})
    with half_closed(server, asked(company, query) * count) as connection:
        answers = read_answers(connection)

    assert expected.status_code == 200
    assert [answer.content for answer in answers] == [expected.content] * count


def test_a_half_closed_connection_of_http_1_0_gets_its_response(server: Server) -> None:
    with half_closed(server, b"GET /healthz HTTP/1.0\r\n\r\n") as connection:
        (answer,) = read_answers(connection)

    assert answer.content == b"ok\n"


@ON_SQLITE
@together(
    "begun", [b"GET /healthz HT", head("POST", "/api/companies", {"Content-Length": "9"}) + b"{"]
)
def test_an_incomplete_request(begun: bytes, server: Server) -> None:
    """It has one response: 400, or one that does not depend on the body."""
    with half_closed(server, head("GET", "/healthz", {}) + begun) as connection:
        first, last = read_answers(connection)

    assert first.content == b"ok\n"
    assert last.status_code in (400, 401)


def test_a_half_closed_connection_waits_for_its_write(server: Server) -> None:
    """Meanwhile, interim responses find out whether the client is still connected."""
    company = server.new_company()
    request = in_full(company.build("POST", "shippingAgentsExt", body={"code": "A"}))
    with (
        writes_held(server.settings.database) as let_go,
        half_closed(server, request) as connection,
    ):
        assert connection.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
        let_go()
        answer = read_answer(connection)

    assert record(answer, 201)["code"] == "A"


def test_a_disconnect_ends_a_long_read(server: Server) -> None:
    """The service sees only the end of the input until it sends something."""
    company = server.new_company()
    company.load(
        "shippingAgentsExt", *({"code": f"{n}", "name": "x" * 4_000} for n in range(1_000))
    )
    half_closed(server, asked(company, SLOW)).close()

    path = company.root.removeprefix(server.origin.root)
    assert line_about(server, f"{path}/shippingAgentsExt").status == 499
