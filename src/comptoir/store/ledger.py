"""The ledger of a company within a transaction: its last change number, time, and new changes.

The company's row is locked before anything is read that a decision rests on, so the order of
numbers is the order of commits, and a reader of the change log never skips one.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import repeat

import msgspec

from comptoir.edm.primitive import Stored
from comptoir.edm.temporal import INSTANT, instant
from comptoir.errors import COMPANY_NOT_FOUND, Refusal
from comptoir.plan.read import Row
from comptoir.sql.prepared import Statement
from comptoir.sql.service_tables import ServiceStatements
from comptoir.store.known import Known


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

    def __init__(self, company_id: str, rows: Sequence[Row]) -> None:
        self.company_id = company_id
        self.known = Known()
        self._is_there = bool(rows)
        number, at = rows[0] if rows else (0, INSTANT.default)
        self._number, self._at = int(number), str(at)
        self._changes: list[tuple[Stored, ...]] = []
        self.is_ahead = False
        """Whether the company's last time was ahead of the clock when a change was made."""

    def take(self) -> tuple[int, str]:
        """The next change's number and its time, which never falls as numbers rise.

        Raises `Refusal` (404) when the company is not there, as while it is copied again.
        """
        if not self._is_there:
            raise Refusal(
                COMPANY_NOT_FOUND,
                f"There is no company {self.company_id} any more, or it is being copied to here.",
            )
        self._number += 1
        now = instant(datetime.now(UTC))
        if now >= self._at:
            self._at = now
        else:
            self.is_ahead = True
        return self._number, self._at

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
