"""Streamed responses, responses without a body, and slow clients, on a socket."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import IncompleteRead, parse_headers

import pytest

from comptoir.http.compression import LEAST_BYTES, MOST_BYTES
from process.conftest import StartServer, with_agents
from process.test_computing_long import LONG_TEXTS, company_with_long_texts
from support.codings import decoded, decoder
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.server import Server, ShareServer
from support.sockets import ask, head, in_full, read_answer, send
from support.together import together

BROKEN_OFF = (ConnectionResetError, ssl.SSLEOFError)

LONG = 256
"""The number of the longest texts that have 16 MiB together."""

pytestmark = ON_SQLITE  # what happens on a socket does not depend on the database


@pytest.fixture(scope="module")
def company(either: Server) -> Company:
    return with_agents(either)


def request(company: Company, method: str, headers: dict[str, str]) -> bytes:
    return in_full(company.build(method, "shippingAgentsExt", headers=headers))


def chunks(connection: socket.socket) -> Iterator[bytes]:
    """The chunks of a chunked response."""
    with connection.makefile("rb") as stream:
        while stream.readline() != b"\r\n":
            pass
        while size := int(stream.readline(), 16):
            yield stream.read(size)
            stream.readline()
        stream.readline()


@together("coding", ["gzip", "zstd"])
def test_each_piece_of_a_page_can_be_decompressed_on_arrival(
    coding: str, either: Server, company: Company
) -> None:
    """The compressor is flushed after each slice of the body."""
    expected = company.get("shippingAgentsExt").content
    reader, plain, pieces = decoder(coding), b"", 0
    with either.connect() as connection:
        send(connection, request(company, "GET", {"Accept-Encoding": coding}))
        for piece in chunks(connection):
            pieces += 1
            read = reader.decompress(piece)
            assert LEAST_BYTES <= len(read) <= MOST_BYTES or reader.eof
            plain += read

    assert pieces > 1
    assert plain == expected
    assert reader.eof


@together("coding", ["identity", "gzip", "zstd"])
def test_a_head_response_has_no_body_and_keeps_the_connection_usable(
    coding: str, either: Server, company: Company
) -> None:
    headers = {"Accept-Encoding": coding}
    with either.connect() as connection:
        send(connection, request(company, "HEAD", headers) * 2)
        send(connection, head("GET", "/healthz", {"Connection": "close"}))
        with connection.makefile("rb") as stream:
            heads = stream.read().split(b"\r\n\r\n")

    assert [each.split(b"\r\n")[0] for each in heads[:3]] == [b"HTTP/1.1 200 OK"] * 3
    assert heads[3:] == [b"ok\n"]
    for each in heads[:2]:
        assert b"content-length" not in each
        assert (b"content-encoding: " + coding.encode() in each) == (coding != "identity")


@together("coding", ["identity", "gzip", "zstd"])
@together("method", ["GET", "HEAD"])
def test_http_1_0_has_no_chunks(method: str, coding: str, either: Server, company: Company) -> None:
    """The end of the connection ends a body of unknown length (RFC 9112, 6.1 and 6.3)."""
    expected = company.get("shippingAgentsExt").content
    asked = request(company, method, {"Accept-Encoding": coding})
    with either.connect() as connection:
        send(connection, asked.replace(b"HTTP/1.1", b"HTTP/1.0", 1))
        with connection.makefile("rb") as stream:
            status, _, _ = stream.readline().partition(b"\r\n")
            headers = parse_headers(stream)
            body = stream.read()

    assert status == b"HTTP/1.1 200 OK"
    assert headers["transfer-encoding"] is None
    assert headers["connection"] == "close"
    assert decoded(body) == (b"" if method == "HEAD" else expected)


def test_http_1_0_gets_no_interim_response(either: Server, company: Company) -> None:
    """`Expect` is ignored in a request of HTTP/1.0 (RFC 9110, 10.1.1)."""
    headers = {"Content-Type": "application/json", "Content-Length": "16", "Expect": "100-continue"}
    created = request(company, "POST", headers) + b'{"code": "ten" }'
    with either.connect() as connection:
        send(connection, created.replace(b"HTTP/1.1", b"HTTP/1.0", 1))
        assert connection.recv(20) == b"HTTP/1.1 201 Created"


@pytest.fixture(scope="module", params=[False, True], ids=["http", "https"])
def impatient(request: pytest.FixtureRequest, share_server: ShareServer) -> Server:
    """A service that waits shortly for a request, and longer for a client to read."""
    return share_server(https=request.param, request_seconds=0.4, stall_seconds=2)


@pytest.fixture(scope="module")
def large(impatient: Server) -> bytes:
    return large_request(company_with_long_texts(impatient, LONG))


def large_request(company: Company) -> bytes:
    """A request whose response is larger than all buffers together."""
    return in_full(company.build("GET", LONG_TEXTS))


def test_an_incomplete_request_is_408(impatient: Server) -> None:
    """Both in its head and in its body; other requests to the server succeed."""
    company = impatient.new_company()
    body = request(company, "POST", {"Content-Type": "application/json", "Content-Length": "20"})
    with ExitStack() as stack:
        connections = []
        for begun in (b"G", b"GET /healthz HTTP/1.1\r\nHost: test\r\n", body, body + b'{"code": '):
            connections.append(stack.enter_context(impatient.connect()))
            send(connections[-1], begun)
        for connection in connections:
            answer = read_answer(connection)
            refusal(answer, "Request_Timeout")
            assert answer.headers["connection"] == "close"
            assert connection.recv(1) == b""

    assert company.listed("shippingAgentsExt") == []


def test_a_client_that_sends_single_bytes_gets_no_extra_time(impatient: Server) -> None:
    with impatient.connect() as connection:
        connection.settimeout(0.1)
        received = b""
        while not received:
            send(connection, b"G")
            try:
                received = connection.recv(12)
            except TimeoutError:
                continue

    assert received in (b"HTTP/1.1 408", b"HTTP/1.1 400")


def test_only_the_arrival_of_a_request_is_timed(impatient: Server, large: bytes) -> None:
    """The client may read slowly, and pause between two requests."""
    with impatient.connect() as connection:
        send(connection, large)
        wait_for_deadline(impatient)
        assert read_answer(connection).content.endswith(b"]}")
        wait_for_deadline(impatient)
        assert ask(connection, head("GET", "/healthz", {})).content == b"ok\n"


def test_only_a_client_that_reads_nothing_is_disconnected(impatient: Server, large: bytes) -> None:
    """The kernel accepts more data from the service only when a third of its queue is free."""
    with impatient.connect() as idle, impatient.connect(receive_buffer=64 << 10) as connection:
        since = impatient.log.stat().st_size
        send(idle, large)
        send(connection, large)
        received = bytearray()
        while '"status":499' not in impatient.log.read_text()[since:]:
            # a record of TLS has up to 16 KiB
            due = len(received) + 300_000
            while len(received) < due:
                received += connection.recv(100_000)
            wait_for_deadline(impatient)
        with pytest.raises((IncompleteRead, *BROKEN_OFF)):
            read_answer(idle)
        while not received.endswith(b"]}\r\n0\r\n\r\n"):
            piece = connection.recv(1 << 20)
            assert piece, "disconnected"
            received += piece


def wait_for_deadline(server: Server) -> None:
    """Wait for `request_seconds`, after which the service closes a silent connection."""
    with server.connect() as silent:
        assert silent.recv(1) == b""


@pytest.mark.parametrize("https", [False, True])
def test_a_stop_breaks_off_what_clients_neither_send_nor_read(
    *, https: bool, start_server: StartServer
) -> None:
    """The setting `stop_seconds` limits the wait for them.

    For a client of HTTP/1.0, an orderly end of the connection would also end the body.
    """
    server = start_server(stop_seconds=1.0, https=https)
    company = company_with_long_texts(server, LONG)
    asked = large_request(company)
    created = request(company, "POST", {"Content-Length": "9", "Expect": "100-continue"})
    with (
        server.connect() as unsent,
        server.connect(receive_buffer=4_096) as unread,
        server.connect(receive_buffer=4_096) as older,
    ):
        send(unsent, created.replace(b"\r\n", b"\r\nContent-Type: application/json\r\n", 1))
        assert unsent.recv(12) == b"HTTP/1.1 100"
        send(unread, asked)
        send(older, asked.replace(b"HTTP/1.1", b"HTTP/1.0", 1))
        for each in (unread, older):
            assert each.recv(15) == b"HTTP/1.1 200 OK"
        server.ask_to_stop()
        server.wait()
        with pytest.raises(BROKEN_OFF), older.makefile("rb") as stream:
            stream.read()

    assert server.log.read_text().count(f'{LONG_TEXTS}","status":503') == 2
    assert "Traceback" not in server.log.read_text()
    assert len(company.changes()) == LONG
