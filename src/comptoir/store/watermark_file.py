"""The file of the watermarks, which outlives the process and does not lie in the database."""

import asyncio
import fcntl
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from comptoir.edm.model import Company
from comptoir.errors import OperatorError
from comptoir.store.watermarks import Watermark, Watermarks

NAME = "watermarks.json"
LOCK_NAME = "watermarks.lock"

SAVE_SECONDS = 2.0
"""Seconds between two looks at whether the watermarks have moved."""

TRIES = 20
"""How often a process tries to take the file's lock, which others hold for milliseconds."""

TRY_SECONDS = 0.05
"""Seconds between two tries."""

_log = logging.getLogger(__name__)
T = TypeVar("T")
_Stored = dict[str, dict[str, Watermark]]
_decode = msgspec.json.Decoder(_Stored).decode
_encode = msgspec.json.Encoder(order="sorted").encode


async def with_file(work: Callable[[], T]) -> T:
    """Work with the file in a thread, again for a second while another process has it.

    Raises `OSError` when the file cannot be used.
    """
    for _ in range(TRIES):
        with suppress(BlockingIOError):
            return await asyncio.to_thread(work)
        await asyncio.sleep(TRY_SECONDS)
    return await asyncio.to_thread(work)


class WatermarkFile:
    """A JSON file in a folder, which several processes raise: by company, by incarnation."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._lock = folder / LOCK_NAME

    def read(self) -> Mapping[Company, Watermark]:
        """The watermarks, none without the file; raises `OperatorError` for an unusable file."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as fault:
            raise OperatorError(f"cannot read {self.path}: {fault.strerror}.") from fault
        try:
            stored = _decode(content)
        except msgspec.MsgspecError as fault:
            raise OperatorError(f"{self.path} is damaged: {fault}. Remove it.") from fault
        return {
            Company(company_id, incarnation): mark
            for company_id, incarnations in stored.items()
            for incarnation, mark in incarnations.items()
        }

    def merge(
        self, marks: Mapping[Company, Watermark], known: Mapping[Company, Watermark]
    ) -> Mapping[Company, Watermark]:
        """Raise the watermarks of the file; returns the highest of both.

        A file that is missing, empty or damaged is replaced by all that are `known`. Raises
        `BlockingIOError` while another process has the file, other `OSError` when it cannot be
        written.
        """
        with self._locked():
            held: Mapping[Company, Watermark] = {}
            with suppress(OperatorError):
                held = self.read()
            merged = dict(held or known)
            merged |= {
                company: mark
                for company, mark in marks.items()
                if company not in merged or mark.number > merged[company].number
            }
            if merged != held:
                self._replace(merged)
        return merged

    @contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(descriptor)

    def _replace(self, marks: Mapping[Company, Watermark]) -> None:
        stored: _Stored = {}
        for company, mark in marks.items():
            stored.setdefault(company.id, {})[company.incarnation] = mark
        draft = self.path.with_suffix(".draft")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_encode(stored))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)


class WatermarkKeeper:
    """Keeps the watermarks of a process in the file, off the event loop."""

    def __init__(self, watermarks: Watermarks, file: WatermarkFile) -> None:
        self._watermarks = watermarks
        self._file = file
        self._has_failed = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Learn what the file holds, and save from now on what moves."""
        with suppress(OperatorError):
            self._watermarks.learn(self._file.read())
        self._task = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """Save for the last time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
        await self._save()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            await self._save()

    async def _save(self) -> None:
        marks = self._watermarks.take()
        if not marks:
            return
        merge = partial(self._file.merge, marks, self._watermarks.known)
        try:
            self._watermarks.learn(await with_file(merge))
        except asyncio.CancelledError:
            # a stop saves them once more; whether they were saved already makes no difference
            self._watermarks.put_back(marks)
            raise
        except OSError as fault:
            self._watermarks.put_back(marks)
            # which others have is not worth a word
            if not isinstance(fault, BlockingIOError):
                self._warn(fault)

    def _warn(self, fault: OSError) -> None:
        """Say once that the file cannot be written: nothing else depends on it."""
        if not self._has_failed:
            self._has_failed = True
            _log.warning(
                "%s cannot be written: %s. A start will not notice a database that was restored "
                "from a backup.",
                self._file.path,
                fault.strerror,
            )
