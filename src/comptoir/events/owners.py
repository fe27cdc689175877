"""Whether the owners of subscriptions may still have their notifications."""

from comptoir.auth.records import ClientState, Known
from comptoir.auth.tokens import Scope, implied
from comptoir.events.subscriptions import Subscription

NEEDED = frozenset({Scope.RECORDS_READ, Scope.EVENTS})
"""The scopes that a subscription needs."""

_CLIENT = "client:"


def lost_right(subscription: Subscription, known: Known) -> str:
    """Why the owner may not have the notifications by what is known; blank if it may.

    Only a client can be judged; the subscription of another token lasts until its end.
    """
    if not subscription.owner.startswith(_CLIENT):
        return ""
    client = next((c for c in known.clients.values() if c.party == subscription.owner), None)
    if client is None or client.state is not ClientState.ACTIVE:
        return "the client was disabled or removed"
    if client.companies is not None and subscription.company_id not in client.companies:
        return "the client no longer has the company"
    if not implied(client.scopes) >= NEEDED:
        return "the client no longer has the scopes"
    rights = known.roles.rights_of(client.roles)
    if rights is not None and subscription.sets not in rights.readable:
        return "the client may no longer read the entity set"
    return ""
