"""Folds changes of one set into notifications, as few as their receiver needs."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from comptoir.edm.times import instant
from comptoir.store.ledger import CREATE, DELETE, UPDATE, Change

COLLECTION = "collection"
"""The change type of a notification that replaces those of many records."""

_CHANGE_TYPES = {CREATE: "created", UPDATE: "updated", DELETE: "deleted"}

_BEFORE_FIRST = timedelta(milliseconds=50)


class Tally(msgspec.Struct, frozen=True):
    """A summary of changes: how many, the last one's number and time, and the deletions."""

    count: int
    number: int
    at: str
    deletions: int


class Notification(msgspec.Struct, frozen=True):
    """The change of a record, or of a set if `change_type` is `COLLECTION`.

    `at` is the time of the last change that is folded into it. A collection has no record. Records
    that were changed after `since` contain all of its changes, unless some were deleted: then
    `since` is empty.
    """

    change_type: str
    record: str
    at: str
    since: str = ""


class Fold:
    """Collects the changes after a cursor, in order, in memory for `most` notifications.

    An update is folded into the last notification of its record, if that is of an update too. If
    there would be more than `most` notifications, one collection replaces them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._pending: dict[int, Notification] = {}
        """The notifications by the numbers of their last changes, in order."""
        self._last: dict[str, int] = {}
        """The number of the last notification of each record."""
        self._first_at = ""
        self._at = ""
        self._has_deletion = False
        self.is_collection = False
        """Whether the changes are too many, so a tally of the later ones suffices."""
        self.number = 0
        """The number of the last change, 0 before the first."""

    def add(self, changes: Iterable[Change]) -> None:
        """Add changes, whose numbers rise."""
        for change in changes:
            self._note(change.number, change.at, has_deletion=change.verb == DELETE)
            if not self.is_collection:
                self._fold(change)

    def add_tally(self, tally: Tally) -> None:
        """Add a summary of later changes to a collection."""
        if tally.count:
            self._note(tally.number, tally.at, has_deletion=tally.deletions > 0)

    def notifications(self) -> list[Notification]:
        """The notifications in the order of their last changes; none without changes."""
        if not self.is_collection:
            return list(self._pending.values())
        since = "" if self._has_deletion else _earlier(self._first_at)
        return [Notification(COLLECTION, "", self._at, since)]

    def _note(self, number: int, at: str, *, has_deletion: bool) -> None:
        self._first_at = self._first_at or at
        self.number, self._at = number, at
        self._has_deletion = self._has_deletion or has_deletion

    def _fold(self, change: Change) -> None:
        last = self._last.get(change.record)
        if (
            change.verb == UPDATE
            and last is not None
            and self._pending[last].change_type == _CHANGE_TYPES[UPDATE]
        ):
            del self._pending[last]
        elif len(self._pending) == self._most:
            self.is_collection = True
            self._pending.clear()
            self._last.clear()
            return
        self._pending[change.number] = Notification(
            _CHANGE_TYPES[change.verb], change.record, change.at
        )
        self._last[change.record] = change.number


def _earlier(at: str) -> str:
    """A time shortly before another, so that `gt` finds what was changed then."""
    return instant(datetime.fromisoformat(at) - _BEFORE_FIRST)
