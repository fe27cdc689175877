"""The exchange of one request with the application: uvicorn's, with a response in one write."""

import asyncio
from enum import Enum

from typing_extensions import override
from uvicorn._types import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGISendCallable,
    ASGISendEvent,
    Scope,
)
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from comptoir.http.exchange import CUT
from comptoir.http.transport import GatheringTransport
from comptoir.response.response import Header

_LINE_END = b"\r\n"
_FIELD_BYTES = bytes([9, *range(32, 127), *range(128, 256)])
"""The bytes that a header may contain (RFC 9110, 5.5)."""

_BODILESS = (204, 304)


class Framing(Enum):
    """The framing that shows the end of a response's body (RFC 9112, 6.3)."""

    NO_BODY = "no body"
    LENGTH = "its declared length"
    CHUNKED = "the last chunk"
    END_OF_CONNECTION = "the end of the connection"


_OF_UNKNOWN_LENGTH = (Framing.CHUNKED, Framing.END_OF_CONNECTION)


class Cycle(RequestResponseCycle):
    """Writes the head of a response with the first piece of its body, and checks its framing.

    The head waits for the body only if the length of the body is known: the body then follows
    without delay.
    """

    transport: GatheringTransport
    _framing = Framing.NO_BODY
    _left = 0
    """The bytes of a body of declared length that are not yet written."""
    _head = b""
    """The head of a response until the first piece of its body."""

    _began_alone = False
    """Whether no other request was under way; the last one of many is alone at its end only."""
    _task: asyncio.Task[None]
    _tasks: set[asyncio.Task[None]]
    _streams: set[asyncio.Task[None]]

    def start(
        self,
        app: ASGI3Application,
        loop: asyncio.AbstractEventLoop,
        tasks: set[asyncio.Task[None]],
        streams: set[asyncio.Task[None]],
    ) -> None:
        """Run the application in a task.

        Meanwhile it is in `tasks`, those of all requests, and if it streams its response, also in
        `streams`.
        """
        if self.scope["http_version"] == "1.0":
            app = self._resetting(app)
        self._tasks = tasks
        self._streams = streams
        self._began_alone = len(tasks) == len(streams)
        self._task = loop.create_task(self.run_asgi(app))
        tasks.add(self._task)

    @override
    async def run_asgi(self, app: ASGI3Application) -> None:
        try:
            await super().run_asgi(app)
        finally:
            # a callback of the task would cost another iteration of the event loop
            self._tasks.discard(self._task)
            self._streams.discard(self._task)

    def _resetting(self, app: ASGI3Application) -> ASGI3Application:
        """Wrap an application: reset the connection if its end would end an incomplete response."""

        async def wrapped(
            scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable
        ) -> None:
            try:
                await app(scope, receive, send)
            finally:
                if self._framing is Framing.END_OF_CONNECTION and not self.response_complete:
                    self.transport.reset()

        return wrapped

    @override
    async def send(self, message: ASGISendEvent) -> None:
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.start":
            self._start(message["status"], [*self.default_headers, *message.get("headers", ())])
        elif message["type"] == "http.response.body":
            self._continue(message.get("body", b""), is_last=not message.get("more_body", False))
        elif str(message["type"]) == CUT:
            # the server would send an error in place of a missing response
            self.disconnected = True
            self.transport.cut()

    def _start(self, status: int, headers: list[Header]) -> None:
        self.response_started = True
        self.waiting_for_100_continue = False
        fields = dict(headers)
        length = fields.get(b"content-length")
        if fields.get(b"connection") == b"close":
            self.keep_alive = False
        elif not self.keep_alive:
            headers.append((b"connection", b"close"))
        if self.scope["method"] == "HEAD" or status in _BODILESS:
            self._framing = Framing.NO_BODY
        elif length is not None:
            self._framing = Framing.LENGTH
            self._left = int(length)
        elif self.scope["http_version"] == "1.0":
            # it has no chunked coding (RFC 9112, 6.1)
            self._framing = Framing.END_OF_CONNECTION
        else:
            self._framing = Framing.CHUNKED
            headers.append((b"transfer-encoding", b"chunked"))
        lines = _LINE_END.join(map(b": ".join, headers))
        if lines.translate(None, _FIELD_BYTES) != _LINE_END * (len(headers) - 1):
            raise ValueError(f"A header contains control characters: {lines!r}")
        head = b"%b%b\r\n\r\n" % (STATUS_LINE[status], lines)
        if self._framing in _OF_UNKNOWN_LENGTH:
            self._streams.add(self._task)
            self.transport.write(head)
        else:
            self._head = head

    def _continue(self, body: bytes, *, is_last: bool) -> None:
        pieces = self._framed(body, is_last=is_last)
        if self._head:
            pieces.insert(0, self._head)
            self._head = b""
        # if nobody else waits, the client need not wait for the next iteration, which may produce
        # a slice of a stream first
        if is_last and self._began_alone and len(self._tasks) - len(self._streams) == 1:
            self.transport.write_at_once(pieces)
        else:
            self.transport.writelines(pieces)
        if is_last:
            self._end()

    def _framed(self, body: bytes, *, is_last: bool) -> list[bytes]:
        """A piece of the body as it is sent, in pieces because a large one is not copied."""
        if self._framing is Framing.NO_BODY:
            return []
        if self._framing is Framing.LENGTH:
            self._left -= len(body)
            if self._left < 0 or (is_last and self._left):
                raise ValueError("The body differs in length from Content-Length")
        pieces = [body] if body else []
        if self._framing is Framing.CHUNKED:
            if body:
                pieces = [b"%x\r\n" % len(body), body, _LINE_END]
            if is_last:
                pieces.append(b"0\r\n\r\n")
        return pieces

    def _end(self) -> None:
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
