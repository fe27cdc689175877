"""Every error has one form in every layer, and every response headers for caches (RFC 9111)."""

import httpx

from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.server import Server
from support.service import Service
from support.sockets import ask, head
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database


MALFORMED = {
    "a method that nobody knows": b"INVENTED / HTTP/1.1\r\nHost: test\r\n\r\n",
    "no HTTP": b"hello\r\n\r\n",
    "binary": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50),
    "a blank in a header's name": b"GET / HTTP/1.1\r\nHost: test\r\nA b: c\r\n\r\n",
    "a header without a colon": b"GET / HTTP/1.1\r\nHost: test\r\nnonsense\r\n\r\n",
    "a length that is no number": b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: x\r\n\r\n",
    "a negative length": b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: -1\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    "length and chunks": (
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    "a path that is not ASCII": b"GET /\xff HTTP/1.1\r\nHost: test\r\n\r\n",
}


@together("name", MALFORMED)
def test_bytes_that_are_not_http(name: str, server: Server) -> None:
    with server.connect() as connection:
        answer = ask(connection, MALFORMED[name])

    refusal(answer, "BadRequest")
    assert answer.headers["connection"] == "close"


def test_malformed_chunks(server: Server) -> None:
    """The head is valid, so the request has started when its body turns out to be malformed."""
    company = server.new_company()
    path = company.root.removeprefix(server.origin.root)
    headers = {
        "Authorization": f"Bearer {company.token}",
        "Content-Type": "application/json",
        "Transfer-Encoding": "chunked",
    }
    with server.connect() as connection:
        answer = ask(connection, head("POST", f"{path}/contactsExt", headers) + b"nonsense\r\n")

    refusal(answer, "BadRequest")
    assert company.listed("contactsExt") == []


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
        return (
            ("contactsExt", "x=" + "y" * size)
            if where == "query"
            else ("contactsExt" + "x=" + "y" * size, "")
        )

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
