"""Documents of servers that are slow, huge, broken or untrusted, and of a good one."""

import asyncio
import gzip
import ssl
from ipaddress import ip_network

import pytest

from comptoir.outgoing import Document, OutgoingError
from comptoir.outgoing.session import Guard, Outgoing
from support.lying_server import OK, LyingServer, Start, sending, with_body

LOOPBACK = Guard([ip_network("127.0.0.0/8")])
MOST = 1_000


def fetched(
    server: LyingServer,
    guard: Guard = LOOPBACK,
    host: str = "localhost",
    seconds: float = 30.0,
) -> Document:
    return asyncio.run(_fetched(Outgoing(guard, seconds, MOST), server, host))


async def _fetched(outgoing: Outgoing, server: LyingServer, host: str) -> Document:
    try:
        return await outgoing.fetch(f"https://{host}:{server.port}/document")
    finally:
        await server.ended()


def problem(
    server: LyingServer,
    guard: Guard = LOOPBACK,
    host: str = "localhost",
    seconds: float = 30.0,
) -> str:
    with pytest.raises(OutgoingError) as caught:
        fetched(server, guard, host, seconds)
    return str(caught.value)


def test_a_document(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is fetched directly, whatever the environment says of proxies."""
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server = start(with_body(b"{}", OK + b"Cache-Control: max-age=300\r\nSet-Cookie: a=b\r\n"))
    for host in ("localhost", "127.0.0.1"):
        assert fetched(server, host=host) == Document(b"{}", "max-age=300")

    for head in server.heads:
        lowered = head.lower()
        assert head.startswith(b"GET /document HTTP/1.1\r\n")
        assert b"accept-encoding: identity\r\n" in lowered
        assert b"cookie" not in lowered
        assert b"authorization" not in lowered


def test_an_address_inside_gets_no_connection(start: Start) -> None:
    server = start(with_body(b"{}"))
    for host in ("localhost", "127.0.0.1"):
        assert "is not a global address" in problem(server, Guard(), host)
    assert server.heads == []


@pytest.mark.parametrize("host", ["localhost.", "127.1", "2130706433", "0x7f.1", "0177.0.0.1"])
def test_another_spelling_of_an_address_inside(host: str, start: Start) -> None:
    """It cannot be looked up, is refused as not canonical, or leads to the same address."""
    server = start(with_body(b"{}"))
    problem(server, Guard(), host)
    assert server.heads == []


def test_an_allowed_network_allows_no_other(start: Start) -> None:
    server = start(with_body(b"{}"))
    problem(server, Guard([ip_network("127.0.0.2/32")]), "127.0.0.1")
    assert server.heads == []


def test_a_redirect_is_not_followed(start: Start) -> None:
    elsewhere = start(with_body(b"{}"))
    address = f"https://localhost:{elsewhere.port}/".encode()
    server = start(with_body(b"", b"HTTP/1.1 302 Found\r\nLocation: " + address + b"\r\n"))
    assert "responded with status 302" in problem(server)
    assert len(server.heads) == 1
    assert elsewhere.heads == []


@pytest.mark.parametrize("status", [b"201 Created", b"404 Not Found", b"500 Wrong"])
def test_another_status(status: bytes, start: Start) -> None:
    server = start(with_body(b"{}", b"HTTP/1.1 " + status + b"\r\n"))
    assert f"responded with status {status[:3].decode()}" in problem(server)


@pytest.mark.parametrize("head", [b"", b"Content-Length: 1000000000000\r\n"])
def test_a_huge_document(head: bytes, start: Start) -> None:
    """It is read as far as the limit, whether the length is known or not."""

    def respond(connection: ssl.SSLSocket) -> None:
        connection.sendall(OK + head + b"\r\n")
        while True:
            connection.sendall(b"x" * 100_000)

    assert f"responded with more than {MOST} bytes" in problem(start(respond))


def test_a_document_of_the_largest_size(start: Start) -> None:
    assert len(fetched(start(with_body(b"x" * MOST))).content) == MOST


def test_a_compressed_document_is_not_decompressed(start: Start) -> None:
    bomb = gzip.compress(bytes(10_000_000))
    server = start(with_body(bomb, OK + b"Content-Encoding: gzip\r\n"))
    assert "responded with a compressed body" in problem(server)


@pytest.mark.parametrize("begun", [b"HTTP/1.1 200 O", OK, OK + b"Content-Length: 100\r\n\r\n"])
def test_a_server_that_sends_single_bytes(begun: bytes, start: Start) -> None:
    def respond(connection: ssl.SSLSocket) -> None:
        connection.sendall(begun)
        while not server.stopped.wait(0.05):
            connection.sendall(b"x")

    server = start(respond)
    assert "did not respond completely within 0.5 seconds" in problem(server, seconds=0.5)


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
def test_a_broken_response(answer: bytes, start: Start) -> None:
    """What the server has sent is not repeated."""
    found = problem(start(sending(answer)))
    assert found.endswith("/document' sent a malformed response")


def test_an_untrusted_certificate(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    server = start(with_body(b"{}"))
    monkeypatch.delenv("SSL_CERT_FILE")
    assert "certificate verify failed" in problem(server)
    assert server.heads == []


def test_a_certificate_of_another_name(start: Start) -> None:
    server = start(with_body(b"{}"), "127.0.0.2")
    assert "mismatch" in problem(server, host="127.0.0.2")
    assert server.heads == []


def test_a_closed_port(start: Start) -> None:
    server = start(with_body(b"{}"))
    server.stop()
    assert "cannot be reached" in problem(server, host="127.0.0.1")
