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
from typing import Literal

import msgspec
from typing_extensions import override

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
    """One end of the pair."""

    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _is_open = False

    def __init__(self, end: socket) -> None:
        self.end = end

    async def open(self) -> None:
        """Open it in the running event loop."""
        self._reader, self._writer = await asyncio.open_connection(sock=self.end)
        self._is_open = True

    def send(self, frame: bytes) -> None:
        """Send a frame if it is open, and the other process has read the one before."""
        if self._is_open and not self._writer.transport.get_write_buffer_size():
            self._writer.write(len(frame).to_bytes(_SIZE_BYTES) + frame)

    async def frames(self) -> AsyncIterator[bytes]:
        """The frames of the other process, until its end, which closes this one, too."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                size = int.from_bytes(await self._reader.readexactly(_SIZE_BYTES))
                yield await self._reader.readexactly(size)
        self._is_open = False
        self._writer.close()


class SupervisorLink(Channel):
    """A worker's end, open while it serves; this process stops when the supervisor has ended."""

    count: Callable[[], Counted] = dict
    """Returns what this process has counted since its start."""
    total = b""
    """The latest `Counted` of all workers, encoded; nothing before the first."""
    _following: asyncio.Task[None]

    @override
    async def open(self) -> None:
        await super().open()
        self._following = asyncio.create_task(self._follow())
        self.report()

    async def _follow(self) -> None:
        async for frame in self.frames():
            self.total = frame
        os.kill(os.getpid(), signal.SIGTERM)

    def report(self) -> None:
        """Tell the supervisor what this process has counted."""
        self.send(encode(self.count()))
