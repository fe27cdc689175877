"""Notifications: changes of one set, folded to as few as their receiver needs, and their bodies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.times import DateTimeOffset, instant
from comptoir.features.notifications.subscriptions import Subscription
from comptoir.response.records import key_in_path
from comptoir.store.ledger import CREATE, DELETE, UPDATE, Change

COLLECTION = "collection"
"""The change type of a notification that replaces those of many records."""

_CHANGE_TYPES = {CREATE: "created", UPDATE: "updated", DELETE: "deleted"}

_BEFORE_FIRST = timedelta(milliseconds=50)


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


@dataclass
class Fold:
    """Collects the changes after a cursor, in order, in memory for `most` notifications.

    An update is folded into the last notification of its record, if that is of an update too. If
    there would be more than `most` notifications, one collection replaces them.
    """

    most: int
    is_collection: bool = False
    """Whether the changes are too many, so a tally of the later ones suffices."""
    _pending: dict[int, Notification] = field(default_factory=dict)
    """The notifications by the numbers of their last changes, in order."""
    _last: dict[str, int] = field(default_factory=dict)
    """The number of the last notification of each record."""
    _first_at: str = ""
    _at: str = ""
    _has_deletion: bool = False

    def add(self, changes: Iterable[Change]) -> None:
        """Add changes, whose numbers rise."""
        for change in changes:
            self.note(change.at, has_deletion=change.verb == DELETE)
            if not self.is_collection:
                self._fold(change)

    def note(self, at: str, *, has_deletion: bool) -> None:
        """Note the time of a change; for a collection, that of the last of later changes."""
        self._first_at = self._first_at or at
        self._at = at
        self._has_deletion = self._has_deletion or has_deletion

    def notifications(self) -> list[Notification]:
        """The notifications in the order of their last changes; none without changes."""
        if not self.is_collection:
            return list(self._pending.values())
        since = "" if self._has_deletion else _earlier(self._first_at)
        return [Notification(COLLECTION, "", self._at, since)]

    def _fold(self, change: Change) -> None:
        last = self._last.get(change.record)
        if (
            change.verb == UPDATE
            and last is not None
            and self._pending[last].change_type == _CHANGE_TYPES[UPDATE]
        ):
            del self._pending[last]
        elif len(self._pending) == self.most:
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


_encode = msgspec.json.encode


def written(
    subscription: Subscription,
    entity_set: EntitySet,
    notifications: Iterable[Notification],
    instants: DateTimeOffset,
) -> Iterator[bytes]:
    """The notifications of a subscription as JSON objects, with times of the type `instants`."""
    ends_at = in_form(at(subscription.expires_at), instants)
    is_quoted = entity_set.type.key_property.type.quoted
    for each in notifications:
        if each.change_type == COLLECTION:
            rest = _changed_since(entity_set, each.since and in_form(each.since, instants))
        else:
            rest = key_in_path(each.record, is_quoted=is_quoted)
        yield _encode(
            {
                "subscriptionId": subscription.id,
                "clientState": subscription.client_state,
                "expirationDateTime": ends_at,
                "resource": subscription.resource + rest,
                "changeType": each.change_type,
                "lastModifiedDateTime": in_form(each.at, instants),
            }
        )


def body(objects: Iterable[bytes]) -> bytes:
    """The body of a delivery."""
    return b'{"value":[%b]}' % b",".join(objects)


def at(seconds: float) -> str:
    """A time in epoch seconds as in the change log."""
    return instant(datetime.fromtimestamp(seconds, UTC))


def in_form(stored: str, instants: DateTimeOffset) -> str:
    """A stored time as its type writes it."""
    return stored if instants.to_wire is None else str(instants.to_wire(stored))


def _changed_since(entity_set: EntitySet, since: str) -> str:
    """The query for the records of a set that were changed after a time, or for all of them."""
    stamp = entity_set.type.modified_at
    if not since or stamp is None:
        return ""
    return f"?$filter={quote(f'{stamp.name} gt {since}', safe=':$')}"
