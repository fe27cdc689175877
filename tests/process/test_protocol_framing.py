"""Framing of requests on a connection: each has one response, in order."""

from socket import socket
from ssl import SSLEOFError

import pytest

from comptoir.http.protocol import MAX_PIPELINED
from process.conftest import AGENTS, with_agents
from support.client import record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.server import Server
from support.sockets import ask, head, in_full, read_answer, read_answers, send
from support.together import together

CHUNKED = {"Transfer-Encoding": "chunked"}

pytestmark = ON_SQLITE  # what happens on a socket does not depend on the database


@pytest.fixture(scope="module")
def company(either: Server) -> Company:
    return with_agents(either)


def listing(company: Company, headers: dict[str, str] | None = None) -> bytes:
    """A request for a streamed page."""
    given = {"Prefer": f"maxpagesize={AGENTS}", **(headers or {})}
    return in_full(company.build("GET", "shippingAgentsExt", headers=given))


@together("count", [1, 3])
@together("body", [False, True])
def test_what_is_malformed_is_refused_after_the_earlier_responses(
    body: bool, count: int, either: Server, company: Company
) -> None:
    expected = company.get("shippingAgentsExt", headers={"Prefer": f"maxpagesize={AGENTS}"})
    broken = listing(company, CHUNKED) + b"nonsense\r\n" if body else b"nonsense\r\n\r\n"
    with either.connect() as connection:
        send(connection, listing(company) * count + broken)
        *answers, last = read_answers(connection)

    assert [answer.content for answer in answers] == [expected.content] * count
    refusal(last, "BadRequest")
    assert last.headers["connection"] == "close"


def test_pipelined_requests_are_limited(either: Server, company: Company) -> None:
    """Each uses memory, with and without a token. Some are answered while the others arrive."""
    with either.connect() as connection:
        send(connection, listing(company))
        send(connection, head("GET", "/healthz", {}) * (MAX_PIPELINED + 500))
        first, *others, last = read_answers(connection)

    assert first.status_code == 200
    assert {answer.content for answer in others} == {b"ok\n"}
    assert len(others) <= 2 * MAX_PIPELINED
    refusal(last, "Application_TooManyRequests")
    assert last.headers["connection"] == "close"


def test_a_request_with_a_response_is_not_refused_in_addition(either: Server) -> None:
    """The service returns 401 before it reads the body, which is malformed."""
    with either.connect() as connection:
        send(connection, head("POST", "/api/companies", CHUNKED))
        answer = read_answer(connection)
        send(connection, b"nonsense\r\n")

        assert read_answers(connection) == []
    refusal(answer, "Authentication_InvalidCredentials")


def creation(company: Company, headers: dict[str, str], body: bytes) -> bytes:
    """A request to create a shipping agent."""
    given = {"Content-Type": "application/json", **headers}
    return in_full(company.build("POST", "shippingAgentsExt", headers=given)) + body


def chunked(body: bytes, size: int, extension: bytes = b"") -> bytes:
    """A body in chunks of a size, without the last chunk."""
    chunks = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x%b\r\n%b\r\n" % (len(each), extension, each) for each in chunks)


def test_trailers_are_not_headers_of_the_request(either: Server, company: Company) -> None:
    """A token in a trailer neither authenticates a request nor replaces its token."""
    body = chunked(b'{"code": "trailers"}', 5) + b"0\r\nAuthorization: Bearer %b\r\n\r\n"
    plain = head("POST", "/api/companies", CHUNKED)
    with either.connect() as connection:
        refused = ask(connection, plain + body % company.token.encode())
        created = ask(connection, creation(company, CHUNKED, body % b"nonsense"))

    refusal(refused, "Authentication_InvalidCredentials")
    assert record(created, 201)["code"] == "trailers"


OVERHEAD = {
    "a trailer": b"0\r\nX: " + b"x" * 100_000,
    "a trailer with a long name": b"0\r\nX" + b"x" * 100_000,
    "many trailers": b"0\r\n" + b"a:b\r\n" * 20_000,
    "an extension": b"1;x=" + b"x" * 100_000,
    "many extensions": b"1;x=%b\r\n{\r\n" % (b"x" * 1_000) * 100,
    "a size with zeros": b"0" * 100_000,
    "a trailer after many chunks": b"1\r\n \r\n" * 20_000 + b"0\r\nX: " + b"x" * 100_000,
}


@together("ends", [True, False])
@together("case", OVERHEAD)
def test_trailers_and_chunk_extensions_are_limited(
    case: str, ends: bool, either: Server, company: Company
) -> None:
    """The limit is that of the headers, whether the body is complete or not."""
    body = OVERHEAD[case] + (b"\r\n" * 2 if ends else b"")
    with either.connect() as connection:
        send(connection, creation(company, CHUNKED, body))
        (answer,) = read_answers(connection)

    refusal(answer, "Request_HeadersTooLarge")
    assert answer.headers["connection"] == "close"


@together("authorized", [True, False])
@together("case", ["a trailer", "many trailers", "an extension"])
def test_endless_trailers_are_not_read(
    case: str, authorized: bool, either: Server, company: Company
) -> None:
    """The service stops reading, whether or not it has sent a response."""
    begun = creation(company, CHUNKED, b"")
    start = begun if authorized else head("POST", "/api/companies", CHUNKED)
    more = b"a:b\r\n" * 20_000 if case == "many trailers" else b"x" * 100_000
    with either.connect() as connection:
        send(connection, start + OVERHEAD[case])
        with pytest.raises((BrokenPipeError, ConnectionResetError, SSLEOFError)):
            send_all(connection, more, 5_000)


def send_all(connection: socket, content: bytes, times: int) -> None:
    for _ in range(times):
        connection.sendall(content)


def test_short_trailers_and_chunk_extensions_are_allowed(either: Server, company: Company) -> None:
    """Small chunks, signed chunks and trailers within the limit."""
    bodies = {
        "small 中": chunked('{"code": "small 中"}'.encode().rjust(50_000), 1) + b"0\r\n",
        "signed": chunked(b'{"code": "signed"}'.rjust(500_000), 8_192, b";signature=" + b"x" * 64)
        + b"0\r\n",
        "long": chunked(b'{"code": "long"}', 100) + b"0\r\nX: %b\r\n" % (b"x" * 60_000),
    }
    with either.connect() as connection:
        for code, body in bodies.items():
            created = ask(connection, creation(company, CHUNKED, body + b"\r\n"))
            assert record(created, 201)["code"] == code


def test_a_trailer_may_end_the_connection(either: Server) -> None:
    body = b"0\r\nConnection: close\r\n\r\n"
    with either.connect() as connection:
        send(connection, head("GET", "/healthz", CHUNKED) + body + head("GET", "/healthz", {}))
        (answer,) = read_answers(connection)

    assert answer.content == b"ok\n"
    assert answer.headers["connection"] == "close"


UPGRADES = {
    "HTTP/2, as curl offers it": {
        "Connection": "Upgrade, HTTP2-Settings",
        "Upgrade": "h2c",
        "HTTP2-Settings": "AAMAAABkAAQCAAAAAAIAAAAA",
    },
    "WebSocket": {"Connection": "keep-alive, upgrade", "Upgrade": "websocket"},
}


@together("piece", [1, 7, 1_000_000])
@together("upgrade", UPGRADES)
def test_an_upgrade_to_another_protocol_is_ignored(
    upgrade: str, piece: int, either: Server, company: Company
) -> None:
    """The declared body is read, and the bytes after it are the next request."""
    smuggled = head("DELETE", "/healthz", {})
    body = b'{"code": "%b"}'.ljust(200) + smuggled
    code = f"{upgrade} {piece}".encode()
    declared = {**UPGRADES[upgrade], "Content-Length": f"{len(body % code)}"}
    in_chunks = chunked(b'{"code": "chunked %b"}' % code, 5) + b"0\r\nConnection: upgrade\r\n\r\n"
    sent = [
        creation(company, declared, body.replace(smuggled, b" " * len(smuggled)) % code),
        creation(company, {**UPGRADES[upgrade], **CHUNKED}, in_chunks),
        head("GET", "/healthz", UPGRADES[upgrade]),
        creation(company, declared, body % code),
        head("GET", "/healthz", {**UPGRADES[upgrade], "Connection": "upgrade, close"}),
        head("GET", "/healthz", {}),
    ]
    whole = b"".join(sent)
    with either.connect() as connection:
        for start in range(0, len(whole), piece):
            send(connection, whole[start : start + piece])
        answers = read_answers(connection)

    assert [answer.status_code for answer in answers] == [201, 201, 200, 400, 200]


def test_many_pipelined_upgrades(either: Server) -> None:
    upgrade = UPGRADES["HTTP/2, as curl offers it"]
    many = head("GET", "/healthz", upgrade) * (MAX_PIPELINED - 1)
    with either.connect() as connection:
        send(connection, many + head("GET", "/healthz", {"Connection": "close"}))
        answers = read_answers(connection)

    assert [answer.content for answer in answers] == [b"ok\n"] * MAX_PIPELINED


def test_a_request_after_an_upgrade_has_its_own_error(either: Server) -> None:
    upgrade = head("GET", "/healthz", UPGRADES["WebSocket"])
    with either.connect() as connection:
        send(connection, upgrade + b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        first, last = read_answers(connection)

    assert first.content == b"ok\n"
    assert "several Host headers" in refusal(last, "BadRequest").message


def test_a_body_after_an_upgrade_is_limited_and_checked(either: Server, company: Company) -> None:
    upgrade = UPGRADES["WebSocket"]
    refused = {
        "Request_BodyTooLarge": ({"Content-Length": f"{10**12}"}, b""),
        "Request_HeadersTooLarge": (CHUNKED, OVERHEAD["a trailer"]),
        "BadRequest": (CHUNKED, b"nonsense\r\n"),
    }
    for code, (framing, body) in refused.items():
        with either.connect() as connection:
            send(connection, creation(company, {**upgrade, **framing}, body))
            (answer,) = read_answers(connection)

        refusal(answer, code)
