"""The refusals that clients of the API can get, except those of paths and query options."""

from dataclasses import replace
from functools import partial

from comptoir.errors import (
    BAD_REQUEST,
    BODY_TOO_LARGE,
    COMPANY_NOT_FOUND,
    ENTITY_CHANGED,
    HEADERS_TOO_LARGE,
    ISOLATION_NOT_SUPPORTED,
    KEY_EXISTS,
    METHOD_NOT_ALLOWED,
    NOT_ACCEPTABLE,
    NOT_IMPLEMENTED,
    PARAM_NOT_PROVIDED,
    PRECONDITION_REQUIRED,
    RECORD_NOT_FOUND,
    REPEAT_UNTRACKED,
    REQUEST_DENIED,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_MEDIA_TYPE,
    Check,
    ErrorType,
    RefusalRow,
)

_REJECTED = {"Repeatability-Result": "rejected"}
_header = partial(BAD_REQUEST.row, check=Check.PRECONDITION)
"""The factory of the rows of headers."""
_syntax = partial(BAD_REQUEST.row, check=Check.SYNTAX)
"""The factory of the rows of malformed bodies."""


def _batch(problem: str, remedy: str, error: ErrorType = BAD_REQUEST) -> RefusalRow:
    """The row of a malformed part of a batch."""
    remedy += " No request of the batch was executed."
    return error.row(problem + " in {place}", remedy, Check.SYNTAX)


# companies, resources and methods
UNKNOWN_COMPANY = COMPANY_NOT_FOUND.row("The company {company} does not exist", "List the allowed companies with GET {root}/companies.")
METHOD = METHOD_NOT_ALLOWED.row("{method:.20} is not allowed on {resource}", "Allowed: {allowed}.", headers={"Allow": "{allowed}"})
METHOD_ON_SET, MERGE = replace(METHOD, group="METHOD_ON_SET"), replace(METHOD, group="MERGE")
UNKNOWN_SUBSCRIPTION = RECORD_NOT_FOUND.row("The subscription {key!q} does not exist",
    "List your subscriptions with GET subscriptions.", group="NO_RECORD")
SUBSCRIPTION_KEY = BAD_REQUEST.row("The key of a subscription must be its id",
    "Use subscriptions('…').", Check.RESOURCE, group="MALFORMED_KEY")
JSON_METADATA = NOT_ACCEPTABLE.row("$metadata in JSON requires OData 4.01, and OData-MaxVersion allows 4.0",
    "Send $format=xml, or OData-MaxVersion: 4.01.")

# preconditions
READ_ONLY_INTENT = _header("Data-Access-Intent: ReadOnly does not allow {method:.20}", "Remove the header, or send ReadWrite.")
OTHER_TOKEN = _header("The Consistency-Token is for another company, or from before the company was restored",
    "Send the token of the last write to this company, or none.")
CREATE_UNTAGGED = PRECONDITION_REQUIRED.row("Creating a record in {set} requires If-Match or If-None-Match: *",
    "Send If-Match with the ETag of the record that has this key, or with * if there is none.", group="NO_TAG")
UNTAGGED = PRECONDITION_REQUIRED.row("{action} a {what} requires If-Match",
    "Read the {what}, and send its @odata.etag. Send * to accept any version.", group="NO_TAG")
SUBSCRIPTION_CHANGED = ENTITY_CHANGED.row("The subscription has changed, or was deleted",
    "Read it, and send its current @odata.etag.", group="STALE_TAG")
CONTRADICTING_TAGS = ENTITY_CHANGED.row("If-Match and If-None-Match: * contradict each other", "Send one of them.")
REPEAT_TOO_LATE = REPEAT_UNTRACKED.row("Repeatability-First-Sent must be within the last {seconds:g} seconds, and now it is {now}",
    "Find out whether the request was done. If not, send it as a new one.", headers=_REJECTED)
GROUP_PARTLY_REPEATABLE = _header("Only some requests of the atomic group have a Repeatability-Request-ID",
    "Send one with each request, or with none.", headers=_REJECTED)
GROUP_REPEATS_ID = _header("Two requests of the atomic group have the same Repeatability-Request-ID",
    "Send a different one with each request.", headers=_REJECTED)

# batches
METHOD_IN_GROUP = BAD_REQUEST.row("{method:.20} is not allowed in an atomic group",
    "Send it outside the group. Allowed: POST, PATCH, PUT, DELETE.")
GROUP_OF_COMPANIES = BAD_REQUEST.row("The requests of an atomic group are for different companies", "Use one group for each company.")

# bodies
UNKNOWN_PROPERTY = BAD_REQUEST.row("{owner} has no property {name!q}", "Use a name from $metadata.", group="UNKNOWN_PROPERTY")
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

# headers
NOT_TAGS = _header("Invalid value {value!q} for {header}",
    'Send *, or entity tags such as W/"…" separated by commas. Send @odata.etag as it was received, including the quotes.')
MALFORMED_TAG = replace(NOT_TAGS, group="MALFORMED_TAG")
OTHER_VERSION = _header("Invalid value {value!q} for {header}",
    "Use a client of OData 4, which sends OData-Version: 4.0 and OData-MaxVersion: 4.0 or 4.01, or omit these headers.")
INVALID_INTENT = _header("Invalid value {value!q} for Data-Access-Intent", "Send ReadOnly or ReadWrite.")
INVALID_TOKEN = _header("Invalid value {value!q} for Consistency-Token",
    "Send the token of a response to a write as it was received, or omit the header to read from the primary database.")
INCOMPLETE_REPEAT = _header("A repeatable request needs both Repeatability-Request-ID and Repeatability-First-Sent",
    "Send {header} too.", headers=_REJECTED)
REPEAT_ID = _header("Invalid value {value!q} for {header}",
    "Send 1 to {longest} characters of printable ASCII, such as a Guid.", headers=_REJECTED)
REPEAT_TIME = _header("Invalid value {value!q} for Repeatability-First-Sent",
    "Send an HTTP date such as Tue, 26 Mar 2019 16:06:51 GMT (RFC 9110, 5.6.7).", headers=_REJECTED)
SNAPSHOT = ISOLATION_NOT_SUPPORTED.row("{header} {value!q} is not supported, and nothing was done", "Send the request without the header.")
NO_FORMAT = NOT_ACCEPTABLE.row("The resource has none of the formats in {place}", "Accept {formats}.")
FORMAT = NOT_ACCEPTABLE.row(
    "Invalid value {value!q} for {place}",
    "Accept application/json, with the parameters odata.metadata (minimal, none, full), "
    "odata.streaming, IEEE754Compatible and charset=utf-8.",
)
CHARSET = NOT_ACCEPTABLE.row("Responses are in UTF-8, which Accept-Charset excludes", "Add utf-8, or omit Accept-Charset.")
NOT_JSON_TYPE = UNSUPPORTED_MEDIA_TYPE.row("Invalid value {value!q} for Content-Type",
    "Send a body in UTF-8, with Content-Type: application/json.")
NOT_A_BATCH_TYPE = UNSUPPORTED_MEDIA_TYPE.row("Invalid value {value!q} for Content-Type",
    "Send a batch as application/json or multipart/mixed.")
BOUNDARY = _header("Content-Type has no valid boundary", "Send for example multipart/mixed; boundary=batch_1.")

# the syntax of bodies
EMPTY_BODY = _syntax("The body is empty", "Send a JSON object.", group="NO_OBJECT")
NOT_AN_OBJECT = _syntax("The body is {json}, not a JSON object", 'Send an object such as {{"displayName": "…"}}.', group="NO_OBJECT")
MEMBER_TWICE = _syntax("{name!q} is given twice", "Send it once.")
ANNOTATION = _syntax("{name!q} is not supported in this body", "Send only properties.")
TOO_MANY_VALUES = _syntax("The body exceeds the limit of {most} values", "Send fewer records at once.")
SAME_TAG_TWICE = BAD_REQUEST.row("{one} and {other} have the same meaning", "Send one of them.")
TAG_IN_BODY = BAD_REQUEST.row("Invalid value {value!q} for {name}",
    "Send the tag as it was received, including the quotes, or send If-Match.")
BODY_NOT_UTF_8 = _syntax("The body is not UTF-8 at byte {byte}", "Encode it as UTF-8.", group="MALFORMED_JSON")
MALFORMED_JSON = _syntax("{reason} in the body", "Correct it.", group="MALFORMED_JSON")
BODY_TOO_DEEP = _syntax("The body nests arrays or objects too deeply", "Send an object whose values are not nested.")
LONG_NUMBER = _syntax("The body contains a number with too many digits", "Shorten it.")

# the syntax of batches
NO_REQUESTS = _syntax("The batch has no requests", "Send an array of them.")
BATCH_NOT_SUPPORTED = _batch("{construct} is not supported", "Send the batch without it.", error=NOT_IMPLEMENTED)
LONG_CHANGE_SET = replace(BATCH_NOT_SUPPORTED, group="LONG_CHANGE_SET")
LONG_BATCH = BODY_TOO_LARGE.row("The batch exceeds the limit of {limit} requests",
    "Send several batches. No request of the batch was executed.", Check.SYNTAX, group="TOO_MANY_PARTS")
LARGE_HEADERS_IN_BATCH = _batch("The URL or the headers exceed the limit of {limit} bytes or {fields} headers",
    "Send fewer or shorter headers.", error=HEADERS_TOO_LARGE)
BATCH_METHOD = _batch("Invalid method {method!q}", "Use one of {methods}.")
BATCH_ID = _batch("Invalid id {id!q}", "Use 1 to {longest} printable ASCII characters, such as 1.")
BATCH_HEADER = _batch("The header {header!q} contains characters that HTTP does not allow", "Remove them.")
HEADER_TWICE = _batch("The header {header!q} is given twice", "Send it once.")
NO_COLON = _batch("The header {header!q} has no colon", "Write it as Name: value.")
BODY_IN_BATCH = _batch("{method} has a body", "Remove the body.")
LATER_ID = _batch("The id {id!q} is not that of an earlier request", "Refer to a request before this one.")
HASH_IN_URL = _batch("The URL contains #", "Encode it as %23.")
TWO_SLASHES = _batch("The URL begins with two slashes", "Remove one of them.")
URL_NOT_UTF_8 = _batch("The URL is not UTF-8", "Encode it as UTF-8.")
OTHER_SERVICE = _batch("{url!q} is not a URL of this service", "Send a URL that is relative to the service root.")
BATCH_IN_BATCH = _batch("A batch cannot contain a batch", "Send its requests instead.")
BATCH_ID_TWICE = _batch("The id {id!q} is given twice", "Choose another one.")
GROUP_HAS_ID = _batch("The group {group!q} has the id of a request", "Choose another one.")
GROUP_APART = _batch("The requests of the group {group!q} are not adjacent", "Send them one after another.")
MISSING_MEMBER = _batch("{member} is missing", "Add it.")
UNKNOWN_MEMBER = _batch("Unknown member {member!q}", "Use only {members}.")
BATCH_MEMBER_TWICE = _batch("{member!q} is given twice", "Send it once.")
TOO_MANY_IDS = _batch("More than {most} ids are named", "Send each id once.")
NOT_BASE64 = _batch("The body of type {media!q} is not base64url-encoded", "Encode it.")
BATCH_JSON_TYPE = _batch("Invalid JSON value", "Send {wanted}.")
BATCH_JSON_NOT_UTF_8 = _batch("The JSON is not UTF-8", "Encode it as UTF-8.")
BATCH_JSON = _batch("{reason}", "Correct it.")
BATCH_JSON_TOO_DEEP = _batch("The JSON nests too deeply", "Nest it less.")
LONG_CONDITION = _batch("The condition exceeds the limit of {limit} characters", "Shorten it.")
DEEP_CONDITION = _batch("The condition exceeds the limit of {limit} levels of nesting", "Nest it less.")
OPEN_CONDITION = _batch("')' closes a bracket that is not open", "Remove it, or open a bracket before it.")
INCOMPLETE_CONDITION = _batch("The condition is incomplete", "Complete it.")
INNER_BOUNDARY = _batch("{problem}", "{remedy}")
CHANGE_SET_IN_CHANGE_SET = _batch("A change set contains a change set", "Merge them.")
GET_IN_CHANGE_SET = _batch("A change set contains a GET", "Send it before or after the change set.")
PART_TYPE = _batch("The Content-Type is invalid", "Send application/http.")
CONTENT_ID_TWICE = _batch("The Content-ID {id!q} is given twice", "Choose another one.")
NO_BOUNDARY = _batch("The boundary --{boundary:.70}{end} is missing", "Add the line.")
REQUEST_LINE = _batch("The request line is malformed", "Begin with a line such as GET contactsExt HTTP/1.1.")
CONTENT_LENGTH = _batch("Content-Length is not the {length} bytes of the body", "Remove the header.")
SHORT_CONTENT_LENGTH = _batch("The body is longer than its Content-Length of {length} bytes", "Remove the header.")

# writes
REPEAT_ID_TAKEN = _header("Another request had this Repeatability-Request-ID",
    "Send the unchanged request again, or use another id.", headers=_REJECTED)
GROUP_PARTLY_REPEATED = _header("Only some requests of the group with this Repeatability-Request-ID were executed before",
    "Send the unchanged group again, or use other ids for all of its requests.", headers=_REJECTED)
RELATED_LACKS_VALUE = PARAM_NOT_PROVIDED.row("The related records need a value for {name}", "Send it.")
STALE_TAG = ENTITY_CHANGED.row("The record has changed, and its ETag is now {tag}",
    "Read the record again, and send its current ETag in If-Match.", group="STALE_TAG")
SAME_TAG = ENTITY_CHANGED.row("If-None-Match contains the record's ETag", "Send the request without that header.")
RECORD_EXISTS = ENTITY_CHANGED.row("A record with this key exists, which If-None-Match: * excludes", "Update the record instead.")

# requests that are batches
SINGLE_ONLY = _header("{header} applies to a single request, not to a batch", "Send it with the requests in the batch.")
LONG_BATCH_ID = _header("Repeatability-Request-ID of a batch exceeds the limit of {limit} characters", "Send a Guid.", headers=_REJECTED)
OTHER_AUTHORIZATION = _batch("Authorization differs from that of the batch", "Remove it, or send the request separately.")

# records
UNKNOWN_SEGMENT = RESOURCE_NOT_FOUND.row("The resource '{path:.200}' does not exist",
    "Check the spelling. Names are case-sensitive, and most resources are under companies(<guid>)/.", group="UNKNOWN_SEGMENT")
UNKNOWN_RECORD = RECORD_NOT_FOUND.row("{name} has no record with the key {key!q}",
    "List {name} to find the existing keys.", group="NO_RECORD")
NO_RELATED_RECORD = RECORD_NOT_FOUND.row("{name} leads to no record", "Write to a record of {related} by its key.", group="NO_RECORD")
RIGHT_MISSING = REQUEST_DENIED.row("The roles of the client do not allow {doing} {name}",
    "Ask the operator for a role that allows it.", group="RIGHT_MISSING", headers={"WWW-Authenticate": 'Bearer error="insufficient_scope"'})

# values
NULL = BAD_REQUEST.row("{name} must not be null", "{advice}", group="NULL_VALUE")
MISSING = PARAM_NOT_PROVIDED.row("{name} {fault}", "Send a value for it.", group="NO_VALUE")
READ_ONLY = BAD_REQUEST.row("{field} is read-only", "Remove it from the body.", group="READ_ONLY")
BLANK_KEY = BAD_REQUEST.row("{name} {key!q} does not identify a record", "Use another key.")
RELATED_IN_BODY = NOT_IMPLEMENTED.row("Writing related records in a body, as in {name}, is not supported",
    "Remove {name}, and write the related records in their own entity set.")
TOO_MANY_RELATED = BAD_REQUEST.row("The body exceeds the limit of {limit} related records", "Create the others in their own entity set.")
NOT_RELATED_OBJECTS = BAD_REQUEST.row("{name} must be an array of objects, not {json}", "Send an object for each related record.")

# values that their type does not accept
EMPTY_VALUE = BAD_REQUEST.row("{name} must not be empty", "Send a value for it.")
NULL_VALUE = BAD_REQUEST.row("{name} must not be null", "Send {empty} to clear it.")
WRONG_JSON = BAD_REQUEST.row("{name} must be {expected}, not {json}", "Send a value such as {example}.")
NOT_OF_TYPE = BAD_REQUEST.row("{name} must be {expected}, not {value!q}", "Send a value such as {example}.")
LONG_TEXT = BAD_REQUEST.row("{name} exceeds the limit of {limit} characters", "Shorten it by {excess}.", group="TOO_LONG")
LONG_CELL = BAD_REQUEST.row("{name} exceeds the limit of {limit} characters", "Shorten it, or raise the setting body_bytes.")
NUL_IN_VALUE = BAD_REQUEST.row("{name} contains a NUL character", "Remove it.")
SURROGATE = BAD_REQUEST.row("{name} contains an unpaired surrogate at character {position}", "Send whole Unicode characters.")
NOT_BASE64_TEXT = BAD_REQUEST.row("{name} must be Base64-encoded text (RFC 4648, with padding)",
    "Encode the text in UTF-8, then in Base64.")
NOT_AN_EMAIL = BAD_REQUEST.row("{name} must be an e-mail address, not {value!q}", "Send name@example.com.", group="NO_EMAIL")
LETTERS_IN_PHONE = BAD_REQUEST.row("{name} must not contain letters, such as {text!q}", "Send digits.", group="LETTERS_IN_PHONE")
NOT_AN_OPTION = BAD_REQUEST.row("{name} must be {expected}, not {value!q}", "Send an option.", group="NO_OPTION")
IS_A_STREAM = BAD_REQUEST.row("{name} is a stream", "Write it by a PATCH to its own address.")
OUT_OF_RANGE = BAD_REQUEST.row("{name} must be between {minimum} and {maximum}", "Send a number in this range.")
LARGE_NUMBER = BAD_REQUEST.row("{name} has more than {most} digits before the decimal point", "Send a smaller number.")
PRECISE_NUMBER = BAD_REQUEST.row("{name} has more than {most} digits after the decimal point", "Send fewer digits.")
LONG_EXPONENT = BAD_REQUEST.row("{name} has an exponent with too many digits", "Write a smaller one.")
NO_DATE = BAD_REQUEST.row("{name} must be an existing date, not {value!q}", "Correct the day or the month.")
NO_OFFSET = BAD_REQUEST.row("{name} must have an offset between -23:59 and +23:59, not {value!q}", "Correct the offset.")
NO_INSTANT = BAD_REQUEST.row("{name} must be an existing date and time of the years 1 to 9999, not {value!q}",
    "Correct the date, the time or the offset.")
NO_TIME = BAD_REQUEST.row("{name} must be an existing time of day, not {value!q}", "Send a time between 00:00:00 and 23:59:59.999.")
LONG_DURATION = BAD_REQUEST.row("{name} must have at most {most} digits of seconds, not {value!q}", "Send a shorter duration.")
NOT_MIDNIGHT = BAD_REQUEST.row("{name} is compared with a date, but is not midnight in UTC", "Write the date alone: {date}.")

# records that others are related to
MISSING_KEY = PARAM_NOT_PROVIDED.row("{name} is required", "Send a value for it.")
NO_NUMBER = BAD_REQUEST.row("No number after the highest {name} is free", "Send a free {name}.")
DUPLICATE = KEY_EXISTS.row("Another record has the same {names}, which must be unique", "Send other values, or update that record.")
KEY_TAKEN = KEY_EXISTS.row("Another record of {set} has the same {names}, which must be unique",
    "Send other values, or update that record.", group="KEY_TAKEN")
BEGINS_LATE = BAD_REQUEST.row("{name} must be before {limit}", "Send other days.", group="BEGINS_LATE")
ENDS_EARLY = BAD_REQUEST.row("{name} must be after {limit}", "Send other days.", group="ENDS_EARLY")
NOT_RELATED = BAD_REQUEST.row("{name} must be the {key} of a record of {set}, not {value!q}",
    "Create that record first, or send another value.", group="NO_RELATED")
IN_USE = BAD_REQUEST.row("Records of {referrer} name {key!q} of {set}", "Change their {name} first.", group="IN_USE")
FOLLOWING_VALUE = BAD_REQUEST.row("{name}, which follows from {source}, {fault}", "Send another {source}, or send {name} as well.")
COMPANY_LEAVING = KEY_EXISTS.row("The company {company} is being deleted, or its deletion was interrupted",
    "Choose another id, or finish the deletion with `comptoir company delete {company}`.")
COMPANY_COPIED = KEY_EXISTS.row("The company {company} is being copied, or its copy was interrupted",
    "Choose another id, or finish the copy.")
COMPANY_GONE = COMPANY_NOT_FOUND.row("The company {company} was deleted, or is being copied to this database",
    "List the companies to find those that exist.")
