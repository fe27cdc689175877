"""Keeps the mark of a rehearsal, to which a reset returns."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from comptoir.store.marks import CompanyMark


class Mark(msgspec.Struct, frozen=True):
    """The records of all companies and the ids of the subscriptions, which are None before it."""

    companies: Sequence[CompanyMark] = ()
    subscriptions: frozenset[str] | None = None


_NONE = Mark()


class MarkKeeper:
    """Keeps the mark in memory, or in a file that the processes of a service share."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = None if folder is None else folder / "mark"
        self._mark = _NONE

    async def read(self) -> Mark:
        """The last mark of any process."""
        if self._path is None:
            return self._mark
        return await asyncio.to_thread(_read, self._path)

    async def keep(self, mark: Mark) -> None:
        """Replace the mark."""
        if self._path is None:
            self._mark = mark
        else:
            await asyncio.to_thread(_write, self._path, mark)


def _read(path: Path) -> Mark:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=Mark)
    except FileNotFoundError:
        return _NONE


def _write(path: Path, mark: Mark) -> None:
    # nobody reads an incomplete file
    draft = path.with_name(f"mark-{os.getpid()}")
    draft.write_bytes(msgspec.msgpack.encode(mark))
    draft.replace(path)
