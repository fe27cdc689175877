"""The refusals of requests for subscriptions."""

from comptoir.errors.refusal import Check
from comptoir.errors.table import BAD_REQUEST, ENTITY_CHANGED, PARAM_NOT_PROVIDED, RECORD_NOT_FOUND

UNKNOWN_SUBSCRIPTION = RECORD_NOT_FOUND.row("The subscription {key!q} does not exist",
    "List your subscriptions with GET subscriptions.", group="NO_RECORD")
SUBSCRIPTION_KEY = BAD_REQUEST.row("The key of a subscription must be its id",
    "Use subscriptions('…').", Check.RESOURCE, group="MALFORMED_KEY")
SUBSCRIPTION_CHANGED = ENTITY_CHANGED.row("The subscription has changed, or was deleted",
    "Read it, and send its current @odata.etag.", group="STALE_TAG")
MISSING_TEXT = PARAM_NOT_PROVIDED.row("{name} is required", "Send a value.")
NOT_A_TEXT = BAD_REQUEST.row("{name} is {json}, not a text", "Send a text.")
NUL_IN_TEXT = BAD_REQUEST.row("{name} contains NUL", "Remove it.")
LONG_STATE = BAD_REQUEST.row("clientState exceeds the limit of {limit} characters", "Send a shorter one.")
TOO_MANY_SUBSCRIPTIONS = BAD_REQUEST.row("The {party} has {most} subscriptions already", "Delete one, or wait until one has ended.")
RESOURCE_CHANGED = BAD_REQUEST.row("The resource of a subscription cannot be changed", "Add a subscription for the other resource.")
UNTRACKED_RESOURCE = BAD_REQUEST.row("{resource!q} is not a collection whose changes are tracked",
    "Use the URL of an entity set of a company that the token reaches: companies(<guid>)/contactsExt.")
URL_FRAGMENT = BAD_REQUEST.row("The notification URL has the fragment {fragment!q}", "Remove it, since no server gets it.")
HANDSHAKE_FAILED = BAD_REQUEST.row("The notification URL did not return the validation token: {reason}",
    "Let it respond within {seconds:g} seconds with status 200, and the value of its query parameter validationToken as the body.")
