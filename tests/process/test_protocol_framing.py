"""Where requests begin and end on a connection: one answer each, in order, whatever is sent."""

from socket import MSG_PEEK

import pytest

from support.office import Company
from support.refusals import refusal
from support.server import Server
from support.wire import head, read_answers, send

RECORDS = 2_000
CHUNKED = {"Transfer-Encoding": "chunked"}


@pytest.fixture(scope="module")
def company(server: Server) -> Company:
    company = server.new_company()
    company.load("shippingAgentsExt", *({"code": f"{n}", "name": "x" * 90} for n in range(RECORDS)))
    return company


def listing(server: Server, company: Company, headers: dict[str, str] | None = None) -> bytes:
    """The head of a request for a page that is streamed."""
    path = company.root.removeprefix(server.origin.root)
    given = {"Authorization": f"Bearer {company.token}", "Prefer": f"maxpagesize={RECORDS}"}
    return head("GET", f"{path}/shippingAgentsExt", {**given, **(headers or {})})


@pytest.mark.parametrize("count", [1, 3])
def test_what_is_malformed_is_refused_after_the_answers_before_it(
    count: int, server: Server, company: Company
) -> None:
    expected = company.get("shippingAgentsExt", headers={"Prefer": f"maxpagesize={RECORDS}"})
    with server.connect() as connection:
        send(connection, listing(server, company) * count + b"nonsense\r\n\r\n")
        *answers, last = read_answers(connection)

    assert [answer.content for answer in answers] == [expected.content] * count
    refusal(last, "BadRequest")
    assert last.headers["connection"] == "close"


def test_a_body_that_breaks_off_is_refused_after_the_answers_before_it(
    server: Server, company: Company
) -> None:
    broken = listing(server, company, CHUNKED) + b"nonsense\r\n"
    with server.connect() as connection:
        send(connection, listing(server, company) + broken)
        first, last = read_answers(connection)

    assert first.status_code == 200
    refusal(last, "BadRequest")


def test_a_request_that_was_answered_is_not_refused_as_well(server: Server) -> None:
    """The service answers 401 before it reads a body, whatever the body turns out to be."""
    with server.connect() as connection:
        send(connection, head("POST", "/api/companies", CHUNKED))
        connection.recv(1, MSG_PEEK)
        send(connection, b"nonsense\r\n")
        (answer,) = read_answers(connection)

    refusal(answer, "Authentication_InvalidCredentials")
