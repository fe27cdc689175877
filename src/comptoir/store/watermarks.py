"""The watermark of a company: its last change that was acknowledged to a client.

A database that lacks this change was restored from a backup, or is a standby that was promoted
before it had received everything. It would assign the numbers of the lost changes again, so nothing
is written until the company gets a new incarnation.

A process has its watermarks in memory. All processes of a service save them to one file, which is
not part of the database.
"""

import asyncio
import fcntl
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from comptoir.auth.keys import drafted
from comptoir.edm.model import Company
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import OperatorError

NAME = "watermarks.json"
LOCK_NAME = "watermarks.lock"

SAVE_SECONDS = 2.0
"""Seconds between two saves."""

TRIES = 20
"""Attempts to lock the file, which other processes lock for milliseconds."""

TRY_SECONDS = 0.05
"""Seconds between two attempts."""

_log = logging.getLogger(__name__)


class Watermark(msgspec.Struct, frozen=True, array_like=True):
    """The number of a change, and its time as in the change log."""

    number: int
    at: str


class Watermarks(dict[Company, Watermark]):
    """The watermarks of a process, by company and incarnation.

    They are lower bounds, because other processes may have acknowledged later changes. Threads may
    therefore use them without a lock.
    """

    def number(self, company: Company) -> int:
        """The number of a company's watermark, or 0."""
        known = self.get(company)
        return 0 if known is None else known.number

    def learn(self, watermarks: Mapping[Company, Watermark]) -> None:
        """Raise the watermarks to those of other processes."""
        for company, watermark in watermarks.items():
            if watermark.number > self.number(company):
                self[company] = watermark


_Stored = dict[str, dict[str, Watermark]]
_decode = msgspec.json.Decoder(_Stored).decode
_encode = msgspec.json.Encoder(order="sorted").encode


class WatermarkFile:
    """The file in a folder with the watermarks, as JSON by company and incarnation."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._lock = folder / LOCK_NAME

    def read(self) -> Mapping[Company, Watermark]:
        """The watermarks; empty without a file. Raises `OperatorError` for an unusable file."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise problems.UNREADABLE_WATERMARKS(path=self.path, reason=error.strerror) from error
        try:
            stored = _decode(content)
        except msgspec.MsgspecError as error:
            raise problems.DAMAGED_WATERMARKS(path=self.path, reason=error) from error
        return {
            Company(company_id, incarnation): watermark
            for company_id, incarnations in stored.items()
            for incarnation, watermark in incarnations.items()
        }

    def merge(self, watermarks: Mapping[Company, Watermark]) -> Mapping[Company, Watermark]:
        """Raise watermarks in the file, and return its content after that.

        They replace a missing, empty or damaged file. Raises `BlockingIOError` while another
        process locks the file, and another `OSError` if it cannot be written.
        """
        with os.fdopen(os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            former: Mapping[Company, Watermark] = {}
            with suppress(OperatorError):
                former = self.read()
            merged = Watermarks(former)
            merged.learn(watermarks)
            if merged != former:
                stored: _Stored = {}
                for company, watermark in merged.items():
                    stored.setdefault(company.id, {})[company.incarnation] = watermark
                with drafted(self.path, _encode(stored)) as draft:
                    draft.replace(self.path)
        return merged


class WatermarkSaver:
    """Saves the watermarks of a process to the file, every `SAVE_SECONDS` and at the end."""

    def __init__(self, watermarks: Watermarks, file: WatermarkFile) -> None:
        self._watermarks = watermarks
        self._file = file
        self._saved: Mapping[Company, Watermark] = {}
        self._has_failed = False
        with suppress(OperatorError):
            watermarks.learn(file.read())

    async def save(self) -> None:
        """Save what was not saved yet."""
        known = self._watermarks.copy()
        if known.items() <= self._saved.items():
            return
        for _ in range(TRIES):
            try:
                self._saved = await asyncio.to_thread(self._file.merge, known)
            except BlockingIOError:
                # another process that locks the file needs no warning
                await asyncio.sleep(TRY_SECONDS)
            except OSError as error:
                if not self._has_failed:
                    self._has_failed = True
                    _log.warning(
                        "%s cannot be written: %s. A start will not notice a database that was "
                        "restored from a backup.",
                        self._file.path,
                        error.strerror,
                    )
                return
            else:
                self._watermarks.learn(self._saved)
                return
