"""The writer: queues units of work, and commits many at once.

No caller gets an outcome, not even a refusal, before the transaction in which it was decided ends.
"""

import asyncio
import logging
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, time
from typing import TypeVar, cast

import msgspec

from comptoir.config import Settings
from comptoir.edm.times import instant
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import DATABASE_FULL, DATABASE_READ_ONLY
from comptoir.plan.read import Row
from comptoir.plan.write import WritePlan
from comptoir.sql.statements import Statements
from comptoir.store.growth import is_like
from comptoir.store.ledger import Ledger
from comptoir.store.unit import Work
from comptoir.store.watermarks import Watermarks

TOLERATED_SECONDS = 2.0
"""Seconds that a company's last change may be ahead of the clock, as the clocks of hosts differ."""

LOG_SECONDS = 60.0
"""The interval between log entries about changes that are ahead of the clock."""

RESERVE = 64 << 20
"""Free bytes of the database's file system below which `warnings` has an entry."""

NO_COMPANY = ""
"""The company of a unit of work that changes only control tables, which belong to none."""

T = TypeVar("T")

LATER_CATALOG = (
    "the database has a later catalog: this service goes on with the one that it started with, and "
    "has the later one after a restart"
)

_log = logging.getLogger(__name__)


class Job(msgspec.Struct, eq=False):
    """A queued unit of work with its outcome, and the future that its caller awaits.

    A job that is `alone` has a transaction to itself. `plans` are the writes that it consists of,
    if any, so that a writer may prefetch for many jobs at once.
    """

    company_id: str
    work: Work[object]
    future: asyncio.Future[None]
    alone: bool
    plans: Sequence[WritePlan]
    result: object = None
    error: BaseException | None = None
    is_done: bool = False


class Writer(ABC):
    """Runs units of work, in the order in which they were submitted for a company."""

    GROUP = 256
    """The most units of work in one transaction."""

    def __init__(
        self, settings: Settings, statements: Statements, folder: Path | None = None
    ) -> None:
        """`folder` is that of the database, None if another process writes its files."""
        self.condition = Condition(folder)
        self.watermarks = Watermarks()
        self._statements = statements
        self._most_waiting = settings.queued_writes
        self._keeps_values = settings.history_days > 0
        # only units of `NO_COMPANY` run, such as the revocation of a token
        self._refuses_writes = settings.refuses_writes
        # of companies, and of the control tables: a full queue must not delay a revocation
        self._waiting: Counter[bool] = Counter()
        self._is_stopping = False
        self._loop = asyncio.get_running_loop()

    @property
    def waiting(self) -> int:
        """The units of work without an outcome yet."""
        return self._waiting.total()

    async def submit(
        self,
        company_id: str,
        work: Work[T],
        *,
        alone: bool = False,
        plans: Sequence[WritePlan] = (),
    ) -> T:
        """Run a unit of work and return its result after the commit.

        Only a unit that is `alone` may be refused after its first change. Raises what the unit
        raises, and `Refusal`: 403 if the service only reads, 429 if too many units wait, 503 if the
        transaction failed or the writer stops. After each, nothing of the unit is stored.
        Cancellation does not end the wait.
        """
        if self._is_stopping:
            raise rows.SERVICE_STOPPED()
        is_control = company_id == NO_COMPANY
        if self._refuses_writes and not is_control:
            raise rows.READ_ONLY_SERVICE()
        if self._waiting[is_control] >= self._most_waiting:
            waiting = self._waiting[is_control]
            raise rows.WRITES_WAITING(waiting=waiting, actual=waiting + 1, limit=self._most_waiting)
        job = Job(company_id, work, self._loop.create_future(), alone, plans)
        self._waiting[is_control] += 1
        self._enqueue(job)
        try:
            await job.future
        except asyncio.CancelledError:
            # the unit still runs, so the caller gets its outcome
            if not job.is_done:
                job.future = self._loop.create_future()
                await job.future
        if job.error is not None:
            raise job.error
        return cast("T", job.result)

    def _ledger(self, company_id: str, rows: Sequence[Row]) -> Ledger:
        """The ledger of a company in a transaction; see `Ledger` for `rows`."""
        return Ledger(company_id, rows, self.watermarks, keeps_values=self._keeps_values)

    def _note_commit(self, ledger: Ledger) -> None:
        """Note a commit before any client learns of it."""
        self.condition.committed(ledger)
        ledger.acknowledge()

    def _finish(self, jobs: list[Job]) -> None:
        """Deliver the outcomes of jobs after their transaction has ended."""
        for job in jobs:
            self._waiting[job.company_id == NO_COMPANY] -= 1
            job.is_done = True
            if not job.future.done():
                job.future.set_result(None)

    @abstractmethod
    def _enqueue(self, job: Job) -> None:
        """Queue a job, for which `_finish` is called after its transaction."""

    @abstractmethod
    async def give_way(self, seconds: float) -> None:
        """Pause after a unit that took this many seconds, so that other processes can write."""


class Condition:
    """The condition of a store's writes, for health checks and metrics; any thread may update it.

    `folder` is that of the database, None if another process writes its files. `stored_at` is the
    time of the last commit with changes, `full_at` that of the last transaction that failed because
    the disk was full, `read_only_at` that of the last one that failed because the database accepts
    no writes, all in epoch seconds; 0 for never. `ahead_until` is the latest time of a change
    ahead of the clock, until the next change of that company. `has_later_catalog`: the database has
    got a later catalog than the service's.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self.stored_at = 0.0
        self.full_at = 0.0
        self.read_only_at = 0.0
        self._ahead_company = ""
        self.ahead_until = 0.0
        self._quiet_until = 0.0
        self.has_later_catalog = False

    def committed(self, ledger: Ledger) -> None:
        """Note a committed transaction."""
        if ledger.last is None:
            return
        self.stored_at = time()
        until = datetime.fromisoformat(ledger.at).timestamp()
        if until > self.stored_at + TOLERATED_SECONDS:
            self._note_ahead(ledger, until)
        elif ledger.company_id == self._ahead_company:
            self._ahead_company, self.ahead_until = "", 0.0

    def failed(self, refusal: Refusal) -> None:
        """Note a transaction that the database did not commit."""
        if refusal.error is DATABASE_FULL:
            self.full_at = time()
        if refusal.error is DATABASE_READ_ONLY:
            self.read_only_at = time()

    def note_catalog(self, accepted: Sequence[str], own: str) -> None:
        """Note the catalog of the database; the first that is not the service's own is logged."""
        is_later = bool(own) and not any(each == own or is_like(each, own) for each in accepted)
        if is_later and not self.has_later_catalog:
            _log.warning("%s", LATER_CATALOG)
        self.has_later_catalog = is_later

    def _note_ahead(self, ledger: Ledger, until: float) -> None:
        if until >= self.ahead_until or ledger.company_id == self._ahead_company:
            self._ahead_company, self.ahead_until = ledger.company_id, until
        if monotonic() >= self._quiet_until:
            self._quiet_until = monotonic() + LOG_SECONDS
            _log.warning(
                "the last change of company %s is %.0f seconds ahead of the clock: "
                "lastModifiedDateTime stays at %s until then. Compare the clocks of the hosts.",
                ledger.company_id,
                until - self.stored_at,
                ledger.at,
            )

    def warnings(self) -> Iterator[str]:
        """Problems for the operator to fix before clients notice them, a line each."""
        if self.full_at > self.stored_at:
            since = instant(datetime.fromtimestamp(self.full_at, UTC))
            yield (
                f"the disk of the database is full: a write failed at {since}, and none was stored "
                "after that"
            )
        is_read_only = self.read_only_at > self.stored_at
        if self._folder is not None:
            system = os.statvfs(self._folder)
            is_read_only |= bool(system.f_flag & os.ST_RDONLY)
            left = system.f_bavail * system.f_frsize
            if left < RESERVE:
                yield f"the file system of the database has {left >> 20} MiB left"
        if is_read_only:
            yield "the database is read-only: reads work, and writes are refused"
        if self.has_later_catalog:
            yield LATER_CATALOG
        seconds = self.ahead_until - time()
        if seconds > 0:
            yield (
                f"the last change of a company is {seconds:.0f} seconds ahead of the clock, and "
                "lastModifiedDateTime stays there until then; the log names the company"
            )
