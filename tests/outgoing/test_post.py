"""Posts to receivers and issuers that answer, refuse, redirect, are slow, endless or inside."""

import asyncio
import ssl
from ipaddress import ip_network

import pytest

from comptoir.outgoing import OutgoingError, PostAnswer
from comptoir.outgoing.session import KEPT_BYTES, Guard, Outgoing
from support.lying_server import OK, LyingServer, Respond, Start, sending, with_body

LOOPBACK = Guard([ip_network("127.0.0.0/8")])
BODY = b'{"value":[]}'


def posted(
    server: LyingServer,
    body: bytes = BODY,
    guard: Guard = LOOPBACK,
    host: str = "localhost",
    seconds: float = 30.0,
) -> PostAnswer:
    async def post() -> PostAnswer:
        try:
            url = f"https://{host}:{server.port}/hook?validationToken=a%2Bb"
            return await Outgoing(guard).post(url, body, seconds)
        finally:
            await server.ended()

    return asyncio.run(post())


def problem(
    server: LyingServer,
    guard: Guard = LOOPBACK,
    host: str = "localhost",
    seconds: float = 30.0,
) -> str:
    with pytest.raises(OutgoingError) as caught:
        posted(server, guard=guard, host=host, seconds=seconds)
    return str(caught.value)


def receiving(content: bytearray, length: int, answer: bytes) -> Respond:
    """Read a body of `length` bytes, of which `content` may have the first, then answer."""

    def respond(connection: ssl.SSLSocket) -> None:
        while len(content) < length:
            content.extend(connection.recv(1 << 16))
        connection.sendall(answer)

    return respond


@pytest.mark.parametrize("length", [0, 1, 3_000_000])
def test_a_post(length: int, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is sent directly and whole, whatever the environment says of proxies."""
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    content = bytearray()

    def respond(connection: ssl.SSLSocket) -> None:
        content.extend(server.heads[0].partition(b"\r\n\r\n")[2])
        receiving(content, length, OK + b"Content-Length: 5\r\n\r\ntoken")(connection)

    server = start(respond)
    assert posted(server, b"x" * length) == PostAnswer(200, b"token")

    (head,) = [each.partition(b"\r\n\r\n")[0].lower() for each in server.heads]
    assert content == b"x" * length
    assert head.startswith(b"post /hook?validationtoken=a%2bb http/1.1\r\n")
    for line in (
        b"content-type: application/json",
        b"content-length: %d" % length,
        b"accept-encoding: identity",
    ):
        assert line in head.split(b"\r\n")
    assert b"cookie" not in head
    assert b"authorization" not in head


@pytest.mark.parametrize("status", [200, 202, 204, 301, 302, 307, 308, 400, 408, 410, 429, 500])
def test_any_status_is_an_answer(status: int, start: Start) -> None:
    """A redirect is one too, and is not followed."""
    elsewhere = start(with_body(b"{}"))
    location = b"Location: https://localhost:%d/\r\n" % elsewhere.port
    body = b"" if status == 204 else b"why"
    length = b"" if status == 204 else b"Content-Length: 3\r\n"
    server = start(sending(b"HTTP/1.1 %d X\r\n" % status + location + length + b"\r\n" + body))
    assert posted(server) == PostAnswer(status, body)
    assert len(server.heads) == 1
    assert elsewhere.heads == []


@pytest.mark.parametrize("head", [b"", b"Content-Length: 1000000000000\r\n"])
def test_an_endless_answer(head: bytes, start: Start) -> None:
    """Its start is kept, and the connection ended."""

    def respond(connection: ssl.SSLSocket) -> None:
        connection.sendall(OK + head + b"\r\n")
        while True:
            connection.sendall(b"x" * 100_000)

    assert posted(start(respond)) == PostAnswer(200, b"x" * KEPT_BYTES)


@pytest.mark.parametrize("begun", [b"HTTP/1.1 200 O", OK, OK + b"Content-Length: 100\r\n\r\n"])
def test_a_receiver_that_sends_single_bytes(begun: bytes, start: Start) -> None:
    """Nothing but a whole answer counts."""

    def respond(connection: ssl.SSLSocket) -> None:
        connection.sendall(begun)
        while not server.stopped.wait(0.05):
            connection.sendall(b"x")

    server = start(respond)
    assert "did not respond completely within 0.5 seconds" in problem(server, seconds=0.5)


def test_a_receiver_that_is_silent(start: Start) -> None:
    def respond(connection: ssl.SSLSocket) -> None:
        # until the client ends the connection
        connection.recv(1)

    server = start(respond)
    assert "did not respond completely within 0.5 seconds" in problem(server, seconds=0.5)


@pytest.mark.parametrize("answer", [b"nonsense\r\n\r\n", b"", OK + b"Content-Length: 9\r\n\r\nx"])
def test_a_broken_answer(answer: bytes, start: Start) -> None:
    """What the receiver has sent is not repeated."""
    assert problem(start(sending(answer))).endswith(" sent a malformed response")


def test_an_address_inside_gets_no_connection(start: Start) -> None:
    server = start(with_body(b"{}"))
    for host in ("localhost", "127.0.0.1"):
        assert "is not a global address" in problem(server, Guard(), host)
    assert server.heads == []


def test_an_untrusted_certificate(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    server = start(with_body(b"{}"))
    monkeypatch.delenv("SSL_CERT_FILE")
    assert "certificate verify failed" in problem(server)
    assert server.heads == []


def test_a_url_that_is_refused(start: Start) -> None:
    """It is checked before a connection."""
    server = start(with_body(b"{}"))

    async def post() -> PostAnswer:
        return await Outgoing(LOOPBACK).post(f"http://localhost:{server.port}/", BODY, 30.0)

    with pytest.raises(OutgoingError, match="does not start with https://"):
        asyncio.run(post())
    assert server.heads == []


def test_a_closed_port(start: Start) -> None:
    server = start(with_body(b"{}"))
    server.stop()
    assert "cannot be reached" in problem(server, host="127.0.0.1")


FORM = {"code": "a b&c", "grant_type": "authorization_code"}
SENT_FORM = b"code=a+b%26c&grant_type=authorization_code"


def form_posted(server: LyingServer, outgoing: Outgoing, authorization: str = "") -> PostAnswer:
    async def post() -> PostAnswer:
        try:
            return await outgoing.post_form(
                f"https://localhost:{server.port}/token", FORM, authorization
            )
        finally:
            await server.ended()

    return asyncio.run(post())


@pytest.mark.parametrize("authorization", ["", "Basic YTpi"])
def test_a_form(authorization: str, start: Start) -> None:
    """Its answer may have as many bytes as it is allowed."""
    content = bytearray()

    def respond(connection: ssl.SSLSocket) -> None:
        content.extend(server.heads[0].partition(b"\r\n\r\n")[2])
        receiving(content, len(SENT_FORM), OK + b"Content-Length: 5\r\n\r\ntoken")(connection)

    server = start(respond)
    outgoing = Outgoing(LOOPBACK, 30.0, 5)
    assert form_posted(server, outgoing, authorization) == PostAnswer(200, b"token")
    assert content == SENT_FORM
    head = server.heads[0].lower()
    assert head.startswith(b"post /token http/1.1\r\n")
    assert b"content-type: application/x-www-form-urlencoded\r\n" in head
    assert (b"authorization: basic ytpi\r\n" in head) == bool(authorization)
    assert b"authorization: \r\n" not in head


def form_problem(server: LyingServer, outgoing: Outgoing) -> str:
    with pytest.raises(OutgoingError) as caught:
        form_posted(server, outgoing)
    return str(caught.value)


def test_an_answer_to_a_form_that_is_too_long(start: Start) -> None:
    server = start(with_body(b"tokens"))
    outgoing = Outgoing(LOOPBACK, 30.0, 5)
    assert form_problem(server, outgoing).endswith(" responded with more than 5 bytes")


def test_an_answer_to_a_form_that_is_late(start: Start) -> None:
    def respond(connection: ssl.SSLSocket) -> None:
        # until the client ends the connection
        while connection.recv(1 << 16):
            pass

    server = start(respond)
    assert "did not respond completely within 0.5 seconds" in form_problem(
        server, Outgoing(LOOPBACK, 0.5)
    )


def test_a_form_is_not_sent_to_an_address_inside(start: Start) -> None:
    server = start(with_body(b"{}"))
    assert "is not a global address" in form_problem(server, Outgoing(Guard()))
    assert server.heads == []
