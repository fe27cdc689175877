"""The ledger of a company within a transaction: its last change number, time, and new changes.

The company's row is locked before anything is read that a decision rests on, so the order of
numbers is the order of commits, and a reader of the change log never skips one.
"""

import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import repeat

import msgspec

from comptoir.edm.model import Company
from comptoir.edm.times import INSTANT, instant
from comptoir.edm.types import Stored
from comptoir.errors import COMPANY_NOT_FOUND, DATABASE_OLDER, Refusal
from comptoir.plan.read import Row
from comptoir.sql.prepared import Statement
from comptoir.sql.service_tables import ServiceStatements
from comptoir.store.known import Known
from comptoir.store.watermarks import Watermarks

_log = logging.getLogger(__name__)


class Change(msgspec.Struct, frozen=True):
    """A line of the change log: the record is named by its key, its content is not told."""

    number: int
    entity_set: str
    record: str
    verb: str
    at: str
    by: str


class LedgerMark(msgspec.Struct, frozen=True):
    """Where a ledger stood before a unit of work."""

    number: int
    at: str
    changes: int


class Ledger:
    """Numbers the changes of one company; refusals and no-ops take no number.

    `rows` are those of the statement that reads it; a company that is not there, or not yet, has
    none. `known` is what the transaction knows of the company's records.
    """

    def __init__(self, company_id: str, rows: Sequence[Row], watermarks: Watermarks) -> None:
        self.company_id = company_id
        self.known = Known()
        self._is_there = bool(rows)
        number, at, incarnation = rows[0] if rows else (0, INSTANT.default, "")
        self._number, self._at = int(number), str(at)
        self._company = Company(company_id, str(incarnation))
        self._watermarks = watermarks
        self._changes: list[tuple[Stored, ...]] = []
        self.is_ahead = False
        """Whether the company's last time was ahead of the clock when a change was made."""

    @property
    def company(self) -> Company:
        """The company as the transaction sees it: it may have been renewed a moment ago.

        Raises `Refusal` (404) when the company is not there, as while it is copied again.
        """
        self.need_company()
        return self._company

    def need_company(self) -> None:
        """Raise `Refusal` (404) when the company is not there."""
        if not self._is_there:
            raise Refusal(
                COMPANY_NOT_FOUND,
                f"There is no company {self.company_id} any more, or it is being copied to here.",
            )

    def take(self) -> tuple[int, str]:
        """The next change's number and its time, which never falls as numbers rise.

        Raises `Refusal`: 404 as `company` does, 503 when the database lacks a change that this
        service has acknowledged.
        """
        self._check_watermark()
        self._number += 1
        now = instant(datetime.now(UTC))
        if now >= self._at:
            self._at = now
        else:
            self.is_ahead = True
        return self._number, self._at

    def renew(self, incarnation: str) -> None:
        """Go on with another incarnation of the company, which the unit of work stores.

        Raises `Refusal` (404) as `company` does.
        """
        self._company = msgspec.structs.replace(self.company, incarnation=incarnation)

    def acknowledge(self) -> None:
        """Note, once the transaction is committed, that its changes will be acknowledged."""
        if self._changes:
            self._watermarks.acknowledge(self._company, self._number, self._at)

    def _check_watermark(self) -> None:
        """Raise `Refusal` (503) when the database lacks a change that was acknowledged."""
        acknowledged = self._watermarks.number(self.company)
        if self._number < acknowledged:
            _log.error(
                "the database is older than what this service last wrote to it: the company %s is "
                "at change %d, and change %d was acknowledged. Run `comptoir company renew`.",
                self.company_id,
                self._number,
                acknowledged,
            )
            raise Refusal(
                DATABASE_OLDER,
                f"The database has lost changes of the company {self.company_id}, and takes no "
                "others until its operator has run `comptoir company renew`.",
                headers={"Retry-After": "60"},
            )

    def note(self, number: int, entity_set: str, record: Stored, verb: str, by: str) -> None:
        """Write a line of the change log, to be stored with the transaction."""
        self._changes.append((self.company_id, number, entity_set, str(record), verb, self._at, by))

    def note_all(
        self, entity_set: str, records: Sequence[Stored], verb: str, by: str
    ) -> tuple[range, str]:
        """Take a number for each of some records and write their lines; the numbers, their time."""
        first, at = self.take()
        self._number += len(records) - 1
        numbers = range(first, first + len(records))
        self._changes += zip(
            repeat(self.company_id),
            numbers,
            repeat(entity_set),
            map(str, records),
            repeat(verb),
            repeat(at),
            repeat(by),
            strict=False,
        )
        return numbers, at

    @property
    def number(self) -> int:
        """The number of the company's last change."""
        return self._number

    @property
    def at(self) -> str:
        """The time of the company's last change."""
        return self._at

    @property
    def is_changed(self) -> bool:
        """Whether there are new changes."""
        return bool(self._changes)

    @property
    def last(self) -> Change | None:
        """The last line that was written, None when there is none."""
        return Change(*self._changes[-1][1:]) if self._changes else None  # type: ignore[arg-type]

    def mark(self) -> LedgerMark:
        """Where the ledger stands, for `rewind`."""
        return LedgerMark(self._number, self._at, len(self._changes))

    def rewind(self, mark: LedgerMark) -> None:
        """Forget what a unit of work did that is rolled back."""
        self._number, self._at = mark.number, mark.at
        if len(self._changes) > mark.changes:
            del self._changes[mark.changes :]
            self.known.clear()

    def closing(self, statements: ServiceStatements) -> Iterator[Statement]:
        """The statements that store the ledger at the end of the transaction."""
        if not self._changes:
            return
        add, keep = statements.add_change, statements.keep_ledger
        yield add.many(self._changes)
        yield keep.query(self.company_id, self._number, self._at)
