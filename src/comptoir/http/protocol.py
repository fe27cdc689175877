"""HTTP/1.1 on one connection: uvicorn's protocol, with the limits and errors of the service."""

import asyncio
import logging
import math
import re
import socket
from collections import deque
from collections.abc import Sequence, Sized
from functools import lru_cache
from urllib.parse import unquote

import httptools
from starlette.types import ASGIApp
from typing_extensions import override
from uvicorn import Config
from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from comptoir.config import Settings
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.http.cycle import Cycle, GatheringTransport
from comptoir.http.exchange import NO_STORE, ProfileHeaders, next_id
from comptoir.http.metrics import ClientConnections
from comptoir.http.tls import renewing_context
from comptoir.response.errors import ErrorWriter

MAX_PIPELINED = 100
"""Requests that may wait on a connection for the response to an earlier one.

Each takes up to 3 KB, so all of them take about as much as the data of one read, in which they
arrive: `InOrder` reads nothing more while a request waits.
"""

_FRAMING = (b"content-length", b"transfer-encoding")
"""The headers that determine where a body ends."""
_PIECE_BYTES = 16 << 10
"""Bytes that are parsed at a time, by which a request may exceed a limit."""
_PROBE_SECONDS = 1.0
_TRANSFER_ENCODING = "Transfer-Encoding"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HEADER_SEPARATORS = len(": \r\n")
_CHUNK_OVERHEAD = 20
"""Bytes of each chunk that a client needs for its size and line ends."""

_NAME = rb"[\w.~!$&'()*+,;=-]*(?:%[0-9A-Fa-f]{2}[\w.~!$&'()*+,;=-]*)*"
_ADDRESS = rb"\[(?:[0-9A-Fa-f:.]+|v[0-9A-Fa-f]+\.[\w.~!$&'()*+,;=:-]+)\]"
_AUTHORITY = rb"(?:" + _ADDRESS + rb"|" + _NAME + rb")(?::[0-9]*)?"
_HOST = re.compile(_AUTHORITY)
_ABSOLUTE = re.compile(rb"https?://(?=[^:/?#])" + _AUTHORITY + rb"(?=[/?]|$)", re.IGNORECASE)

_log = logging.getLogger(__name__)


class ServerConfig(Config):
    """uvicorn's configuration, with the settings for `Protocol`."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        super().__init__(
            app,
            http=Protocol,
            # uvicorn would take an application that is not a coroutine function for ASGI 2
            interface="asgi3",
            ws="none",
            loop="auto",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=settings.trusted_proxies or None,
            timeout_graceful_shutdown=math.ceil(settings.stop_seconds),
            timeout_keep_alive=75,
            ssl_context_factory=(
                (lambda *_: renewing_context(settings)) if settings.tls_certificate else None
            ),
        )
        self.settings = settings
        self.streams: set[asyncio.Task[None]] = set()
        """The requests whose responses are streamed, in this process."""


class InOrder(FlowControl):
    """Does not resume reading while requests wait for the response to an earlier one.

    Otherwise each response would let more requests, or more of the body of one, into memory.
    """

    def __init__(self, transport: asyncio.Transport, waiting: Sized) -> None:
        super().__init__(transport)
        self._waiting = waiting

    @override
    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class Protocol(HttpToolsProtocol):
    """Reads requests and starts their exchanges, one at a time and in order.

    Limits the head of a request and how long a request may take to arrive, and refuses malformed
    requests in the form of every error. `responding` is the exchange that is being answered, while
    `cycle` is the latest one that was read.
    """

    transport: GatheringTransport
    cycle: Cycle

    def __init__(
        self,
        config: ServerConfig,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._settings = config.settings
        self._streams = config.streams
        self._in_body = False
        self._overhead_bytes = 0
        """Bytes received of a head, or of a body besides its content."""
        self._responding: Cycle | None = None
        self._waiting: deque[tuple[Cycle, ASGI3Application]] = deque()
        """The requests after it, the latest on the left."""
        self._ignores_input = False
        """Whether the connection ends with the responses under way."""
        self._probe: asyncio.TimerHandle | None = None
        """Checks whether the client still reads, after the end of its input."""
        self._deadline: asyncio.TimerHandle | None = None
        """Ends the wait for the rest of a request; None if none is incomplete."""
        self._idle_since: float | None = None
        """The time when the last response ended; None while a request arrives or is answered."""
        self._idle_timer: asyncio.TimerHandle | None = None
        """Closes the connection when it is idle; one timer serves many requests."""

    # uvicorn narrows the argument's type in the same way
    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        ClientConnections.count += 1
        super().connection_made(GatheringTransport(transport, self._settings.stall_seconds))
        self.flow = InOrder(self.transport, self._waiting)
        self._start_deadline()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        ClientConnections.count -= 1
        self._cancel_deadline()
        self.transport.forget()
        for timer in (self._probe, self._idle_timer):
            if timer is not None:
                timer.cancel()
        if self._responding is not None and not self._responding.response_complete:
            self._disconnect(self._responding)
        # waiting requests refer to this protocol, which refers to them
        self._waiting.clear()
        super().connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self.transport.watch()

    @override
    def resume_writing(self) -> None:
        # a closing connection stays watched until everything is written
        if not self.transport.is_closing():
            self.transport.unwatch()
        super().resume_writing()

    # uvicorn's annotation omits that the result may keep the connection open
    @override
    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer the requests so far before the connection ends: the client may still read."""
        if self.scheme == "https":
            # the event loop ends a TLS connection with the input of the client
            return False
        if not self._ignores_input:
            if self._is_incomplete():
                self._refuse(rows.INCOMPLETE())
            elif self._latest() is not None:
                self._close_after_latest()
            else:
                return False
        if self._probe is None:
            self._schedule_probe()
        return not self.transport.is_closing()

    def _schedule_probe(self) -> None:
        self._probe = self.loop.call_later(_PROBE_SECONDS, self._probe_client)

    def _probe_client(self) -> None:
        """Find out whether the client has disconnected, or has only shut down its sending side.

        Both look alike until something is sent, which a client that has disconnected resets.
        """
        if self.transport.is_closing():
            return
        if self.transport.peer.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.transport.abort()
            return
        cycle = self._responding
        # clients of HTTP/1.1 ignore an interim response (RFC 9110, 15.2)
        if (
            cycle is not None
            and not cycle.response_started
            and cycle.scope["http_version"] == "1.1"
        ):
            self.transport.write(_CONTINUE)
        self._schedule_probe()

    @override
    def data_received(self, data: bytes) -> None:
        self._idle_since = None
        if len(data) <= _PIECE_BYTES:
            self._parse(data)
        else:
            whole = memoryview(data)
            for start in range(0, len(data), _PIECE_BYTES):
                self._parse(whole[start : start + _PIECE_BYTES])
        # most requests arrive in one piece and need no deadline
        if self._is_incomplete():
            if self._deadline is None:
                self._start_deadline()
        elif self._deadline is not None:
            self._cancel_deadline()
            # a connection becomes idle at the end of a response, which this request outlasted
            if self.cycle.response_complete:
                self._become_idle()

    def _is_incomplete(self) -> bool:
        if self._in_body or self._overhead_bytes:
            return True
        # a head that began in the same piece as the end of a request is not counted
        return self._latest() is not None and "method" not in self.scope

    def _parse(self, data: bytes | memoryview) -> None:
        if self._ignores_input:
            return
        self._overhead_bytes += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserCallbackError as error:
            # the context is the refusal that a callback of this class raised
            cause = error.__context__
            if not isinstance(cause, Refusal):
                cause = rows.NOT_HTTP(reason="its target is not a URL")
            self._refuse(cause, self.parser.get_method().decode())
        except httptools.HttpParserError as error:
            self._refuse(_malformed(str(error)))
        limit = self._settings.header_bytes
        if self._overhead_bytes < 0:
            # chunks with less overhead than allowed do not allow more for later data
            self._overhead_bytes = 0
        # the parser reports a header only at its end, so the bytes are counted here
        elif self._overhead_bytes > limit and not self._ignores_input:
            row = rows.LARGE_HEAD
            if self._in_body:
                row = rows.LARGE_TRAILERS
            self._refuse(row(limit=limit))

    def _feed(self, data: bytes | memoryview) -> None:
        """Parse data as HTTP/1.1, even after a head with `Upgrade` (RFC 9110, 7.8)."""
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
            else:
                return
            self._resume_at_body()

    def _resume_at_body(self) -> None:
        """Continue at the body of the request whose head was read, with a new parser."""
        scope, lines = self.scope, [b"POST / HTTP/1.1"]
        if not self.cycle.keep_alive:
            lines.append(b"Connection: close")
        lines += [name + b": " + value for name, value in scope["headers"] if name in _FRAMING]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(b"\r\n".join([*lines, b"", b""]))
        # the parser started another scope for the head above
        self.scope = scope

    @override
    def on_headers_complete(self) -> None:
        if self._in_body:
            # the head of `_resume_at_body`
            self.headers = []
            return
        limit = self._settings.header_bytes
        if len(self._waiting) >= MAX_PIPELINED:
            raise rows.PIPELINED(limit=MAX_PIPELINED)
        if self._overhead_bytes > limit:
            fields = sum(
                len(name) + len(value) + _HEADER_SEPARATORS for name, value in self.headers
            )
            if len(self.url) + fields > limit:
                raise rows.LARGE_HEAD(limit=limit)
        version = self.parser.get_http_version()
        check_head(version, self.headers)
        method = self.parser.get_method()
        if not self.url.startswith(b"/") or self.url.find(b"#") >= 0:
            self.url = origin_form(method, self.url)
        raw_path, _, query = self.url.partition(b"?")
        path = raw_path.decode("ascii")
        scope = self.scope
        scope["method"] = method.decode("ascii")
        scope["http_version"] = version
        scope["raw_path"] = raw_path
        scope["path"] = unquote(path) if "%" in path else path
        scope["query_string"] = query
        # a client of HTTP/1.0 does not expect an interim response (RFC 9110, 10.1.1)
        expects_continue = self.expect_100_continue and version != "1.0"
        keeps_alive = version != "1.0" and self.parser.should_keep_alive()
        previous = self._latest()
        self.cycle = self._new_cycle(expects_continue=expects_continue, keeps_alive=keeps_alive)
        if previous is None or previous.response_complete:
            self._start(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self._waiting.appendleft((self.cycle, self.app))
        self._in_body = True
        self._overhead_bytes = 0
        # trailers are not headers of the request (RFC 9110, 6.5.1)
        self.headers = []

    def on_chunk_header(self) -> None:
        """Allow the overhead of a chunk; the parser calls this."""
        self._overhead_bytes -= _CHUNK_OVERHEAD

    @override
    def on_body(self, body: bytes) -> None:
        self._overhead_bytes -= len(body)
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            # the parser leaves the body to the other protocol
            return
        self._in_body = False
        self._overhead_bytes = 0
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.message_event.set()
        # the parser also uses Connection from trailers, and reads nothing after "close"
        if self.headers and not self.parser.should_keep_alive():
            self._close_after_latest()

    def _start(self, cycle: Cycle, app: ASGI3Application) -> None:
        self._responding = cycle
        cycle.start(app, self.loop, self.tasks, self._streams)

    @override
    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self._waiting:
            self._start(*self._waiting.pop())
        else:
            self._become_idle()
        if self.flow.read_paused:
            self.flow.resume_reading()

    def _become_idle(self) -> None:
        self._idle_since = self.loop.time()
        if self._idle_timer is None:
            self._start_idle_timer(self.timeout_keep_alive)

    def _start_idle_timer(self, seconds: float) -> None:
        self._idle_timer = self.loop.call_later(seconds, self._check_idle)

    def _check_idle(self) -> None:
        self._idle_timer = None
        if self._idle_since is None:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._start_idle_timer(left)
        else:
            self.transport.close()

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(self._settings.request_seconds, self._check_arrival)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _check_arrival(self) -> None:
        self._deadline = None
        if self._ignores_input or self.transport.is_closing():
            return
        latest = self._latest()
        # while a head arrives, the latest exchange is the previous one
        is_answered = latest is not None and (not self._in_body or latest.response_started)
        if self.flow.read_paused or self._waiting:
            # the service itself has stopped reading
            self._start_deadline()
        elif latest is not None and is_answered and not latest.response_complete:
            self._start_deadline()
        elif is_answered or not self._is_incomplete():
            self.transport.close()
        else:
            self._refuse(rows.SLOW_REQUEST(seconds=self._settings.request_seconds))

    def _latest(self) -> Cycle | None:
        # None before the first head, which uvicorn's annotation omits
        return self.cycle

    def _refuse(self, refusal: Refusal, method: str = "GET") -> None:
        """Answer the request that is being read with an error, in order, then close."""
        self._ignores_input = True
        previous = self._responding
        if self._in_body:
            method = self.scope["method"]
            if self.cycle is not previous:
                # the refusal takes the place of the waiting request
                self._waiting.popleft()
            elif previous.response_started:
                self._close_after_latest()
                return
            else:
                self._disconnect(previous)
                previous = None
        self.on_message_begin()
        self.scope["method"] = method
        self.cycle = self._new_cycle(expects_continue=False, keeps_alive=False)
        app = _refusing(refusal, self._settings)
        if previous is None or previous.response_complete:
            self._start(self.cycle, app)
        else:
            self._waiting.appendleft((self.cycle, app))

    def _close_after_latest(self) -> None:
        """Close the connection after the response of the latest exchange."""
        self._ignores_input = True
        self.cycle.keep_alive = False
        if self.cycle.response_complete:
            self.transport.close()

    @staticmethod
    def _disconnect(cycle: Cycle) -> None:
        cycle.disconnected = True
        cycle.message_event.set()

    def _new_cycle(self, *, expects_continue: bool, keeps_alive: bool) -> Cycle:
        # by their positions, because names would cost a dictionary
        return Cycle(
            self.scope,
            self.transport,
            self.flow,
            self.logger,
            self.access_logger,
            self.access_log,
            self.server_state.default_headers,
            asyncio.Event(),
            expects_continue,
            keeps_alive,
            self.on_response_complete,
        )


def _refusing(refusal: Refusal, settings: Settings) -> ASGI3Application:
    """An application that answers with an error, and announces the end of the connection."""

    async def refuse(_: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        request_id = next_id()
        response = ErrorWriter(settings.behaviour).response(refusal, request_id)
        # without the message, which may quote confidential parts of the request
        _log.warning("refused request %s: %d %s", request_id, response.status, refusal.error.code)
        body = response.body if isinstance(response.body, bytes) else b""
        headers = [
            *response.headers,
            *NO_STORE,
            *ProfileHeaders(settings).of(request_id),
            (b"x-request-id", request_id.encode()),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return refuse


def check_head(version: str, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Check the version, the framing and the host of a request (RFC 9112).

    Names of headers are in lower case. Raises `Refusal` (505, 501, 400).
    """
    if version not in ("1.1", "1.0"):
        raise rows.HTTP_VERSION(version=f"HTTP/{version}")
    values = dict(headers)
    if b"transfer-encoding" in values:
        for name, value in headers:
            if name == b"transfer-encoding":
                _check_transfer_coding(version, value)
    host = values.get(b"host")
    if host is None:
        # HTTP/1.0 does not require one (RFC 9112, 3.2)
        if version == "1.1":
            raise rows.HOST("Host", problem="no Host header")
    elif len(values) < len(headers) and [name for name, _ in headers].count(b"host") > 1:
        raise rows.HOST("Host", problem="several Host headers")
    elif not _is_host(host):
        raise rows.INVALID_HOST("Host", value=host.decode("latin-1"))


@lru_cache(maxsize=64)
def _is_host(value: bytes) -> bool:
    return _HOST.fullmatch(value) is not None


# the parser's reasons for which a request is of another version
_OTHER_VERSION = frozenset(
    {"Invalid HTTP version", "Pause on PRI/Upgrade", "Expected HTTP/2 Connection Preface"}
)


def _malformed(reason: str) -> Refusal:
    """400 for a request that is not HTTP/1.1, or 505; `reason` is that of the parser."""
    if reason in _OTHER_VERSION:
        return rows.HTTP_VERSION(version="The HTTP version of the request")
    return rows.NOT_HTTP(reason=reason)


def _check_transfer_coding(version: str, value: bytes) -> None:
    if version == "1.0":
        raise rows.CHUNKED_1_0(_TRANSFER_ENCODING)
    if value.lower() != b"chunked":
        coding = value.decode("latin-1")
        raise rows.TRANSFER_CODING(_TRANSFER_ENCODING, value=coding)


def origin_form(method: bytes, target: bytes) -> bytes:
    """The path and query of a request target in another form (RFC 9112, 3.2).

    Raises `Refusal` (400, 501) for a target that is not a resource of the service.
    """
    if method == b"CONNECT":
        raise rows.CONNECT()
    if target == b"*":
        return target
    if b"#" in target:
        raise rows.HASH_IN_TARGET()
    absolute = _ABSOLUTE.match(target)
    if absolute is None:
        raise rows.REQUEST_TARGET(value=target.decode("latin-1"))
    path = target[absolute.end() :]
    return path if path.startswith(b"/") else b"/" + path
