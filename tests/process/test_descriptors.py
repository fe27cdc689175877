"""Few file descriptors: a warning at startup, and connections that are not accepted."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from process.conftest import StartServer
from support.databases import ON_SQLITE
from support.server import Server
from support.sockets import ask, head
from support.waiting import until

HEALTH = head("GET", "/healthz", {})
FEW = 100


WITHOUT_UVLOOP = "; import sys; sys.modules['uvloop'] = None"


def limited(most: int = FEW) -> str:
    """Code that limits the open files of a process, which may raise the limit up to `most`."""
    return f"import resource as r; r.setrlimit(r.RLIMIT_NOFILE, ({FEW}, {most}))"


def lines_about(server: Server, text: str) -> list[str]:
    return [line for line in server.log.read_text().splitlines() if text in line]


@contextmanager
def connections(server: Server, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(server.connect()) for _ in range(count)]


@ON_SQLITE
def test_a_limit_that_is_too_low_causes_one_warning(start_server: StartServer) -> None:
    server = start_server(2, first=limited())

    (line,) = lines_about(server, "WARNING")
    assert f"may open {FEW} files" in line
    assert "LimitNOFILE=" in line


@ON_SQLITE
def test_the_limit_is_raised_if_that_is_allowed(start_server: StartServer) -> None:
    server = start_server(first=limited(20 * FEW))

    assert lines_about(server, "WARNING") == []
    with connections(server, 2 * FEW) as opened:
        assert [ask(each, HEALTH).content for each in opened] == [b"ok\n"] * len(opened)


@ON_SQLITE
@pytest.mark.parametrize(
    "first", [limited(), limited() + WITHOUT_UVLOOP], ids=["uvloop", "asyncio"]
)
def test_connections_are_accepted_again_once_descriptors_are_free(
    first: str, start_server: StartServer
) -> None:
    server = start_server(first=first)
    assert len(lines_about(server, f"may open {FEW} files")) == 1
    with connections(server, 2 * FEW) as opened:
        assert ask(opened[0], HEALTH).content == b"ok\n"
        assert not answers(server)

    until(lambda: answers(server) or None, "an answer")


def answers(server: Server) -> bool:
    """Whether a request on a new connection succeeds; one may be accepted and closed."""
    with server.connect() as connection:
        connection.settimeout(1)
        try:
            connection.sendall(HEALTH)
            return connection.recv(12) == b"HTTP/1.1 200"
        except (ConnectionResetError, BrokenPipeError, TimeoutError):
            return False
