"""Requests to servers that are slow, huge, broken, untrusted or inside, and to good ones."""

import asyncio
import gzip
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from ipaddress import ip_network
from pathlib import Path

import pytest

from comptoir.outgoing import Document, OutgoingError, PostAnswer
from comptoir.outgoing.session import ANSWER_BYTES, DOCUMENT_BYTES, KEPT_BYTES, Guard, Outgoing
from support.certificates import trusted_folder
from support.lying_server import OK, LyingServer, Respond, sending, with_body

HOST = "localhost"
LOOPBACK = Guard([ip_network("127.0.0.0/8")])
BODY = b'{"value":[]}'
FORM = {"code": "a b&c", "grant_type": "authorization_code"}
SENT_FORM = b"code=a+b%26c&grant_type=authorization_code"

Answer = Document | PostAnswer
Start = Callable[[Respond], LyingServer]
Send = Callable[[Outgoing, str, float], Awaitable[Answer]]


async def fetch(outgoing: Outgoing, url: str, _: float) -> Answer:
    return await outgoing.fetch(url)


async def post(outgoing: Outgoing, url: str, seconds: float) -> Answer:
    return await outgoing.post(url, BODY, seconds)


async def post_form(outgoing: Outgoing, url: str, _: float) -> Answer:
    return await outgoing.post_form(url, FORM, "")


def answered(
    send: Send, server: LyingServer, guard: Guard = LOOPBACK, host: str = HOST, seconds: float = 30
) -> Answer:
    async def run() -> Answer:
        try:
            outgoing = Outgoing(guard, seconds)
            return await send(outgoing, f"https://{host}:{server.port}/document?a=a%2Bb", seconds)
        finally:
            await server.ended()

    return asyncio.run(run())


def problem(
    send: Send, server: LyingServer, guard: Guard = LOOPBACK, host: str = HOST, seconds: float = 30
) -> str:
    with pytest.raises(OutgoingError) as caught:
        answered(send, server, guard, host, seconds)
    return str(caught.value)


def received(send: Send, start: Start, length: int) -> tuple[bytes, bytes]:
    """The head and the body of a request that has a body of `length` bytes."""
    content = bytearray()

    def respond(connection: ssl.SSLSocket) -> None:
        content.extend(server.heads[0].partition(b"\r\n\r\n")[2])
        while len(content) < length:
            content.extend(connection.recv(1 << 16))
        connection.sendall(OK + b"Content-Length: 5\r\n\r\ntoken")

    server = start(respond)
    assert answered(send, server) == PostAnswer(200, b"token")
    (head,) = [each.partition(b"\r\n\r\n")[0].lower() for each in server.heads]
    assert head.startswith(b"post /document?a=a%2bb http/1.1\r\n")
    return head, bytes(content)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server whose authority the machine trusts."""
    with trusted_folder(tmp_path), ExitStack() as servers:
        yield lambda respond: servers.enter_context(LyingServer(tmp_path, respond, "127.0.0.1"))


@pytest.fixture(params=[fetch, post, post_form])
def send(request: pytest.FixtureRequest) -> Send:
    found: Send = request.param
    return found


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment with proxies, which requests do not use."""
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")


@pytest.mark.usefixtures("proxied")
def test_a_document(start: Start) -> None:
    server = start(with_body(b"{}", OK + b"Cache-Control: max-age=300\r\nSet-Cookie: a=b\r\n"))
    for host in ("localhost", "127.0.0.1"):
        assert answered(fetch, server, host=host) == Document(b"{}", "max-age=300")

    for head in server.heads:
        lowered = head.lower()
        assert head.startswith(b"GET /document?a=a%2Bb HTTP/1.1\r\n")
        assert b"accept-encoding: identity\r\n" in lowered
        assert b"cookie" not in lowered
        assert b"authorization" not in lowered


@pytest.mark.usefixtures("proxied")
@pytest.mark.parametrize("length", [0, 1, 3_000_000])
def test_a_post_is_sent_whole(length: int, start: Start) -> None:
    async def long(outgoing: Outgoing, url: str, seconds: float) -> Answer:
        return await outgoing.post(url, b"x" * length, seconds)

    head, content = received(long, start, length)
    assert content == b"x" * length
    sent = [b"content-length: %d" % length, b"content-type: application/json"]
    assert {*sent, b"accept-encoding: identity"} <= set(head.split(b"\r\n"))
    assert b"cookie" not in head
    assert b"authorization" not in head


@pytest.mark.parametrize("authorization", ["", "Basic YTpi"])
def test_a_form(authorization: str, start: Start) -> None:
    async def form(outgoing: Outgoing, url: str, _: float) -> Answer:
        return await outgoing.post_form(url, FORM, authorization)

    head, content = received(form, start, len(SENT_FORM))
    assert content == SENT_FORM
    lines = head.split(b"\r\n")
    assert b"content-type: application/x-www-form-urlencoded" in lines
    given = [each for each in lines if each.startswith(b"authorization:")]
    assert given == ([b"authorization: basic ytpi"] if authorization else [])


def test_an_address_inside_gets_no_connection(send: Send, start: Start) -> None:
    server = start(with_body(b"{}"))
    for guard in (Guard(), Guard([ip_network("127.0.0.2/32")])):
        for host in ("localhost", "127.0.0.1"):
            assert "is not a global address" in problem(send, server, guard, host)
    assert server.heads == []


@pytest.mark.parametrize("host", ["localhost.", "127.1", "2130706433", "0x7f.1", "0177.0.0.1"])
def test_another_spelling_of_an_address_inside(host: str, start: Start) -> None:
    """It cannot be looked up, is refused as not canonical, or leads to the same address."""
    server = start(with_body(b"{}"))
    problem(fetch, server, Guard(), host)
    assert server.heads == []


@pytest.mark.parametrize(
    "status", [200, 201, 202, 204, 301, 302, 307, 308, 400, 404, 408, 410, 429, 500]
)
def test_the_status_of_an_answer(status: int, start: Start, send: Send) -> None:
    """A redirect is an answer too, and is not followed; a document has the status 200."""
    elsewhere = start(with_body(b"{}"))
    location = b"Location: https://localhost:%d/\r\n" % elsewhere.port
    body = b"" if status == 204 else b"why"
    length = b"" if status == 204 else b"Content-Length: 3\r\n"
    server = start(sending(b"HTTP/1.1 %d X\r\n" % status + location + length + b"\r\n" + body))
    if send is not fetch:
        assert answered(send, server) == PostAnswer(status, body)
    elif status == 200:
        assert answered(send, server) == Document(body, "")
    else:
        assert f"responded with status {status}" in problem(send, server)
    assert len(server.heads) == 1
    assert elsewhere.heads == []


@pytest.mark.parametrize("head", [b"", b"Content-Length: 1000000000000\r\n"])
def test_an_endless_answer(head: bytes, start: Start, send: Send) -> None:
    """It is read as far as the limit, whether the length is known or not."""

    def respond(connection: ssl.SSLSocket) -> None:
        connection.sendall(OK + head + b"\r\n")
        while True:
            connection.sendall(b"x" * 100_000)

    if send is post:
        assert answered(send, start(respond)) == PostAnswer(200, b"x" * KEPT_BYTES)
    else:
        most = DOCUMENT_BYTES if send is fetch else ANSWER_BYTES
        assert f"responded with more than {most} bytes" in problem(send, start(respond))


def test_a_document_of_the_largest_size(start: Start) -> None:
    document, answer = b"x" * DOCUMENT_BYTES, b"x" * ANSWER_BYTES
    assert answered(fetch, start(with_body(document))) == Document(document, "")
    assert answered(post_form, start(with_body(answer))) == PostAnswer(200, answer)


def test_a_compressed_document_is_not_decompressed(start: Start) -> None:
    bomb = gzip.compress(bytes(10_000_000))
    server = start(with_body(bomb, OK + b"Content-Encoding: gzip\r\n"))
    assert "responded with a compressed body" in problem(fetch, server)


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 O", OK, OK + b"Content-Length: 100\r\n\r\n"])
def test_a_server_that_sends_single_bytes_or_nothing(
    begun: bytes, start: Start, send: Send
) -> None:
    """Nothing but a whole answer counts."""

    def respond(connection: ssl.SSLSocket) -> None:
        connection.sendall(begun)
        if not begun:
            # until the client ends the connection
            while connection.recv(1 << 16):
                pass
        while begun and not server.stopped.wait(0.05):
            connection.sendall(b"x")

    server = start(respond)
    late = problem(send, server, seconds=0.5)
    assert "did not respond completely within 0.5 seconds" in late


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        b"",
        OK + b"Content-Length: 10\r\n\r\nshort",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"X: " + b"x" * 100_000 + b"\r\n\r\n",
        OK + b"X: x\r\n" * 10_000 + b"\r\n",
    ],
    ids=["no HTTP", "nothing", "a short body", "a wrong length", "a long header", "many headers"],
)
def test_a_broken_response(answer: bytes, start: Start, send: Send) -> None:
    """What the server has sent is not repeated."""
    assert problem(send, start(sending(answer))).endswith("' sent a malformed response")
