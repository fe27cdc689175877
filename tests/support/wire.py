"""HTTP/1.1 over sockets: a plain client, and by hand what no client would send."""

import socket
import ssl
from contextlib import suppress
from http.client import HTTPResponse

import httpx

_TRUSTING_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def http_client(connections: int | None = None) -> httpx.Client:
    """A client for plain HTTP, with so many connections at most; it has no use for TLS.

    Unless told otherwise, each client of httpx reads all the certificates that the machine trusts.
    """
    limits = httpx.Limits(max_connections=connections)
    return httpx.Client(timeout=30, limits=limits, verify=_TRUSTING_NOBODY)


def ask(connection: socket.socket, request: bytes) -> httpx.Response:
    """Send bytes, and read one answer."""
    send(connection, request)
    return read_answer(connection)


def send(connection: socket.socket, content: bytes) -> None:
    """Send bytes; a server that has heard enough may have closed its side meanwhile."""
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(content)


def read_answer(connection: socket.socket) -> httpx.Response:
    """Read one answer, whole."""
    answer = HTTPResponse(connection)
    answer.begin()
    content = answer.read()
    return httpx.Response(answer.status, headers=answer.getheaders(), content=content)


def head(method: str, target: str, headers: dict[str, str]) -> bytes:
    """The head of a request, with the blank line behind it."""
    lines = [f"{method} {target} HTTP/1.1", "Host: test"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()
