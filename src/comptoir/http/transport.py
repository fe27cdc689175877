"""The transport of a connection: fewer system calls, and an end for clients that read nothing."""

import asyncio
import socket
import struct
import sys
import termios
from collections.abc import Iterable
from contextlib import suppress
from fcntl import ioctl

from typing_extensions import override

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
