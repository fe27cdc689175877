"""The HTTP server: uvicorn, with what it answers by itself in the interface's form."""

import asyncio
import errno
import math
import socket
from contextlib import suppress
from http import HTTPStatus

from starlette.types import ASGIApp
from typing_extensions import override
from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.supervisors import Multiprocess

from comptoir.config import Settings
from comptoir.errors import (
    BAD_REQUEST,
    HEADERS_TOO_LARGE,
    REQUEST_TIMEOUT,
    OperatorError,
    Refusal,
)
from comptoir.http.exchange import next_id
from comptoir.http.guards import NOT_KEPT
from comptoir.http.transport import GatheringTransport
from comptoir.response.answer import Answer
from comptoir.response.error import error_answer

_BACKLOG = 2_048
_HEADER_MARKS = len(": \r\n")


class Protocol(HttpToolsProtocol):
    """HTTP/1.1 on one connection; words errors as the service.

    Bounds the head of a request, how long a whole request may take to arrive, and how long the
    client may take nothing of an answer.
    """

    head_limit = Settings().header_bytes
    request_seconds = Settings().request_seconds
    stall_seconds = Settings().stall_seconds
    arrived_bytes = 0
    """What has come in since the last request ended; -1 while a body comes in."""
    too_large = False
    watch: asyncio.TimerHandle | None = None
    """What looks whether the request has arrived; only while one has not."""
    stall: asyncio.TimerHandle | None = None
    """What closes the connection; only while the client takes nothing of an answer."""

    # uvicorn narrows the argument's type in the same way
    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(GatheringTransport(transport))
        self._watch()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self._take()
        super().connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self.stall = self.loop.call_later(self.stall_seconds, self.transport.abort)

    @override
    def resume_writing(self) -> None:
        self._take()
        super().resume_writing()

    def _take(self) -> None:
        if self.stall is not None:
            self.stall.cancel()
            self.stall = None

    @override
    def data_received(self, data: bytes) -> None:
        if self.arrived_bytes >= 0:
            self.arrived_bytes += len(data)
        super().data_received(data)
        # a head that does not end is never reported, so what has arrived counts by itself
        if self.arrived_bytes > self.head_limit and not self.transport.is_closing():
            self._refuse(self._head_too_large())
        # most requests arrive in one piece and are never watched
        if not self.arrived_bytes:
            self._unwatch()
        elif self.watch is None:
            self._watch()

    @override
    def on_headers_complete(self) -> None:
        if self.arrived_bytes > self.head_limit:
            fields = sum(len(name) + len(value) + _HEADER_MARKS for name, value in self.headers)
            if len(self.url) + fields > self.head_limit:
                # the parser stops, and says so by send_400_response
                self.too_large = True
                raise self._head_too_large()
        self.arrived_bytes = -1
        super().on_headers_complete()

    @override
    def on_message_complete(self) -> None:
        self.arrived_bytes = 0
        super().on_message_complete()

    @override
    def send_400_response(self, msg: str) -> None:
        if self.transport.is_closing():
            return
        if self.too_large:
            self._refuse(self._head_too_large())
        else:
            self._refuse(Refusal(BAD_REQUEST, f"{msg} Send HTTP/1.1 (RFC 9112)."))

    def _watch(self) -> None:
        self.watch = self.loop.call_later(self.request_seconds, self._look)

    def _unwatch(self) -> None:
        if self.watch is not None:
            self.watch.cancel()
            self.watch = None

    def _look(self) -> None:
        self.watch = None
        if self.transport.is_closing():
            return
        latest = self._latest()
        # while a head comes in, the latest request is the one before
        in_head = self.arrived_bytes >= 0
        answering = latest is not None and (in_head or latest.response_started)
        if self.flow.read_paused or self.pipeline:
            # it is the service that does not read yet
            self._watch()
        elif latest is not None and answering and not latest.response_complete:
            self._watch()
        elif answering or not self.arrived_bytes:
            self.transport.close()
        else:
            self._refuse(self._too_slow())

    def _latest(self) -> RequestResponseCycle | None:
        # there is none before the first head, which uvicorn's annotation leaves out
        return self.cycle

    def _too_slow(self) -> Refusal:
        return Refusal(
            REQUEST_TIMEOUT,
            f"The request did not arrive within {self.request_seconds:g} seconds. Send it whole "
            "and without pauses, or less at a time.",
        )

    def _head_too_large(self) -> Refusal:
        return Refusal(
            HEADERS_TOO_LARGE,
            f"The head of the request is longer than {self.head_limit} bytes. Send fewer or "
            "shorter headers.",
        )

    def _refuse(self, refusal: Refusal) -> None:
        self.transport.write(_as_bytes(error_answer(refusal)))
        self.transport.close()


def _as_bytes(answer: Answer) -> bytes:
    body = answer.body if isinstance(answer.body, bytes) else b""
    headers = [
        *answer.headers,
        *NOT_KEPT,
        (b"x-request-id", next_id().encode()),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    lines = [b"HTTP/1.1 %d %s" % (answer.status, _phrase(answer.status))]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", body])


def _phrase(status: int) -> bytes:
    return HTTPStatus(status).phrase.encode()


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
