"""Connections that close because their clients are idle, read nothing, or read only slowly."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, suppress
from contextvars import ContextVar

import pytest
import uvloop
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override
from uvicorn.server import ServerState

from comptoir.config import Settings
from comptoir.errors.refusal import Refusal
from comptoir.http.cycle import Cycle, GatheringTransport
from comptoir.http.protocol import MAX_PIPELINED, Protocol, ServerConfig
from support.companies import Company
from support.sockets import head
from support.waiting import PATIENCE_SECONDS

RESPONSE = b"x" * (400 << 10)
STALL_SECONDS = 2.0
BUFFER = 16 << 10
PIECE = 16 << 10
BODY_BYTES = 16 << 20
READ_BYTES = 256 << 10
"""The most bytes that an event loop reads from a socket at once."""


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


def test_only_a_client_that_reads_nothing_is_cut_off_after_the_close(
    runner: asyncio.Runner,
) -> None:
    async def read_nothing() -> None:
        lost = asyncio.Event()
        server, client = await connected(lost)
        async with server:
            with closing(client):
                await asyncio.wait_for(lost.wait(), PATIENCE_SECONDS)

    async def read_slowly() -> int:
        lost = asyncio.Event()
        server, client = await connected(lost)
        async with server:
            with closing(client):
                return await asyncio.wait_for(received(client, lost), PATIENCE_SECONDS)

    async def run() -> None:
        _, size = await asyncio.gather(read_nothing(), read_slowly())
        assert size == len(RESPONSE)
        gc.collect()
        # a timer would refer to it
        assert not [each for each in gc.get_objects() if isinstance(each, GatheringTransport)]

    runner.run(run())


@asynccontextmanager
async def serving(
    app: ASGIApp, keep_alive: int = 75, **given: str
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server of this application."""
    config = ServerConfig(app, Settings(**given))  # type: ignore[arg-type]
    config.timeout_keep_alive = keep_alive
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Protocol(config, ServerState(), {}), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        with closing(writer):
            yield reader, writer


def test_an_idle_connection_is_closed_after_its_last_request(runner: asyncio.Runner) -> None:
    """The requests after the first one do not start a timer of their own."""

    async def ask_often() -> None:
        async with serving(PlainTextResponse("short"), keep_alive=1) as (reader, writer):
            for _ in range(200):
                writer.write(head("GET", "/", {}))
                await reader.readuntil(b"short")
            assert await asyncio.wait_for(reader.read(), PATIENCE_SECONDS) == b""

    async def send_the_body_late() -> None:
        async with serving(PlainTextResponse("early"), keep_alive=1) as (reader, writer):
            writer.write(head("POST", "/", {"Content-Length": "2"}) + b"{")
            await reader.readuntil(b"early")
            writer.write(b"}")
            assert await asyncio.wait_for(reader.read(), PATIENCE_SECONDS) == b""

    async def run() -> None:
        await asyncio.gather(ask_often(), send_the_body_late())

    runner.run(run())


def test_a_malformed_request_is_refused_in_the_form_of_the_profile(runner: asyncio.Runner) -> None:
    async def run() -> tuple[bytes, bytes]:
        app = PlainTextResponse("unused")
        answered = []
        for profile in ("standard", "business-central"):
            async with serving(app, profile=profile) as (reader, writer):
                writer.write(b"GET / HTTP/1.1\r\n\r\n")
                answered.append(await asyncio.wait_for(reader.read(), PATIENCE_SECONDS))
        return answered[0], answered[1]

    plain, named = runner.run(run())
    assert b'"target":"Host"' in plain
    assert b"CorrelationId" not in plain
    assert b"comptoir-profile" not in plain
    assert b'"target"' not in named
    assert b"  CorrelationId:  " in named
    assert b"comptoir-profile: business-central/28" in named


@pytest.mark.parametrize(
    "response",
    [
        PlainTextResponse("", headers={"x-split": "a\r\nx-other: b"}),
        PlainTextResponse("", headers={"x-nul": "a\0"}),
        PlainTextResponse("short", headers={"content-length": "6"}),
        PlainTextResponse("long", headers={"content-length": "3"}),
    ],
    ids=["two lines", "a control character", "too short a body", "too long a body"],
)
def test_a_response_that_would_break_the_framing_is_not_sent(
    runner: asyncio.Runner, response: PlainTextResponse
) -> None:
    async def run() -> None:
        async with serving(response) as (reader, writer):
            writer.write(head("GET", "/", {}))
            assert await asyncio.wait_for(reader.read(), PATIENCE_SECONDS) == b""

    runner.run(run())


def test_nothing_is_read_while_a_request_waits(runner: asyncio.Runner) -> None:
    """Otherwise each response lets more of the body of a waiting request into memory."""
    pieces: list[int] = []

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        while scope["method"] == "POST" and sum(pieces) < BODY_BYTES:
            pieces.append(len((await receive())["body"]))
        await PlainTextResponse("ok")(scope, receive, send)

    async def run() -> None:
        earlier = MAX_PIPELINED // 2
        async with serving(respond) as (reader, writer):
            writer.write(head("GET", "/", {}) * earlier)
            writer.write(head("POST", "/", {"Content-Length": f"{BODY_BYTES}"}))
            writer.write(bytes(BODY_BYTES))
            for _ in range(earlier + 1):
                await reader.readuntil(b"ok")

    runner.run(run())
    assert sum(pieces) == BODY_BYTES
    # one read before the pause, and one at its end
    assert pieces[0] <= 2 * READ_BYTES


def alive(kind: type) -> int:
    """The objects of a type that exist."""
    return sum(type(each) is kind for each in gc.get_objects())


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_an_exchange_is_freed_at_its_end(runner: asyncio.Runner) -> None:
    receiving: ContextVar[Receive] = ContextVar("receiving")

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        receiving.set(receive)
        await PlainTextResponse("ok")(scope, receive, send)

    async def run() -> None:
        before = alive(Cycle)
        async with serving(respond) as (reader, writer):
            for _ in range(10):
                writer.write(head("GET", "/", {}))
                await reader.readuntil(b"ok")
            # the last one of the connection, and that of the last step of the loop
            assert alive(Cycle) <= before + 2

    runner.run(run())


@pytest.mark.usefixtures("no_collection")
def test_a_refusal_is_freed_with_its_response(company: Company) -> None:
    before = alive(Refusal)
    for path in ("unknown", "contactsExt?$filter=", "contactsExt?$orderby=unknown"):
        assert company.get(path).status_code in (400, 404)
    assert alive(Refusal) == before
