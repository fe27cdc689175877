"""A transport that gathers what is written within a turn of the event loop.

The server writes the head of an answer and its body one by one; a system call for each is a
noticeable part of what a short answer costs.
"""

import asyncio

from typing_extensions import override


class GatheringTransport(asyncio.Transport):
    """Passes on to a transport, writing what has come together once per turn."""

    def __init__(self, transport: asyncio.Transport, stall_seconds: float) -> None:
        super().__init__()
        self._transport = transport
        self._stall_seconds = stall_seconds
        self._stall: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._gathered: list[bytes | bytearray | memoryview] = []

    @override
    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._gathered:
            self._loop.call_soon(self._pass_on)
        self._gathered.append(data)

    def _pass_on(self) -> None:
        gathered, self._gathered = self._gathered, []
        if gathered and not self._transport.is_closing():
            self._transport.write(b"".join(gathered))

    @override
    def close(self) -> None:
        self._pass_on()
        self._transport.close()
        if self._stall is None and self._transport.get_write_buffer_size():
            # a client that reads nothing would keep the connection open
            self._stall = self._loop.call_later(self._stall_seconds, self._transport.abort)

    def lost(self) -> None:
        """Stop waiting for the client to read; the protocol calls this when a connection ends."""
        if self._stall is not None:
            self._stall.cancel()

    @override
    def abort(self) -> None:
        self._transport.abort()

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
