"""The exchange of one request with the application, and the transport of its connection.

Both are uvicorn's, with a response in one write, fewer system calls, and an end for clients that
read nothing.
"""

import asyncio
import socket
import struct
import sys
import termios
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fcntl import ioctl
from typing import Literal

from typing_extensions import override
from uvicorn import _types as asgi
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from comptoir.http.exchange import CUT
from comptoir.response.response import Header

_TLS_END_SECONDS = 0.1
_CUT_SECONDS = 0.001
_COPIED_BYTES = 32 << 10
"""Bytes below which joining pieces costs less than a vectored write."""


class GatheringTransport(asyncio.Transport):
    """Joins the writes of one iteration of the event loop, and passes them to a transport.

    A system call for each piece is a noticeable part of the cost of a response. The transport also
    aborts a connection whose client has read nothing for `stall_seconds`, while `watch` is in
    effect and from `close` until everything is written.
    """

    def __init__(self, transport: asyncio.Transport, stall_seconds: float) -> None:
        super().__init__()
        self._transport = transport
        self._stall_seconds = stall_seconds
        self._stall: asyncio.TimerHandle | None = None
        self._is_tls = transport.get_extra_info("sslcontext") is not None
        self._end: asyncio.TimerHandle | None = None
        """Ends a connection with TLS after everything was written."""
        self._unread = 0
        self._loop = asyncio.get_running_loop()
        self._gathered: list[bytes | bytearray | memoryview] = []

    @override
    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writelines((data,))

    @override
    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        if not self._gathered:
            self._loop.call_soon(self._write_gathered)
        self._gathered += list_of_data

    def write_at_once(self, pieces: Iterable[bytes]) -> None:
        """Write pieces without waiting for the end of the iteration."""
        self._gathered += pieces
        self._write_gathered()

    def _write_gathered(self) -> None:
        gathered, self._gathered = self._gathered, []
        if not gathered or self._transport.is_closing():
            return
        if sum(map(len, gathered)) < _COPIED_BYTES:
            self._transport.write(b"".join(gathered))
        else:
            self._transport.writelines(gathered)

    @override
    def close(self) -> None:
        if self._transport.is_closing():
            return
        self._write_gathered()
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self.watch()
        if self._is_tls:
            self._schedule_end()

    def _schedule_end(self) -> None:
        self._end = self._loop.call_later(_TLS_END_SECONDS, self._end_tls)

    def _end_tls(self) -> None:
        """End the connection without waiting for the client to end TLS too.

        An idle client does so only when it uses the connection again. The event loop would wait for
        30 seconds, and read whatever arrives meanwhile.
        """
        if self._unread_bytes():
            self._schedule_end()
        else:
            self._transport.abort()

    @override
    def abort(self) -> None:
        self._transport.abort()

    @property
    def peer(self) -> socket.socket:
        """The socket of the connection."""
        found: socket.socket = self._transport.get_extra_info("socket")
        return found

    def reset(self) -> None:
        """End the connection at once, with a TCP reset that the client notices."""
        with suppress(OSError):
            self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def cut(self) -> None:
        """Reset the connection as soon as the client's system has what was written."""
        self._write_gathered()
        self.watch()
        self._cut()

    def _cut(self) -> None:
        if self._unread_bytes() and not self._transport.is_closing():
            self._loop.call_later(_CUT_SECONDS, self._cut)
        else:
            self.reset()

    def watch(self) -> None:
        """Start the check for progress of the client, unless it runs."""
        if self._stall is None:
            self._unread = self._unread_bytes()
            self._stall = self._loop.call_later(self._stall_seconds, self._check_progress)

    def unwatch(self) -> None:
        """Stop the check for progress."""
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def forget(self) -> None:
        """Stop all timers, after the end of the connection."""
        self.unwatch()
        if self._end is not None:
            self._end.cancel()

    def _check_progress(self) -> None:
        self._stall = None
        if self._unread_bytes() == self._unread:
            self._transport.abort()
        else:
            self.watch()

    def _unread_bytes(self) -> int:
        """Bytes that the client's system has not acknowledged, in this process and its kernel.

        The write buffer alone does not show slow progress: the kernel accepts more data only when a
        third of its queue, which grows to megabytes, is free.
        """
        try:
            count = ioctl(self.peer.fileno(), termios.TIOCOUTQ, bytes(4))
            queued = int.from_bytes(count, sys.byteorder)
        except OSError:
            # not every system has this count for sockets
            queued = 0
        return self._transport.get_write_buffer_size() + queued

    @override
    def is_closing(self) -> bool:
        return self._transport.is_closing()

    @override
    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._transport.get_extra_info(name, default)

    @override
    def pause_reading(self) -> None:
        self._transport.pause_reading()

    @override
    def resume_reading(self) -> None:
        self._transport.resume_reading()


_LINE_END = b"\r\n"
_FIELD_BYTES = bytes([9, *range(32, 127), *range(128, 256)])
"""The bytes that a header may contain (RFC 9110, 5.5)."""

_BODILESS = (204, 304)


Framing = Literal["no body", "length", "chunks", "connection"]
"""What shows the end of a response's body (RFC 9112, 6.3): nothing, or the end of one of these."""


class Cycle(RequestResponseCycle):
    """Writes the head of a response with the first piece of its body, and checks its framing.

    The head waits for the body only if the length of the body is known: the body then follows
    without delay.
    """

    transport: GatheringTransport
    _framing: Framing = "no body"
    _left = 0
    """The bytes of a body of declared length that are not yet written."""
    _head: Sequence[bytes] = ()
    """The pieces of the head of a response until the first piece of its body."""

    _began_alone = False
    """Whether no other request was under way; the last one of many is alone at its end only."""
    _task: asyncio.Task[None]
    _tasks: set[asyncio.Task[None]]
    _streams: set[asyncio.Task[None]]

    def start(
        self,
        app: asgi.ASGI3Application,
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
        # `create_task` would format a number for its name
        self._task = asyncio.Task(self.run_asgi(app), loop=loop, name="request")
        tasks.add(self._task)

    @override
    async def run_asgi(self, app: asgi.ASGI3Application) -> None:
        try:
            await super().run_asgi(app)
        finally:
            # a callback of the task would cost another iteration of the event loop
            self._tasks.discard(self._task)
            self._streams.discard(self._task)
            # its context refers to this exchange, which would wait for the garbage collector
            del self._task

    def _resetting(self, app: asgi.ASGI3Application) -> asgi.ASGI3Application:
        """Wrap an application: reset the connection if its end would end an incomplete response."""

        async def wrapped(
            scope: asgi.Scope, receive: asgi.ASGIReceiveCallable, send: asgi.ASGISendCallable
        ) -> None:
            try:
                await app(scope, receive, send)
            finally:
                if self._framing == "connection" and not self.response_complete:
                    self.transport.reset()

        return wrapped

    @override
    async def send(self, message: asgi.ASGISendEvent) -> None:
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
            self._framing = "no body"
        elif length is not None:
            self._framing = "length"
            self._left = int(length)
        elif self.scope["http_version"] == "1.0":
            # it has no chunked coding (RFC 9112, 6.1)
            self._framing = "connection"
        else:
            self._framing = "chunks"
            headers.append((b"transfer-encoding", b"chunked"))
        lines = _LINE_END.join(map(b": ".join, headers))
        if lines.translate(None, _FIELD_BYTES) != _LINE_END * (len(headers) - 1):
            raise ValueError(f"A header contains control characters: {lines!r}")
        head = (STATUS_LINE[status], lines, b"\r\n\r\n")
        if self._framing in ("chunks", "connection"):
            self._streams.add(self._task)
            self.transport.writelines(head)
        else:
            self._head = head

    def _continue(self, body: bytes, *, is_last: bool) -> None:
        pieces = [*self._head, *self._framed(body, is_last=is_last)]
        self._head = ()
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
        framing, pieces = self._framing, [body] if body else []
        if framing == "length":
            self._left -= len(body)
            if self._left < 0 or (is_last and self._left):
                raise ValueError("The body differs in length from Content-Length")
        elif framing == "no body":
            return []
        elif framing == "chunks":
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
