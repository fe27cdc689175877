"""The refusals of tokens, of limits, of HTTP and of the database."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from comptoir.errors import (
    BAD_REQUEST,
    BODY_TOO_LARGE,
    COMPANY_NOT_FOUND,
    DATABASE_BUSY,
    DATABASE_FULL,
    DATABASE_NOT_READY,
    DATABASE_OLDER,
    DATABASE_READ_ONLY,
    DATABASE_UNREACHABLE,
    FAILED_DEPENDENCY,
    HEADERS_TOO_LARGE,
    HTTP_VERSION_NOT_SUPPORTED,
    INTERNAL_ERROR,
    INVALID_CREDENTIALS,
    INVALID_URL,
    ISSUER_UNREACHABLE,
    NOT_ACCEPTABLE,
    NOT_IMPLEMENTED,
    REQUEST_DENIED,
    REQUEST_TIMEOUT,
    RESOURCE_NOT_FOUND,
    SERVICE_READ_ONLY,
    TOO_MANY_REQUESTS,
    UNAVAILABLE,
    UNSUPPORTED_MEDIA_TYPE,
    URI_TOO_LONG,
    Check,
    ExceededLimit,
)

_ASK, _LATER = "Ask the operator to fix this.", "Send the request again later."
_AS_ISSUED, _NEW_ONE = "Send it exactly as it was issued.", "Get a new one."
_BARE = {"WWW-Authenticate": 'Bearer realm="comptoir"'}
"""The challenge without an error, for a client that may not know that it needs a token."""

_header = partial(BAD_REQUEST.row, check=Check.PRECONDITION)
"""The factory of the rows of headers."""
_token = partial(INVALID_CREDENTIALS.row, group="BAD_CREDENTIALS")
"""The factory of the rows of tokens."""


def _retry(seconds: int | str) -> Mapping[str, str]:
    return {"Retry-After": f"{seconds}"}


# the database
QUERY_TOO_LONG = UNAVAILABLE.row("The query took longer than {seconds:g} s",
    "Narrow the filter, or sort by the key.", group="LONG_WORK", headers=_retry(5))
QUERY_STOPPED = replace(QUERY_TOO_LONG, problem="The query took too long")
NOT_COMPUTABLE = INVALID_URL.row("The query cannot be computed: {cause}", "Change the expression, or exclude the records with such values.")
TOO_COMPLEX = NOT_IMPLEMENTED.row("The expression is too large for the database", "Split the query into smaller ones.")
INVALID_TEXT = INVALID_URL.row("A text has a character that the database does not support", "Remove the NUL or invalid character.")
SERVICE_STOPPED = UNAVAILABLE.row("The service stopped before it finished this request",
    "Nothing was changed. Send the request again.", headers=_retry(5))
STOPPING_IN_DOUBT = UNAVAILABLE.row("The service is stopping, and the outcome of the write is unknown",
    "Read the record before you send the write again.", headers=_retry(5))
ROLLED_BACK = DATABASE_UNREACHABLE.row("The connection to the database was lost, and nothing was changed",
    "Send the request again.", headers=_retry(1))
LOST_IN_DOUBT = DATABASE_UNREACHABLE.row(
    "The connection to the database was lost during the commit, and the outcome of the write is "
    "unknown",
    "Read the record before you send the write again.",
    headers=_retry(5),
)
READS_WAITING = DATABASE_BUSY.row("{reads} are already waiting or running",
    "Send the request again after {seconds} seconds.", headers=_retry("{seconds}"))
NO_CONNECTION = DATABASE_BUSY.row("No connection to the database became free within {seconds:g} s",
    "Send the request again after a second.", headers=_retry(1))
WRITES_WAITING = TOO_MANY_REQUESTS.row("{waiting} writes are already waiting",
    "Send the request again after a second.", group="TOO_MANY_REQUESTS", limit=ExceededLimit.QUEUE, headers=_retry(1))
READ_ONLY_SERVICE = SERVICE_READ_ONLY.row("The service only reads, because its setting read_only is on",
    "Read only, or ask the operator which service accepts writes.")
LOST_CHANGES = DATABASE_OLDER.row("The database has lost changes of the company {company}",
    "Ask the operator to run `comptoir company renew`, then send the request again.", headers=_retry(60))
LARGE_BASELINE = BAD_REQUEST.row("The mark exceeds the limit of {limit} records", "Rehearse with fewer records.")
UNREADABLE_CLIENTS = DATABASE_NOT_READY.row("The clients in the database cannot be read by this release", _ASK, headers=_retry(5))
UNFIT_DATABASE = replace(UNREADABLE_CLIENTS, problem="The database does not meet the requirements of the service")
UNANSWERED = DATABASE_UNREACHABLE.row("The database did not answer in time", "Send the request again.", headers=_retry(1))
LOCK_HELD = DATABASE_BUSY.row("Another process holds the database's lock", "Send the request again after a second.", headers=_retry(1))
LOCK_TIMEOUT = DATABASE_BUSY.row("Another transaction has held a lock for too long", _LATER, headers=_retry(1))
DISK_FULL = DATABASE_FULL.row("The disk of the database is full", "Ask the operator to free some space.", headers=_retry(1))
DISK_FULL_OF_SERVER = replace(DISK_FULL, headers=_retry(30))
READ_ONLY_FOLDER = DATABASE_READ_ONLY.row("The database is read-only", "Ask the operator to make its folder writable.", headers=_retry(1))
DATABASE_FAILED = UNAVAILABLE.row("The database failed",
    "Send the request again; if it fails again, ask the operator for the error in the log.", headers=_retry(1))
UNREACHABLE = DATABASE_UNREACHABLE.row("The database cannot be reached", _LATER, headers=_retry(5))
CONNECTION_LOST = DATABASE_UNREACHABLE.row("The connection to the database was lost", _LATER, headers=_retry(1))
NO_HOST = replace(UNREACHABLE, problem="No host of the database has the required role")
STARTING = replace(UNREACHABLE, problem="The database is starting or stopping")
NO_TLS = DATABASE_UNREACHABLE.row("The database cannot be reached over TLS", _ASK, headers=_retry(5))
MISCONFIGURED = replace(NO_TLS, problem="The service is not configured correctly for its database")
REJECTED_USER = replace(NO_TLS, problem="The database rejects the user of the service")
NO_DATABASE = replace(NO_TLS, problem="The server does not have the database of the service")
NO_PRIVILEGES = DATABASE_NOT_READY.row("The service lacks privileges in the database", "Ask the operator to grant them.", headers=_retry(5))
NO_TABLES = DATABASE_NOT_READY.row("The database lacks tables, columns or functions of the service",
    "Ask the operator to run `comptoir migrate`.", headers=_retry(5))
NO_SCHEMA = replace(UNREADABLE_CLIENTS, problem="The database has no schema for the tables of the service")
TOO_MANY_CONNECTIONS = DATABASE_BUSY.row("The database accepts no more connections now", _LATER, headers=_retry(5))
SHORT_OF_MEMORY = DATABASE_BUSY.row("The database is short of memory", "Ask for less, or send the request again later.", headers=_retry(5))
STANDBY = DATABASE_READ_ONLY.row("The database is read-only now, as a standby is", _LATER, headers=_retry(5))
CONFLICT = DATABASE_BUSY.row("Concurrent transactions conflicted, and nothing was changed", "Send the request again.", headers=_retry(1))

# tokens
NO_HEADER = _token("The request has no Authorization header", INVALID_CREDENTIALS.remedy, headers=_BARE)
NO_TOKEN = replace(NO_HEADER, problem="The Authorization header has no bearer token")
NOT_PRIVATE = _token("The credentials were not sent over HTTPS",
    "Send the request to an https address, and replace the secret.", headers=_BARE)
WRONG_SECRET = _token("{problem}", "{remedy}", headers=_BARE)
TOO_MANY_GUESSES = TOO_MANY_REQUESTS.row("{problem}", "{remedy}")
LONG_TOKEN = _token("The bearer token exceeds the limit of {limit} bytes", "Use a token with fewer claims.")
TOKEN_NOT_ASCII = _token("The bearer token contains non-ASCII characters", _AS_ISSUED)
MALFORMED_TOKEN = _token("The bearer token is malformed: {reason}", _AS_ISSUED)
WRONG_SIGNATURE = _token("The bearer token's signature is invalid", _AS_ISSUED)
ALGORITHM = _token("The bearer token's algorithm (alg) is not accepted", "Use a token that is signed with {algorithms}.")
TOKEN_TYPE = _token("The bearer token's type (typ) is not that of an access token", "Send the access token that the issuer returned.")
ID_TOKEN = replace(TOKEN_TYPE, problem="The bearer token is an ID token")
EXTENSIONS = _token("The bearer token requires extensions (crit), which are not supported", "Use a token without them.")
NO_KEY_NAME = _token("The bearer token does not name its signing key (kid)", "Use a token whose header names it.")
KEY_MISFIT = _token("The bearer token's signing key (kid) does not fit its algorithm (alg)", "Get a new token from its issuer.")
FOREIGN_KEY = replace(KEY_MISFIT, problem="The bearer token's signing key (kid) is not one of its issuer's")
UNTRUSTED_KEY = _token("The bearer token's signing key (kid) is not trusted",
    "Use a token of this service, or ask the operator to add the public key of the token's issuer to the key directory.")
UNTRUSTED_ISSUER = _token("The bearer token's issuer (iss) is not trusted", "Use a token of the issuer {issuer}.")
OTHER_AUDIENCE = _token("The bearer token is for another audience (aud)", "Use a token for the audience {audience}.")
EXPIRED = _token("The bearer token expired at {time} (exp)", _NEW_ONE)
NOT_YET_VALID = _token("The bearer token is not valid before {time} (nbf)",
    "Wait until then. Compare the clocks of the issuer and the service.")
ISSUED_LATER = _token("The bearer token was issued in the future, at {time} (iat)", "Compare the clocks of the issuer and the service.")
INVALID_CLAIMS = _token("The bearer token's claims are invalid: {reason}", "Use a token that follows RFC 9068.")
CLAIM_LACKS_VALUE = _token("The bearer token does not have the value of {claim} that its issuer requires",
    "Ask the operator which tokens are accepted.")
REVOKED = _token("The bearer token was revoked", _NEW_ONE)
CLIENT_ENDED = _token("The client of the bearer token was disabled or removed", "Ask the operator for another client.")
CLIENT_RENEWED = _token("The client was disabled after it got the bearer token", _NEW_ONE)
OTHER_ISSUER_OF_LOGIN = _token("The ID token is another issuer's (iss)", "Log in again.")
SHARED_LOGIN = _token("The ID token is not for the console alone (aud)", "Log in again.")
OTHER_CLIENT_OF_LOGIN = _token("The ID token was given to another client (azp)", "Log in again.")
OTHER_LOGIN = _token("The ID token is that of another login (nonce)", "Log in again.")
OLD_LOGIN = _token("The ID token is older than the login (iat)", "Log in again.")
UNREACHABLE_ISSUER = ISSUER_UNREACHABLE.row("The keys of the token's issuer cannot be fetched",
    "Send the request again after {seconds} seconds.", headers=_retry("{seconds}"))
SCOPE_MISSING = REQUEST_DENIED.row("The token lacks the scope {scope}",
    "Use a token with this scope.", headers={"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="{scope}"'})

# limits
_again = partial(TOO_MANY_REQUESTS.row, remedy="Send the request again after {seconds} second{plural}.", headers=_retry("{seconds}"))
RATE = _again("The client has sent more requests than {rate}", group="TOO_MANY_REQUESTS", limit=ExceededLimit.RATE)
CONCURRENCY = _again("The client has {limit} requests under way", group="TOO_MANY_REQUESTS", limit=ExceededLimit.CONCURRENCY)
QUOTA = _again("The client has read the {records} records of its day", limit=ExceededLimit.QUOTA)
PIPELINED = TOO_MANY_REQUESTS.row("{limit} requests already wait on this connection",
    "Read their responses before you send more, or use more connections.", headers=_retry(1))
LOGINS_FAILED = TOO_MANY_REQUESTS.row("Too many logins from this address failed",
    "Wait for the seconds in Retry-After, and log in again.", headers=_retry("{seconds}"))
QUEUED_TOO_LONG = UNAVAILABLE.row("The client's other requests did not end within {seconds:g} seconds",
    "Send fewer requests at once.", headers=_retry(1))
LONG_URL = URI_TOO_LONG.row("{what} exceeds the limit of {limit} bytes", "Shorten the filter, or split it over several requests.")
LARGE_BODY = BODY_TOO_LARGE.row("The body exceeds the limit of {limit} bytes", "Send less at a time.")
LARGE_SNAPSHOT = BODY_TOO_LARGE.row("The size of what the batch reads exceeds the limit of {limit} bytes",
    "Read less, or without Isolation: snapshot.")
LARGE_HEAD = HEADERS_TOO_LARGE.row("The head of the request exceeds the limit of {limit} bytes", "Send fewer or shorter headers.")
LARGE_TRAILERS = HEADERS_TOO_LARGE.row("The size of the body's trailers and chunk extensions exceeds the limit of {limit} bytes",
    "Send fewer or shorter ones, or none.")
SLOW_REQUEST = REQUEST_TIMEOUT.row("The request did not arrive within {seconds:g} seconds",
    "Send it without pauses, or send less at a time.")

# HTTP
FAILED = INTERNAL_ERROR.row("The service failed", "Ask the operator for the cause, which is in the log under the id {id}.")
NOT_HTTP = BAD_REQUEST.row("The request is not valid HTTP/1.1: {reason}", "Send HTTP/1.1 (RFC 9112).")
HTTP_VERSION = HTTP_VERSION_NOT_SUPPORTED.row("{version} is not supported", "Send HTTP/1.1.")
INCOMPLETE = BAD_REQUEST.row("The client stopped sending before the end of the request", "Send the whole request.")
HOST = BAD_REQUEST.row("The request has {fault}", "Send one Host header, with the host and port of the URL (RFC 9112, 3.2).")
INVALID_HOST = replace(HOST, problem="Invalid Host header {value!q}")
CHUNKED_1_0 = _header("HTTP/1.0 does not have Transfer-Encoding", "Send HTTP/1.1, or the body with its Content-Length.")
TRANSFER_CODING = NOT_IMPLEMENTED.row("Transfer-Encoding {value!q} is not supported", "Send the body chunked, or with its Content-Length.")
CONNECT = NOT_IMPLEMENTED.row("CONNECT is not supported", "Send requests for the service's own resources.")
HASH_IN_TARGET = BAD_REQUEST.row("The request target contains a #", "Send a # within a value as %23, and no fragment.")
REQUEST_TARGET = BAD_REQUEST.row("Invalid request target {value!q}", "Send a path that begins with a slash, or an absolute URL.")
CONTENT_CODING = UNSUPPORTED_MEDIA_TYPE.row(
    "Content-Encoding {value!q} is not supported for request bodies",
    "Send the body without Content-Encoding.",
    # the supported codings (RFC 9110, 15.5.16)
    headers={"Accept-Encoding": "identity"},
)
NO_CODING = NOT_ACCEPTABLE.row("Accept-Encoding excludes every coding of the service", "Accept zstd, gzip or identity.")
NO_PAGE = RESOURCE_NOT_FOUND.row("The service has no page at this path", "Use the API at {url}{documented}.")
NO_API = RESOURCE_NOT_FOUND.row("The API is not at this address",
    "Use an address of docs/reference/profiles.md, with names that the settings have.", group="UNKNOWN_ADDRESS")
NO_ENVIRONMENT = replace(NO_API, group="UNKNOWN_ENVIRONMENT")
UNNAMED_COMPANY = COMPANY_NOT_FOUND.row("The company {name!q} does not exist", "List the allowed companies to find their names.")
UNKNOWN_KEY = BAD_REQUEST.row("The key of {id} is not known before its atomic group is committed",
    "Use the key of the record, or refer to it after the group.")
NO_TAG = _header("The response to {id} has no ETag", "Refer to a response that has one, such as that of a single record.")
_BEFORE = "Nothing was changed. Correct the cause and send the request again."
CONDITION_FALSE = FAILED_DEPENDENCY.row("The request was not processed because its condition (if) is false", _BEFORE)
DEPENDENCY_FAILED = FAILED_DEPENDENCY.row("The request was not processed because it depends on {id}, which failed", _BEFORE)
GROUP_REFUSED = FAILED_DEPENDENCY.row("The request was not processed because {id} of the same atomic group was refused", _BEFORE)
BATCH_ENDED = FAILED_DEPENDENCY.row("The request was not processed because an earlier request failed, and the batch stops at errors",
    _BEFORE)
RENEWED = UNAVAILABLE.row("The company {company} was renewed during the request", "Send the request again.", headers=_retry(1))
