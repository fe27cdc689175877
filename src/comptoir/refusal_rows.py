"""The refusals that clients of the API can get, except those of paths and query options."""

from dataclasses import replace
from functools import partial

from comptoir.errors import (
    BAD_REQUEST,
    COMPANY_NOT_FOUND,
    ENTITY_CHANGED,
    METHOD_NOT_ALLOWED,
    NOT_ACCEPTABLE,
    PARAM_NOT_PROVIDED,
    PRECONDITION_REQUIRED,
    RECORD_NOT_FOUND,
    REPEAT_UNTRACKED,
    Check,
)

_REJECTED = {"Repeatability-Result": "rejected"}
_header = partial(BAD_REQUEST.row, check=Check.PRECONDITION)
"""The factory of the rows of headers."""

# companies, resources and methods
UNKNOWN_COMPANY = COMPANY_NOT_FOUND.row(
    "The company {company} does not exist", "List the allowed companies with GET {root}/companies."
)
METHOD = METHOD_NOT_ALLOWED.row(
    "{method:.20} is not allowed on {resource}",
    "Allowed: {allowed}.",
    headers={"Allow": "{allowed}"},
)
METHOD_ON_SET, MERGE = replace(METHOD, group="METHOD_ON_SET"), replace(METHOD, group="MERGE")
UNKNOWN_SUBSCRIPTION = RECORD_NOT_FOUND.row(
    "The subscription {key!q} does not exist",
    "List your subscriptions with GET subscriptions.",
    group="NO_RECORD",
)
SUBSCRIPTION_KEY = BAD_REQUEST.row(
    "The key of a subscription must be its id",
    "Use subscriptions('…').",
    Check.RESOURCE,
    group="MALFORMED_KEY",
)
JSON_METADATA = NOT_ACCEPTABLE.row(
    "$metadata in JSON requires OData 4.01, and OData-MaxVersion allows 4.0",
    "Send $format=xml, or OData-MaxVersion: 4.01.",
)

# preconditions
READ_ONLY_INTENT = _header(
    "Data-Access-Intent: ReadOnly does not allow {method:.20}",
    "Remove the header, or send ReadWrite.",
)
OTHER_TOKEN = _header(
    "The Consistency-Token is for another company, or from before the company was restored",
    "Send the token of the last write to this company, or none.",
)
CREATE_UNTAGGED = PRECONDITION_REQUIRED.row(
    "Creating a record in {set} requires If-Match or If-None-Match: *",
    "Send If-Match with the ETag of the record that has this key, or with * if there is none.",
    group="NO_TAG",
)
UNTAGGED = PRECONDITION_REQUIRED.row(
    "{action} a {what} requires If-Match",
    "Read the {what}, and send its @odata.etag. Send * to accept any version.",
    group="NO_TAG",
)
SUBSCRIPTION_CHANGED = ENTITY_CHANGED.row(
    "The subscription has changed, or was deleted",
    "Read it, and send its current @odata.etag.",
    group="STALE_TAG",
)
CONTRADICTING_TAGS = ENTITY_CHANGED.row(
    "If-Match and If-None-Match: * contradict each other", "Send one of them."
)
REPEAT_TOO_LATE = REPEAT_UNTRACKED.row(
    "Repeatability-First-Sent must be within the last {seconds:g} seconds, and now it is {now}",
    "Find out whether the request was done. If not, send it as a new one.",
    headers=_REJECTED,
)
GROUP_PARTLY_REPEATABLE = _header(
    "Only some requests of the atomic group have a Repeatability-Request-ID",
    "Send one with each request, or with none.",
    headers=_REJECTED,
)
GROUP_REPEATS_ID = _header(
    "Two requests of the atomic group have the same Repeatability-Request-ID",
    "Send a different one with each request.",
    headers=_REJECTED,
)

# batches
METHOD_IN_GROUP = BAD_REQUEST.row(
    "{method:.20} is not allowed in an atomic group",
    "Send it outside the group. Allowed: POST, PATCH, PUT, DELETE.",
)
GROUP_OF_COMPANIES = BAD_REQUEST.row(
    "The requests of an atomic group are for different companies",
    "Use one group for each company.",
)

# bodies
UNKNOWN_PROPERTY = BAD_REQUEST.row(
    "{owner} has no property {name!q}", "Use a name from $metadata.", group="UNKNOWN_PROPERTY"
)
MISSING_TEXT = PARAM_NOT_PROVIDED.row("{name} is required", "Send a value.")
NOT_A_TEXT = BAD_REQUEST.row("{name} is {json}, not a text", "Send a text.")
NUL_IN_TEXT = BAD_REQUEST.row("{name} contains NUL", "Remove it.")
LONG_STATE = BAD_REQUEST.row(
    "clientState exceeds the limit of {limit} characters", "Send a shorter one."
)
TOO_MANY_SUBSCRIPTIONS = BAD_REQUEST.row(
    "The {party} has {most} subscriptions already", "Delete one, or wait until one has ended."
)
RESOURCE_CHANGED = BAD_REQUEST.row(
    "The resource of a subscription cannot be changed", "Add a subscription for the other resource."
)
UNTRACKED_RESOURCE = BAD_REQUEST.row(
    "{resource!q} is not a collection whose changes are tracked",
    "Use the URL of an entity set of a company that the token reaches: "
    "companies(<guid>)/contactsExt.",
)
URL_FRAGMENT = BAD_REQUEST.row(
    "The notification URL has the fragment {fragment!q}", "Remove it, since no server gets it."
)
HANDSHAKE_FAILED = BAD_REQUEST.row(
    "The notification URL did not return the validation token: {reason}",
    "Let it respond within {seconds:g} seconds with status 200, and the value of its query "
    "parameter validationToken as the body.",
)
