"""Connections that close because their clients are idle, read nothing, or read only slowly."""

import asyncio
import gc
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest
import uvloop
from starlette.responses import PlainTextResponse
from typing_extensions import override
from uvicorn.server import ServerState

from comptoir.config import Settings
from comptoir.http.protocol import GatheringTransport, Protocol, ServerConfig
from support.sockets import head

RESPONSE = b"x" * (400 << 10)
STALL_SECONDS = 0.2
LONG = 20.0
BUFFER = 16 << 10
PIECE = 64 << 10


class Responder(asyncio.Protocol):
    """Sends a response that no buffer on the way can contain, then closes the connection."""

    def __init__(self, lost: asyncio.Event) -> None:
        self._lost = lost
        self._transport: GatheringTransport | None = None

    # asyncio's annotation is wider than what a TCP server passes
    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        peer: socket.socket = transport.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        self._transport = GatheringTransport(transport, STALL_SECONDS)
        self._transport.write(RESPONSE)
        self._transport.close()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        assert self._transport is not None
        # as uvicorn does
        self._transport.unwatch()
        self._transport.close()
        self._lost.set()


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    new_loop: Callable[[], asyncio.AbstractEventLoop] = request.param
    with asyncio.Runner(loop_factory=new_loop) as runner:
        yield runner


async def connected(lost: asyncio.Event) -> tuple[asyncio.Server, socket.socket]:
    """A listening server, and a client of it with a small receive buffer."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Responder(lost), "127.0.0.1", 0)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    client.setblocking(False)
    await loop.sock_connect(client, server.sockets[0].getsockname())
    return server, client


async def received(client: socket.socket, lost: asyncio.Event) -> int:
    """The bytes that a client receives if it reads some of them every tenth of a second."""
    loop = asyncio.get_running_loop()
    size = 0
    while piece := await loop.sock_recv(client, PIECE):
        size += len(piece)
        with suppress(TimeoutError):
            await asyncio.wait_for(lost.wait(), 0.1)
    return size


def test_a_client_that_reads_nothing_is_cut_off_after_the_close(runner: asyncio.Runner) -> None:
    async def run() -> None:
        lost = asyncio.Event()
        server, client = await connected(lost)
        async with server:
            with closing(client):
                await asyncio.wait_for(lost.wait(), LONG)

    runner.run(run())


def test_a_connection_that_was_cut_off_is_no_longer_watched(runner: asyncio.Runner) -> None:
    async def run() -> None:
        lost = asyncio.Event()
        server, client = await connected(lost)
        async with server:
            with closing(client):
                await asyncio.wait_for(lost.wait(), LONG)
        gc.collect()
        # a timer would refer to it
        assert not [each for each in gc.get_objects() if isinstance(each, GatheringTransport)]

    runner.run(run())


def test_a_client_that_reads_slowly_gets_the_whole_response(runner: asyncio.Runner) -> None:
    async def run() -> int:
        lost = asyncio.Event()
        server, client = await connected(lost)
        async with server:
            with closing(client):
                return await asyncio.wait_for(received(client, lost), LONG)

    assert runner.run(run()) == len(RESPONSE)


def test_a_connection_whose_body_outlasts_its_response_is_idle_afterwards(
    runner: asyncio.Runner,
) -> None:
    """It is closed like any other connection without a request."""

    async def run() -> None:
        config = ServerConfig(PlainTextResponse("early"), Settings())
        config.timeout_keep_alive = 1
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: Protocol(config, ServerState(), {}), "127.0.0.1", 0
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            with closing(writer):
                writer.write(head("POST", "/", {"Content-Length": "2"}) + b"{")
                await reader.readuntil(b"early")
                writer.write(b"}")
                assert await asyncio.wait_for(reader.read(), LONG) == b""

    runner.run(run())
