"""Heads and URLs above the limits, and the headers that every response has (RFC 9111)."""

import httpx

from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.server import Server
from support.service import Service
from support.sockets import ask, head
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database


@together("ends", [True, False])
@together("number", [1, 10, 5_000])
def test_headers_above_the_limit(number: int, ends: bool, server: Server) -> None:
    """One header of 100 KB, or many short ones, in a complete or an incomplete head."""
    headers = {f"X-{n}": "x" * (100_000 // number) for n in range(number)}
    whole = head("GET", "/healthz", headers)
    with server.connect() as connection:
        answer = ask(connection, whole if ends else whole[: -len("\r\n")])

    refusal(answer, "Request_HeadersTooLarge")
    assert answer.headers["connection"] == "close"


def test_headers_within_the_limit(server: Server) -> None:
    assert server.origin.get("healthz", headers={"X-Long": "x" * 60_000}).status_code == 200


@together("where", ["path", "query"])
def test_a_url_over_16_kib(where: str, stocked: Company) -> None:
    start = stocked.root.partition("/api")[2]
    room = (16 << 10) - len("/api") - len(start) - len("/contactsExt") - len("x=")

    def long(size: int) -> tuple[str, str]:
        more = "x=" + "y" * size
        return ("contactsExt", more) if where == "query" else (f"contactsExt{more}", "")

    refusal(stocked.get(*long(room + 1)), "Request_UriTooLong")
    if where == "query":
        assert stocked.get(*long(room)).status_code == 200
    else:
        refusal(stocked.get(*long(room)), "BadRequest_InvalidRequestUrl")


def test_a_url_over_16_kib_over_a_socket(server: Server) -> None:
    refusal(server.client.get("companies", "x=" + "y" * 20_000), "Request_UriTooLong")


def guards(answer: httpx.Response) -> tuple[str, ...]:
    """The values of X-Content-Type-Options and Cache-Control."""
    assert len(answer.headers.get_list("cache-control")) == 1
    return answer.headers["x-content-type-options"], answer.headers["cache-control"]


@together("request_line", [b"hello\r\n\r\n", b"GET / HTTP/9.9\r\nHost: t\r\n\r\n"])
def test_errors_of_the_server_have_cache_headers(request_line: bytes, server: Server) -> None:
    with server.connect() as connection:
        answer = ask(connection, request_line)

    assert guards(answer) == ("nosniff", "no-store")


def test_every_response_has_a_different_id(service: Service) -> None:
    ids = {service.origin.get("healthz").headers["x-request-id"] for _ in range(20)}

    assert len(ids) == 20
