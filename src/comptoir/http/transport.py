"""A transport that joins writes, and ends connections whose clients read nothing.

The server writes the head of a response and its body separately; a system call for each is a
noticeable part of the cost of a short response.
"""

import asyncio
import socket
import struct
import sys
import termios
from contextlib import suppress
from fcntl import ioctl

from typing_extensions import override


class GatheringTransport(asyncio.Transport):
    """Joins what is written in one iteration of the event loop, and writes it to a transport.

    It aborts a connection whose client has read nothing for `stall_seconds`, while `watch` is in
    effect and from `close` until everything is written.
    """

    def __init__(self, transport: asyncio.Transport, stall_seconds: float) -> None:
        super().__init__()
        self._transport = transport
        self._stall_seconds = stall_seconds
        self._stall: asyncio.TimerHandle | None = None
        self._unread = 0
        self._loop = asyncio.get_running_loop()
        self._gathered: list[bytes | bytearray | memoryview] = []

    @override
    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._gathered:
            self._loop.call_soon(self._write_gathered)
        self._gathered.append(data)

    def _write_gathered(self) -> None:
        gathered, self._gathered = self._gathered, []
        if gathered and not self._transport.is_closing():
            self._transport.write(b"".join(gathered))

    @override
    def close(self) -> None:
        self._write_gathered()
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self.watch()

    @override
    def abort(self) -> None:
        self._transport.abort()

    def reset(self) -> None:
        """End the connection at once, with a TCP reset that the client notices."""
        peer: socket.socket = self._transport.get_extra_info("socket")
        with suppress(OSError):
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def watch(self) -> None:
        """Start to look for progress of the client, if nothing does yet."""
        if self._stall is None:
            self._unread = self._unread_bytes()
            self._stall = self._loop.call_later(self._stall_seconds, self._check_progress)

    def unwatch(self) -> None:
        """Stop looking for progress."""
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _check_progress(self) -> None:
        self._stall = None
        if self._unread_bytes() == self._unread:
            self._transport.abort()
        else:
            self.watch()

    def _unread_bytes(self) -> int:
        """Bytes that the client's system has not acknowledged, in this process and its kernel.

        The write buffer alone does not show slow progress: the kernel takes more only when a third
        of its queue, which grows to megabytes, is free.
        """
        peer: socket.socket = self._transport.get_extra_info("socket")
        try:
            queued = int.from_bytes(ioctl(peer.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
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
