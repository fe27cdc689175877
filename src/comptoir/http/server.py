"""The HTTP server: uvicorn, with what it answers by itself in the interface's form."""

import asyncio
import errno
import math
import socket
from contextlib import suppress

import httptools
from starlette.types import ASGIApp
from typing_extensions import override
from uvicorn import Config, Server
from uvicorn._types import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGISendCallable,
    ASGISendEvent,
)
from uvicorn._types import Scope as ASGIScope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.supervisors import Multiprocess

from comptoir.config import Settings
from comptoir.errors import OperatorError, Refusal
from comptoir.http.head import check_head, origin_form
from comptoir.http.refusing import (
    body_overhead_too_large,
    broken_off,
    head_too_large,
    malformed,
    refusing,
    too_many_pipelined,
    too_slow,
)
from comptoir.http.transport import GatheringTransport

_BACKLOG = 2_048
_FRAMING = (b"content-length", b"transfer-encoding")
"""The headers that say where a body ends."""
_PIECE = 16 << 10
"""Bytes that are parsed at a time: a limit may be exceeded by as many before it is noticed."""
_PROBE_SECONDS = 1.0
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HEADER_MARKS = len(": \r\n")
MOST_PIPELINED = 1_000
"""Requests that may wait on a connection for the answer to the one before them."""
_CHUNK_MARKS = 20
"""Bytes of each chunk that a client needs for its size and line ends."""


class Protocol(HttpToolsProtocol):
    """HTTP/1.1 on one connection; words errors as the service.

    Bounds the head of a request, how long a whole request may take to arrive, and how long the
    client may take nothing of an answer.
    """

    head_limit = Settings().header_bytes
    request_seconds = Settings().request_seconds
    stall_seconds = Settings().stall_seconds
    in_body = False
    """Whether the head of a request has come in and its end has not."""
    arrived_bytes = 0
    """What has come in of a head, or beside the content of a body."""
    answering: RequestResponseCycle | None = None
    """The exchange that is being answered; `cycle` is the latest that was read."""
    is_deaf = False
    """Whether what arrives is dropped, since the connection ends with the answers under way."""
    probe: asyncio.TimerHandle | None = None
    """What asks whether the client is still there; only after the end of what it sends."""
    watch: asyncio.TimerHandle | None = None
    """What looks whether the request has arrived; only while one has not."""

    # uvicorn narrows the argument's type in the same way
    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.gathering = GatheringTransport(transport, self.stall_seconds)
        super().connection_made(self.gathering)
        self._watch()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self.gathering.unwatch()
        if self.probe is not None:
            self.probe.cancel()
        if self.answering is not None and not self.answering.response_complete:
            self._leave(self.answering)
        # requests that were not begun refer to this protocol, which refers to them
        self.pipeline.clear()
        super().connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self.gathering.watch()

    @override
    def resume_writing(self) -> None:
        # a closing connection stays watched until everything is written
        if not self.transport.is_closing():
            self.gathering.unwatch()
        super().resume_writing()

    # uvicorn's annotation leaves out that the result may keep the connection open
    @override
    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer what has been asked before the connection ends: the client may go on reading."""
        if not self.is_deaf:
            if self._awaits_more():
                self._refuse(broken_off())
            elif self._latest() is not None:
                self._end_with(self.cycle)
            else:
                return False
        if self.probe is None:
            self._probe_later()
        return not self.transport.is_closing()

    def _probe_later(self) -> None:
        self.probe = self.loop.call_later(_PROBE_SECONDS, self._probe)

    def _probe(self) -> None:
        """Find out whether the client has disconnected, or has only ended what it sends.

        Both look alike until something is sent, which a client that has disconnected resets.
        """
        if self.transport.is_closing():
            return
        peer = self.transport.get_extra_info("socket")
        if peer.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.transport.abort()
            return
        exchange = self.answering
        # an interim answer, which every client of HTTP/1.1 passes over (RFC 9110, 15.2)
        if exchange is not None and not exchange.response_started and _speaks_1_1(exchange):
            self.transport.write(_CONTINUE)
        self._probe_later()

    @override
    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if len(data) <= _PIECE:
            self._take_in(data)
        else:
            whole = memoryview(data)
            for start in range(0, len(data), _PIECE):
                self._take_in(whole[start : start + _PIECE])
        # most requests arrive in one piece and are never watched
        if self._awaits_more():
            if self.watch is None:
                self._watch()
        elif self.watch is not None:
            self._unwatch()

    def _awaits_more(self) -> bool:
        if self.in_body or self.arrived_bytes:
            return True
        # a head that began in the same piece as the end of a request is not counted
        return self._latest() is not None and "method" not in self.scope

    def _take_in(self, data: bytes | memoryview) -> None:
        if self.is_deaf:
            return
        self.arrived_bytes += len(data)
        try:
            offset = self._feed(data)
            if offset is not None:
                self._ignore_offers(data, offset)
        except httptools.HttpParserCallbackError as fault:
            # a callback of ours that refuses ends the parsing with its refusal as the context
            cause = fault.__context__
            refusal = cause if isinstance(cause, Refusal) else malformed("its target is not a URL")
            self._refuse(refusal, self.parser.get_method().decode())
        except httptools.HttpParserError as fault:
            self._refuse(malformed(str(fault)))
        if self.arrived_bytes < 0:
            # chunks that need less than is granted grant nothing to what comes after them
            self.arrived_bytes = 0
        # the parser reports no header before its end, so what has arrived counts by itself
        elif self.arrived_bytes > self.head_limit and not self.is_deaf:
            too_large = body_overhead_too_large if self.in_body else head_too_large
            self._refuse(too_large(self.head_limit))

    def _feed(self, data: bytes | memoryview) -> int | None:
        """Parse data; returns where it goes on after an offer of another protocol."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            offset: int = offer.args[0]
            return offset
        return None

    def _ignore_offers(self, data: bytes | memoryview, offset: int | None) -> None:
        """Read as HTTP/1.1 what comes after an offer of another protocol (RFC 9110, 7.8)."""
        while offset is not None:
            data = data[offset:]
            self._read_on()
            offset = self._feed(data)

    def _read_on(self) -> None:
        """Go on at the body of the request whose head has been read, with a parser of its own."""
        scope, lines = self.scope, [b"POST / HTTP/1.1"]
        if not self.cycle.keep_alive:
            lines.append(b"Connection: close")
        lines += [name + b": " + value for name, value in scope["headers"] if name in _FRAMING]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(b"\r\n".join([*lines, b"", b""]))
        # the head that was written for the parser began a request of its own
        self.scope = scope

    @override
    def on_headers_complete(self) -> None:
        if self.in_body:
            # the head that `_read_on` writes
            self.headers = []
            return
        if len(self.pipeline) >= MOST_PIPELINED:
            raise too_many_pipelined(MOST_PIPELINED)
        if self.arrived_bytes > self.head_limit:
            fields = sum(len(name) + len(value) + _HEADER_MARKS for name, value in self.headers)
            if len(self.url) + fields > self.head_limit:
                raise head_too_large(self.head_limit)
        check_head(self.parser.get_http_version(), self.headers)
        if not self.url.startswith(b"/") or b"#" in self.url:
            self.url = origin_form(self.parser.get_method(), self.url)
        super().on_headers_complete()
        self.in_body = True
        self.arrived_bytes = 0
        # trailers are no headers of the request (RFC 9110, 6.5.1)
        self.headers = []

    def on_chunk_header(self) -> None:
        """Take note of a chunk; the parser calls this."""
        self.arrived_bytes -= _CHUNK_MARKS

    @override
    def on_body(self, body: bytes) -> None:
        self.arrived_bytes -= len(body)
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            # the parser leaves the body to the protocol that is offered
            return
        self.in_body = False
        self.arrived_bytes = 0
        exchange = self.cycle
        if not exchange.response_complete:
            exchange.more_body = False
            exchange.message_event.set()
        # the parser takes Connection from trailers, too, and after "close" reads no further
        if self.headers and not self.parser.should_keep_alive():
            self._end_with(self.cycle)

    @override
    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self.answering = cycle
        if cycle.scope["http_version"] == "1.0":
            app = _without_chunks(app, cycle, self.gathering)
        super()._start_asgi_task(cycle, app)

    def _watch(self) -> None:
        self.watch = self.loop.call_later(self.request_seconds, self._look)

    def _unwatch(self) -> None:
        if self.watch is not None:
            self.watch.cancel()
            self.watch = None

    def _look(self) -> None:
        self.watch = None
        if self.is_deaf or self.transport.is_closing():
            return
        latest = self._latest()
        # while a head comes in, the latest request is the one before
        answering = latest is not None and (not self.in_body or latest.response_started)
        if self.flow.read_paused or self.pipeline:
            # it is the service that does not read yet
            self._watch()
        elif latest is not None and answering and not latest.response_complete:
            self._watch()
        elif answering or not self._awaits_more():
            self.transport.close()
        else:
            self._refuse(too_slow(self.request_seconds))

    def _latest(self) -> RequestResponseCycle | None:
        # there is none before the first head, which uvicorn's annotation leaves out
        return self.cycle

    def _refuse(self, refusal: Refusal, method: str = "GET") -> None:
        """Answer what is being read by an error, in its turn, and end the connection after it."""
        self.is_deaf = True
        before = self.answering
        if self.in_body:
            method = self.scope["method"]
            if self.cycle is not before:
                # it waits for its turn, which the refusal gets
                self.pipeline.popleft()
            elif before.response_started:
                self._end_with(before)
                return
            else:
                self._leave(before)
                before = None
        self.cycle = self._last_cycle(method)
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, refusing(refusal))
        else:
            self.pipeline.appendleft((self.cycle, refusing(refusal)))

    def _end_with(self, cycle: RequestResponseCycle) -> None:
        """End the connection after the answer of the latest exchange."""
        self.is_deaf = True
        cycle.keep_alive = False
        if cycle.response_complete:
            self.transport.close()

    @staticmethod
    def _leave(cycle: RequestResponseCycle) -> None:
        cycle.disconnected = True
        cycle.message_event.set()

    def _last_cycle(self, method: str) -> RequestResponseCycle:
        self.on_message_begin()
        self.scope["method"] = method
        return RequestResponseCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=False,
            on_response=self.on_response_complete,
        )


def _speaks_1_1(exchange: RequestResponseCycle) -> bool:
    return exchange.scope["http_version"] == "1.1"


def _without_chunks(
    app: ASGI3Application, cycle: RequestResponseCycle, transport: GatheringTransport
) -> ASGI3Application:
    """Wrap an application for HTTP/1.0, which has no chunked coding (RFC 9112, 6.1).

    The end of the connection ends a body of unknown length. A response that breaks off resets the
    connection, so that the client does not take it for complete.
    """

    async def wrapped(
        scope: ASGIScope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        is_unchunked = False

        async def send_unchunked(message: ASGISendEvent) -> None:
            nonlocal is_unchunked
            if message["type"] == "http.response.start":
                names = [name for name, _ in message["headers"]]
                if b"content-length" not in names:
                    is_unchunked = True
                    cycle.chunked_encoding = False
            elif is_unchunked and message["type"] == "http.response.body":
                # uvicorn counts a body against its declared length: declare each piece
                cycle.expected_content_length = len(message["body"])
            await send(message)

        try:
            await app(scope, receive, send_unchunked)
        finally:
            if is_unchunked and not cycle.response_complete:
                transport.reset()

    return wrapped


def bind(host: str, port: int) -> socket.socket:
    """Listen on an address; raises `OperatorError` when that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as fault:
        listener.close()
        if fault.errno == errno.EADDRINUSE:
            raise OperatorError(
                f"port {port} of {host} is in use. Stop what listens there, or choose another "
                "port with --port."
            ) from None
        raise OperatorError(f"cannot listen on {host}:{port}: {fault.strerror}.") from None
    return listener


def bound_requests(settings: Settings) -> None:
    """Set what every connection of this process keeps to."""
    Protocol.head_limit = settings.header_bytes
    Protocol.request_seconds = settings.request_seconds
    Protocol.stall_seconds = settings.stall_seconds


def run(app: ASGIApp | str, settings: Settings, listener: socket.socket) -> None:
    """Serve until a signal asks to stop; then answer what was accepted, and return.

    `app` is the application itself, or with several workers the name of its factory.
    """
    config = Config(
        app,
        factory=isinstance(app, str),
        http=Protocol,
        ws="none",
        loop="auto",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies or None,
        workers=settings.workers,
        timeout_graceful_shutdown=math.ceil(settings.stop_seconds),
        timeout_keep_alive=75,
    )
    bound_requests(settings)
    if settings.workers > 1:
        Multiprocess(config, [listener]).run()
    else:
        # uvicorn raises the signal again that it was stopped by, once everything is answered
        with suppress(KeyboardInterrupt):
            Server(config).run([listener])
