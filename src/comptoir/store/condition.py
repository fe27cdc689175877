"""The condition of a store that works: what an operator should know before clients notice it."""

import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from time import monotonic, time

from comptoir.edm.times import instant
from comptoir.errors import DATABASE_FULL, Refusal
from comptoir.store.ledger import Ledger

TOLERATED_SECONDS = 2.0
"""How far the last change of a company may be ahead of the clock: hosts differ by less."""

PAUSE_SECONDS = 60.0
"""How long the log says nothing more of changes that are ahead of the clock."""

RESERVE = 64 << 20
"""Bytes that the file system of the database should have left."""

MOST = 1_000
"""The most companies whose times are kept."""

_log = logging.getLogger(__name__)


class Condition:
    """Notes what becomes of transactions, on whatever thread they are done.

    `folder` is that of the database where the service itself writes it. `stored_at` is when a
    change was last stored, `full_at` when a transaction last failed since the disk was full, both
    in epoch seconds; 0 for never.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self.stored_at = 0.0
        self.full_at = 0.0
        self._lock = Lock()
        self._ahead: dict[str, float] = {}
        self._quiet_until = 0.0

    def stored(self, ledger: Ledger) -> None:
        """Take note of a transaction that is on the disk."""
        if not ledger.is_changed:
            return
        self.stored_at = time()
        if ledger.is_ahead:
            self._note_ahead(ledger)
        elif self._ahead:
            with self._lock:
                self._ahead.pop(ledger.company_id, None)

    def failed(self, refusal: Refusal) -> None:
        """Take note of a transaction that the database did not do."""
        if refusal.error is DATABASE_FULL:
            self.full_at = time()

    def _note_ahead(self, ledger: Ledger) -> None:
        until = datetime.fromisoformat(ledger.at).timestamp()
        seconds = until - time()
        if seconds <= TOLERATED_SECONDS:
            return
        with self._lock:
            if ledger.company_id in self._ahead or len(self._ahead) < MOST:
                self._ahead[ledger.company_id] = until
            is_quiet = monotonic() < self._quiet_until
            if not is_quiet:
                self._quiet_until = monotonic() + PAUSE_SECONDS
        if not is_quiet:
            _log.warning(
                "the last change of company %s is %.0f seconds ahead of the clock: "
                "lastModifiedDateTime stays at %s until then. Compare the clocks of the hosts.",
                ledger.company_id,
                seconds,
                ledger.at,
            )

    @property
    def ahead_until(self) -> float:
        """The latest time of a change ahead of the clock, in epoch seconds; 0 for none."""
        if not self._ahead:
            return 0.0
        with self._lock:
            return max(self._ahead.values(), default=0.0)

    def warnings(self) -> list[str]:
        """What does not keep the store from serving, a line each."""
        warnings: list[str] = []
        if self.full_at > self.stored_at:
            since = datetime.fromtimestamp(self.full_at, UTC)
            warnings.append(
                f"the disk of the database is full: a write failed at {instant(since)}, and none "
                "was stored after that"
            )
        if self._folder is not None:
            system = os.statvfs(self._folder)
            left = system.f_bavail * system.f_frsize
            if left < RESERVE:
                warnings.append(f"the file system of the database has {left >> 20} MiB left")
        seconds = self.ahead_until - time()
        if seconds > 0:
            warnings.append(
                f"the last change of a company is {seconds:.0f} seconds ahead of the clock, and "
                "lastModifiedDateTime stays there until then; the log names the company"
            )
        return warnings
