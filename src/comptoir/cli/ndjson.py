"""Print the entries of a numbered log as NDJSON, and wait for further ones."""

import asyncio
import os
import select
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

POLL_SECONDS = 0.5
"""Seconds between two reads of `--follow`."""

AT_A_TIME = 1_000
"""The most entries of a read."""


class Numbered(Protocol):
    """An entry of a log without gaps."""

    @property
    def number(self) -> int:
        """The place of the entry, counted from 1."""


Entry = TypeVar("Entry", bound=Numbered)


async def print_entries(
    read: Callable[[int], Awaitable[Sequence[Entry]]], since: int, *, follow: bool
) -> None:
    """Print the entries after a number, which `read` returns from there, in order.

    With `follow`, wait for further ones until cancelled, or until the reader closes the pipe.
    """
    try:
        while True:
            found = await read(since)
            if found:
                _print(found)
                since = found[-1].number
            elif not follow or _reader_is_gone():
                return
            else:
                await asyncio.sleep(POLL_SECONDS)
    except asyncio.CancelledError:
        return
    except BrokenPipeError:
        # nothing reads the rest of the buffer
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print(found: Sequence[Numbered]) -> None:
    for entry in found:
        sys.stdout.buffer.write(msgspec.json.encode(entry) + b"\n")
        sys.stdout.buffer.flush()


def _reader_is_gone() -> bool:
    """Whether the other end of the pipe is closed; checked before a write would fail."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
