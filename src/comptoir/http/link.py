"""The messages of a worker and its supervisor: frames over a pair of sockets.

A worker reports what it has counted, which also shows that its event loop runs. The supervisor
answers with the sums of all workers.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from socket import socket
from typing import Literal, Self

import msgspec

Mode = Literal["sum", "max", "livesum", "livemax"]
"""The sum of the values of all workers; `live`: without those of workers that have ended."""
Key = tuple[str, ...]
"""The name of a metric, and the values of its labels."""
Counted = dict[Mode, dict[Key, float]]

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Counted).decode
_SIZE_BYTES = 4


def include(total: Counted, more: Mapping[Mode, Mapping[Key, float]]) -> None:
    """Include in a total what another worker has counted."""
    for mode, values in more.items():
        known = total.setdefault(mode, {})
        for key, value in values.items():
            if mode in ("sum", "livesum"):
                known[key] = known.get(key, 0.0) + value
            else:
                known[key] = max(known.get(key, value), value)


def lasting(counted: Counted) -> Counted:
    """The part that remains when its worker has ended."""
    return {mode: values for mode, values in counted.items() if not mode.startswith("live")}


class Channel:
    """One end of the pair, in the running event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, end: socket) -> Self:
        """The channel over a connected socket."""
        return cls(*await asyncio.open_connection(sock=end))

    def send(self, frame: bytes) -> None:
        """Send a frame, unless the other process has not read the one before."""
        transport = self._writer.transport
        if not transport.is_closing() and not transport.get_write_buffer_size():
            self._writer.write(len(frame).to_bytes(_SIZE_BYTES) + frame)

    async def frames(self) -> AsyncIterator[bytes]:
        """The frames of the other process, until its end."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                size = int.from_bytes(await self._reader.readexactly(_SIZE_BYTES))
                yield await self._reader.readexactly(size)

    def close(self) -> None:
        """Close this end."""
        self._writer.close()


class SupervisorLink:
    """A worker's connection to its supervisor."""

    def __init__(self, end: socket) -> None:
        self._end = end
        self._channel: Channel | None = None
        self._following: asyncio.Task[None] | None = None
        self.serves = False
        """Whether the worker serves, and reports."""
        self.count: Callable[[], Counted] = dict
        """Returns what this process has counted since its start."""
        self.total = b""
        """The latest `Counted` of all workers, encoded; nothing before the first."""

    async def open(self) -> None:
        """Open it in the running event loop; this process stops when the supervisor has ended."""
        self._channel = await Channel.open(self._end)
        self._following = asyncio.create_task(self._follow(self._channel))

    async def _follow(self, channel: Channel) -> None:
        async for frame in channel.frames():
            self.total = frame
        os.kill(os.getpid(), signal.SIGTERM)

    def report(self) -> None:
        """Tell the supervisor what this process has counted."""
        if self.serves and self._channel is not None:
            self._channel.send(encode(self.count()))
