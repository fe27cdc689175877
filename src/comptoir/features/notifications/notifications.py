"""The bodies of deliveries: the notifications of the subscriptions of one URL."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.times import DateTimeOffset, instant
from comptoir.features.notifications.fold import COLLECTION, Notification
from comptoir.features.notifications.subscriptions import Subscription
from comptoir.response.records import key_in_path

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
