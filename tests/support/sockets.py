"""HTTP/1.1 over sockets: a plain client, and requests that no client would send."""

import socket
import socketserver
import ssl
import struct
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPResponse, parse_headers
from io import BytesIO
from threading import Thread
from typing import Self

import httpx

from support.waiting import PATIENCE_SECONDS

_CHUNK = 1 << 16
_WITHOUT_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class InThread:
    """A server of connections, which a thread runs during a `with` block."""

    def __init__(self, served: socketserver.BaseServer) -> None:
        self._served = served
        self._thread = Thread(target=served.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._served.shutdown()
        self._served.server_close()
        self._thread.join()


def http_client(
    connections: int | None = None, trust: ssl.SSLContext | None = None
) -> httpx.Client:
    """A client with a limit on its connections, for plain HTTP unless it trusts certificates.

    By default, each client of httpx reads all certificates that the machine trusts.
    """
    limits, verify = httpx.Limits(max_connections=connections), trust or _WITHOUT_CERTIFICATES
    return httpx.Client(timeout=PATIENCE_SECONDS, limits=limits, verify=verify)


def pass_on(source: socket.socket, target: socket.socket) -> None:
    """Copy what arrives at one connection to another, until one of them ends."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def ask(connection: socket.socket, request: bytes) -> httpx.Response:
    """Send bytes, and read one response."""
    send(connection, request)
    return read_answer(connection)


def send(connection: socket.socket, content: bytes) -> None:
    """Send bytes; the server may close its side meanwhile."""
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(content)


def reset_at_end(connection: socket.socket) -> None:
    """Let the connection end by a reset, which a service notices at once.

    An end of the input alone may be that of a client that still reads, which takes a service
    seconds to find out.
    """
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def in_full(request: httpx.Request) -> bytes:
    """The bytes of a request."""
    lines = [f"{request.method} {request.url.raw_path.decode()} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + request.content


def read_answer(connection: socket.socket) -> httpx.Response:
    """Read one whole response."""
    answer = HTTPResponse(connection)
    answer.begin()
    content = answer.read()
    return httpx.Response(answer.status, headers=answer.getheaders(), content=content)


def read_answers(connection: socket.socket) -> list[httpx.Response]:
    """Read all responses until the server closes the connection."""
    received = b""
    # a server that has not read everything resets the connection after its responses
    with suppress(ConnectionResetError):
        while piece := connection.recv(_CHUNK):
            received += piece
    stream = BytesIO(received)
    answers: list[httpx.Response] = []
    while line := stream.readline():
        headers = parse_headers(stream)
        if headers.get("Transfer-Encoding") == "chunked":
            content = b"".join(_chunks(stream))
        else:
            content = stream.read(int(headers.get("Content-Length", "0")))
        status = int(line.split()[1])
        answers.append(httpx.Response(status, headers=headers.items(), content=content))
    return answers


def _chunks(stream: BytesIO) -> Iterator[bytes]:
    while size := int(stream.readline(), 16):
        yield stream.read(size)
        stream.readline()
    stream.readline()


def head(method: str, target: str, headers: dict[str, str]) -> bytes:
    """The head of a request, with the blank line after it."""
    lines = [f"{method} {target} HTTP/1.1", "Host: test"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()
