"""The refusals that clients of the API can get."""

from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from comptoir.errors import table
from comptoir.errors.refusal import Check, ErrorType, ExceededLimit, RefusalRow

_ASK, _LATER = "Ask the operator to fix this.", "Send the request again later."
_AS_ISSUED, _NEW_ONE = "Send it exactly as it was issued.", "Get a new one."
_BARE = {"WWW-Authenticate": 'Bearer realm="comptoir"'}
"""The challenge without an error, for a client that may not know that it needs a token."""

# the factories of rows, by the place of the error
_invalid = table.BAD_REQUEST.row
_query = table.INVALID_URL.row
_header = partial(_invalid, check=Check.PRECONDITION)
_token = partial(table.INVALID_CREDENTIALS.row, group="BAD_CREDENTIALS")
_malformed = partial(_query, group="SYNTAX")
_unexpected = partial(_malformed, "Expected {expected}{after}, found {found}")
_key = partial(_query, check=Check.RESOURCE, group="MALFORMED_KEY")
_syntax = partial(_invalid, check=Check.SYNTAX)
_REJECTED = {"Repeatability-Result": "rejected"}
_rejected = partial(_header, headers=_REJECTED)

_NUMBERS = "Use numbers, durations, or a date or date-time with a duration."


def _retry(seconds: int | str) -> Mapping[str, str]:
    return {"Retry-After": f"{seconds}"}


def _batch(problem: str, remedy: str, error: ErrorType = table.BAD_REQUEST) -> RefusalRow:
    """The row of a malformed part of a batch."""
    remedy += " No request of the batch was executed."
    return error.row(problem + " in {place}", remedy, Check.SYNTAX)


def _not_computed(cause: str, remedy: str = "Change the expression, or exclude the records with such values.") -> RefusalRow:
    """The row of a value that a query cannot compute."""
    return _query(f"The query cannot be computed: {cause}", remedy)


# the database
QUERY_TOO_LONG = table.UNAVAILABLE.row("The query took longer than {seconds:g} s",
    "Narrow the filter or the search, or sort by the key.", group="LONG_WORK", headers=_retry(5))
QUERY_STOPPED = replace(QUERY_TOO_LONG, problem="The query took too long")
DIVIDED_BY_ZERO = _not_computed("{what} has no result: the divisor is zero")
BEYOND_BITS = _not_computed("{what} has a result of more than 64 bits, which does not fit")
BEYOND_DIGITS = _not_computed("{what} has a result of more than {digits} digits before the point, which does not fit")
TOO_FINE = _not_computed("{what} has a result of more than {decimals} decimals, which does not fit", "Round before, with `div 1`.")
TOO_MANY_DIGITS = _not_computed("{what} has more than {digits} digits and does not go with numbers that have decimals")
TOO_MANY_DECIMALS = _not_computed("{what} has more than {scale} decimals, which does not fit, and is never rounded unasked",
    "Round it with `div 1`, or with round, floor or ceiling.")
NEGATIVE_SUBSTRING = _not_computed("substring takes a length that is not negative, but got {what}")
MOMENT_OUTSIDE = _not_computed("{what} give a moment outside the years 1 to 9999")
DATE_OUTSIDE = _not_computed("{what} give a date outside the years 1 to 9999")
NUMBER_TOO_LARGE = _not_computed("a number is too large")
DIVISION_BY_ZERO = _not_computed("it divides by zero")
TOO_COMPLEX = table.NOT_IMPLEMENTED.row("The expression is too large for the database", "Split the query into smaller ones.")
INVALID_TEXT = _query("A text has a character that the database does not support", "Remove the NUL or invalid character.")
SERVICE_STOPPED = table.UNAVAILABLE.row("The service stopped before it finished this request",
    "Nothing was changed. Send the request again.", headers=_retry(5))
STOPPING_IN_DOUBT = table.UNAVAILABLE.row("The service is stopping, and the outcome of the write is unknown",
    "Read the record before you send the write again.", headers=_retry(5))
ROLLED_BACK = table.DATABASE_UNREACHABLE.row("The connection to the database was lost, and nothing was changed",
    "Send the request again.", headers=_retry(1))
LOST_IN_DOUBT = table.DATABASE_UNREACHABLE.row(
    "The connection to the database was lost during the commit, and the outcome of the write is "
    "unknown",
    "Read the record before you send the write again.",
    headers=_retry(5)
)
READS_WAITING = table.DATABASE_BUSY.row("{reads} are already waiting or running",
    "Send the request again after {seconds} seconds.", headers=_retry("{seconds}"))
NO_CONNECTION = table.DATABASE_BUSY.row("No connection to the database became free within {seconds:g} s",
    "Send the request again after a second.", headers=_retry(1))
WRITES_WAITING = table.TOO_MANY_REQUESTS.row("{waiting} writes are already waiting",
    "Send the request again after a second.", group="TOO_MANY_REQUESTS", limit=ExceededLimit.QUEUE, headers=_retry(1))
READ_ONLY_SERVICE = table.SERVICE_READ_ONLY.row("The service only reads, because its setting read_only is on",
    "Read only, or ask the operator which service accepts writes.")
LOST_CHANGES = table.DATABASE_OLDER.row("The database has lost changes of the company {company}",
    "Ask the operator to run `comptoir company renew`, then send the request again.", headers=_retry(60))
LARGE_BASELINE = _invalid("The mark exceeds the limit of {limit} records", "Rehearse with fewer records.")
UNREADABLE_CLIENTS = table.DATABASE_NOT_READY.row("The clients in the database cannot be read by this release", _ASK, headers=_retry(5))
UNFIT_DATABASE = replace(UNREADABLE_CLIENTS, problem="The database does not meet the requirements of the service")
UNANSWERED = table.DATABASE_UNREACHABLE.row("The database did not answer in time", "Send the request again.", headers=_retry(1))
LOCKED = table.DATABASE_BUSY.row("Another transaction has held a lock of the database for too long", _LATER, headers=_retry(1))
DISK_FULL = table.DATABASE_FULL.row("The disk of the database is full", "Ask the operator to free some space.", headers=_retry(1))
DISK_FULL_OF_SERVER = replace(DISK_FULL, headers=_retry(30))
READ_ONLY_FOLDER = table.DATABASE_READ_ONLY.row("The database is read-only",
    "Ask the operator to make its folder writable.", headers=_retry(1))
DATABASE_FAILED = table.UNAVAILABLE.row("The database failed",
    "Send the request again; if it fails again, ask the operator for the error in the log.", headers=_retry(1))
UNREACHABLE = table.DATABASE_UNREACHABLE.row("The database cannot be reached", _LATER, headers=_retry(5))
CONNECTION_LOST = table.DATABASE_UNREACHABLE.row("The connection to the database was lost", _LATER, headers=_retry(1))
MISCONFIGURED = table.DATABASE_UNREACHABLE.row("The service is not configured correctly for its database", _ASK, headers=_retry(5))
NO_PRIVILEGES = table.DATABASE_NOT_READY.row("The service lacks privileges in the database",
    "Ask the operator to grant them.", headers=_retry(5))
NO_TABLES = table.DATABASE_NOT_READY.row("The database lacks tables, columns or functions of the service",
    "Ask the operator to run `comptoir migrate`.", headers=_retry(5))
TOO_MANY_CONNECTIONS = table.DATABASE_BUSY.row("The database accepts no more connections now", _LATER, headers=_retry(5))
SHORT_OF_MEMORY = table.DATABASE_BUSY.row("The database is short of memory",
    "Ask for less, or send the request again later.", headers=_retry(5))
STANDBY = table.DATABASE_READ_ONLY.row("The database is read-only now, as a standby is", _LATER, headers=_retry(5))
CONFLICT = table.DATABASE_BUSY.row("Concurrent transactions conflicted, and nothing was changed",
    "Send the request again.", headers=_retry(1))

# tokens
NO_HEADER = _token("The request has no Authorization header", table.INVALID_CREDENTIALS.remedy, headers=_BARE)
NO_TOKEN = replace(NO_HEADER, problem="The Authorization header has no bearer token")
NOT_PRIVATE = _token("The credentials were not sent over HTTPS",
    "Send the request to an https address, and replace the secret.", headers=_BARE)
WRONG_SECRET = _token("{problem}", "{remedy}", headers=_BARE)
TOO_MANY_GUESSES = table.TOO_MANY_REQUESTS.row("{problem}", "{remedy}")
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
OTHER_LOGIN = _token("The ID token is not for this login ({claim})", "Log in again.")
UNREACHABLE_ISSUER = table.ISSUER_UNREACHABLE.row("The keys of the token's issuer cannot be fetched",
    "Send the request again after {seconds} seconds.", headers=_retry("{seconds}"))
SCOPE_MISSING = table.REQUEST_DENIED.row("The token lacks the scope {scope}",
    "Use a token with this scope.", headers={"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="{scope}"'})

# limits
_again = partial(table.TOO_MANY_REQUESTS.row, remedy="Send the request again after {seconds} second{plural}.", headers=_retry("{seconds}"))
RATE = _again("The client has sent more requests than {rate}", group="TOO_MANY_REQUESTS", limit=ExceededLimit.RATE)
CONCURRENCY = _again("The client has {limit} requests under way", group="TOO_MANY_REQUESTS", limit=ExceededLimit.CONCURRENCY)
QUOTA = _again("The client has read the {records} records of its day", limit=ExceededLimit.QUOTA)
PIPELINED = table.TOO_MANY_REQUESTS.row("{limit} requests already wait on this connection",
    "Read their responses before you send more, or use more connections.", headers=_retry(1))
QUEUED_TOO_LONG = table.UNAVAILABLE.row("The client's other requests did not end within {seconds:g} seconds",
    "Send fewer requests at once.", headers=_retry(1))
LONG_URL = table.URI_TOO_LONG.row("{what} exceeds the limit of {limit} bytes", "Shorten the filter, or split it over several requests.")
LARGE_BODY = table.BODY_TOO_LARGE.row("The body exceeds the limit of {limit} bytes", "Send less at a time.")
LARGE_SNAPSHOT = table.BODY_TOO_LARGE.row("The size of what the batch reads exceeds the limit of {limit} bytes",
    "Read less, or without Isolation: snapshot.")
LARGE_HEAD = table.HEADERS_TOO_LARGE.row("The head of the request exceeds the limit of {limit} bytes", "Send fewer or shorter headers.")
LARGE_TRAILERS = table.HEADERS_TOO_LARGE.row("The size of the body's trailers and chunk extensions exceeds the limit of {limit} bytes",
    "Send fewer or shorter ones, or none.")
SLOW_REQUEST = table.REQUEST_TIMEOUT.row("The request did not arrive within {seconds:g} seconds",
    "Send it without pauses, or send less at a time.")

# HTTP
FAILED = table.INTERNAL_ERROR.row("The service failed", "Ask the operator for the cause, which is in the log under the id {id}.")
NOT_HTTP = _invalid("The request is not valid HTTP/1.1: {reason}", "Send HTTP/1.1 (RFC 9112).")
HTTP_VERSION = table.HTTP_VERSION_NOT_SUPPORTED.row("{version} is not supported", "Send HTTP/1.1.")
INCOMPLETE = _invalid("The client stopped sending before the end of the request", "Send the whole request.")
HOST = _invalid("The request has {problem}", "Send one Host header, with the host and port of the URL (RFC 9112, 3.2).")
INVALID_HOST = replace(HOST, problem="Invalid Host header {value!q}")
CHUNKED_1_0 = _header("HTTP/1.0 does not have Transfer-Encoding", "Send HTTP/1.1, or the body with its Content-Length.")
TRANSFER_CODING = table.NOT_IMPLEMENTED.row("Transfer-Encoding {value!q} is not supported",
    "Send the body chunked, or with its Content-Length.")
CONNECT = table.NOT_IMPLEMENTED.row("CONNECT is not supported", "Send requests for the service's own resources.")
HASH_IN_TARGET = _invalid("The request target contains a #", "Send a # within a value as %23, and no fragment.")
REQUEST_TARGET = _invalid("Invalid request target {value!q}", "Send a path that begins with a slash, or an absolute URL.")
CONTENT_CODING = table.UNSUPPORTED_MEDIA_TYPE.row("Content-Encoding {value!q} is not supported for request bodies",
    "Send the body without Content-Encoding.", headers={"Accept-Encoding": "identity"})
NO_CODING = table.NOT_ACCEPTABLE.row("Accept-Encoding excludes every coding of the service", "Accept zstd, gzip or identity.")
NO_PAGE = table.RESOURCE_NOT_FOUND.row("The service has no page at this path", "Use the API at {url}{documented}.")
NO_API = table.RESOURCE_NOT_FOUND.row("The API is not at this address",
    "Use an address of docs/reference/profiles.md, with names that the settings have.", group="UNKNOWN_ADDRESS")
NO_ENVIRONMENT = replace(NO_API, group="UNKNOWN_ENVIRONMENT")
UNNAMED_COMPANY = table.COMPANY_NOT_FOUND.row("The company {name!q} does not exist", "List the allowed companies to find their names.")
UNKNOWN_KEY = _invalid("The key of {id} is not known before its atomic group is committed",
    "Use the key of the record, or refer to it after the group.")
NO_TAG = _header("The response to {id} has no ETag", "Refer to a response that has one, such as that of a single record.")
_BEFORE = "Nothing was changed. Correct the cause and send the request again."
CONDITION_FALSE = table.FAILED_DEPENDENCY.row("The request was not processed because its condition (if) is false", _BEFORE)
DEPENDENCY_FAILED = table.FAILED_DEPENDENCY.row("The request was not processed because it depends on {id}, which failed", _BEFORE)
GROUP_REFUSED = table.FAILED_DEPENDENCY.row("The request was not processed because {id} of the same atomic group was refused", _BEFORE)
BATCH_ENDED = table.FAILED_DEPENDENCY.row("The request was not processed because an earlier request failed, and the batch stops at errors",
    _BEFORE)
RENEWED = table.UNAVAILABLE.row("The company {company} was renewed during the request", "Send the request again.", headers=_retry(1))

# paths and query options
NOT_SUPPORTED = table.NOT_IMPLEMENTED.row("{construct} is not supported", "Send the request without it.")
NOT_APPLICABLE = _query("{option} does not apply to {resource}", "Remove it.")
DEFINITIONS_FILTER = table.NOT_IMPLEMENTED.row("This filter of entityDefinitions is not supported",
    "Send for example `$filter=entityName eq 'contact'`.", group="UNSUPPORTED_FILTER")
EXPAND_AGGREGATED = table.NOT_IMPLEMENTED.row("$expand of an aggregated result is not supported",
    "Group by properties of the related record, as groupby((company/number)).")
EXPAND_WRITTEN = table.NOT_IMPLEMENTED.row("$expand in {action} is not supported", "Read the record with $expand afterwards.")

# options and parameter aliases
NAMELESS_OPTION = _query("A query option has no name before its `=`",
    "A shell may have removed the name: put the URL in single quotes, or write `\\$filter`.")
UNKNOWN_OPTION = _query("OData has no query option {name!q}", "Remove it, or give a custom option a name without $.")
GIVEN_TWICE = _query("{name} is given twice", "Send it once.")
EMPTY_OPTION = _query("{option} is empty", "Give it a value, or remove it.")
NOT_UTF_8 = _query("The percent-encoding of {text!q} in {option} is not UTF-8", "Encode the text as UTF-8.")
NOT_A_WHOLE_NUMBER = _query("Invalid value {value!q} for {option}", "Send a non-negative integer.")
NOT_A_BOOLEAN = _query("Invalid value {value!q} for {option}", "Send true or false.")
OTHER_SCHEMA_VERSION = _query("Invalid value {value!q} for {option}", "Send {versions}, or remove it.")
LEVELS_OUTSIDE = _query("{option} applies only within $expand", "Put it into an item: $expand=company({option}={value:.20}).")
SEMICOLON_IN_WORD = _query("';' cannot be part of a word", "Write it as %3B, or put the words in double quotes.")
NOT_AN_ALIAS = _query("{name!q} is not a parameter alias", "Write a name after the @, such as @p.")
ALIAS_IN_KEY = _query("The parameter alias {alias} is not {lacking}, but a key needs a value", "Give it a literal.")
ALIAS_TOO_LARGE = _query(
    "The parameter alias {alias} and the aliases in it make the expression exceed the limit of "
    "{nodes} parts, {members} members of lists or {levels} levels",
    "Use fewer of them."
)
ALIAS_CYCLE = _query("The parameter alias {alias} refers to itself ({cycle:.200})", "Remove the cycle.")
ALIAS_TOO_DEEP = _query("The parameter alias {alias} exceeds the limit of {limit} aliases in one another", "Refer to it directly.")

# the syntax of expressions and lists
EMPTY_TEXT = _query("{option} is empty", "Write for example `{example}`.")
UNEXPECTED = _unexpected("Write for example `{example}`.")
UNJOINED = _unexpected("Write for example `{example}` and join conditions with ` and ` or ` or `.")
OTHER_OPERATOR = _unexpected("Write ` {operator} ` with spaces around it.")
OTHER_FORM = _unexpected("Write {form}.")
DIRECTION_INSIDE = _unexpected("Put the direction at the end of an item of `$orderby`.")
TIME_OF_DAY = _unexpected("A time of day has hours, minutes and seconds: 23:59:59.")
OPEN_TEXT = _unexpected("Close the text with `'`, and double a quote inside it: 'O''Neil'.")
QUOTE_IN_TEXT = _unexpected("Double a quote inside a text: 'O''Neil'.")
OPEN_LIST = _unexpected("Separate members by `,`, and close the bracket after the last one.")
OPEN_OPTIONS = _unexpected("Separate the options opened at column {opened} by `;`.")
OPEN_ARGUMENT = _unexpected("Close the '(' at column {opened}.")
OPEN_SEARCH = _unexpected("Close the parenthesis at column {opened}.")
CLOSED_SEARCH = _unexpected("Add the matching '(', or remove it.")
NAMELESS_INSIDE = _unexpected(NAMELESS_OPTION.remedy)
COMPUTED_GROUP = _unexpected("Compute a property first, then group by it.")
NO_TERM = _unexpected("Put it in double quotes to search for it, with `\\` before a quote inside.")
NO_WORD_IN_PHRASE = _unexpected("Write a word in it, or remove it.")
OPEN_PHRASE = _unexpected("Close the phrase with a double quote, with `\\` before a quote inside.")
_no_value = partial(_unexpected, group="NO_EXPRESSION")
NO_VALUE = _no_value("A value is a property, a literal, a function or an expression in parentheses.")
VALUE_ENDS = _no_value(UNEXPECTED.remedy)
VALUE_OPEN = _no_value(OPEN_TEXT.remedy)
VALUE_BRACE = _no_value("Write a Guid without braces, and a list in parentheses: ('A','B').")
VALUE_QUOTES = _no_value("Put text in single quotes: 'A'. In a list in brackets, close it with `\"`.")
VALUE_SUFFIX = _no_value("Write the number without a suffix: 1.5.")
VALUE_DATE_TIME = _no_value("Write a date-time with valid parts and `Z` or an offset: 2024-12-31T23:59:59Z.")
VALUE_DATE = _no_value("A date has a year of four digits, month and day: 2024-12-31.")
VALUE_GUID = _no_value("A Guid has 8-4-4-4-12 hexadecimal digits: 5d115c9c-44e3-ea11-bb43-000d3a2feca1.")
VALUE_TIME = _no_value(TIME_OF_DAY.remedy)
VALUE_NUMBER = _no_value("Write numbers as 12, -12.5 or 1.2e3, and subtract with ` sub `.")
VALUE_DELIMITER = _no_value("Add a value before it, or remove it.")
VALUE_SIGN = _no_value("Operators are words between two values. Write for example `name eq 'A'`.")
NO_BLANK = _malformed("Expected a space {side} '{word}'", "Write for example `name eq 'A'`.")
NOT_CLOSED = _malformed("'{opening}' is not closed", "Add a `{closing}`.")
NOT_OPEN = _malformed("'{closing}' closes a bracket that is not open", "Remove it, or open a bracket before it.")
NOT_A_GUID = _malformed("{guid!q} is not a Guid", VALUE_GUID.remedy)
OLD_PREFIX = _malformed("The literal prefix {prefix!q} is of an older version of OData", "Write the value as {literal}.")
UNKNOWN_PREFIX = _malformed("Unknown literal prefix {prefix!q}", "Remove it, or write an operator and a space before the quote.")
MALFORMED_LITERAL = _malformed("The literal with the prefix {prefix!q} is malformed", "Write for example {example}.")
NOT_A_PATH = _malformed("Expected a path, found {path!q}",
    "Join names by single `/`; `$it`, `$this` or `$root` can begin a path, and `/$count` can end it.")
INCOMPLETE_LAMBDA = _malformed("'{operator}' lacks its collection, variable or condition",
    "Write for example `items/{operator}(d:d/number eq 'A')`.")
TOO_MANY_NODES = _query("The expression exceeds the limit of {limit} parts",
    "Replace alternatives by a list, `name in ('A','B')`, or send several requests.")
TOO_DEEP = _query("The expression exceeds the limit of {limit} levels of nesting",
    "Nest it less: a chain of `and` or `or` needs no parentheses.")
TOO_HIGH = _query("The chain of operators and calls around a value exceeds the limit of {limit} levels", "Use fewer of them.")
LONG_LIST = _query("The list exceeds the limit of {limit} members", "Send several requests with shorter lists.")
NAME_TWICE = _malformed("The name {name!q} is given twice", "Give each item its own name.")
LONG_NAME = _query("The name {name!q} exceeds the limit of {limit} characters", "Shorten it.")
NOT_SELECTABLE = _malformed("{name!q} is not a property", "Write for example `number,displayName`.")
UNKNOWN_TRANSFORMATION = _query("$apply has no transformation {name!q}",
    "Write for example `groupby((city),aggregate($count as customers))`.")
UNKNOWN_METHOD = _query("aggregate has no method {name!q}", "Use one of {methods}.")
SEARCH_TOO_LONG = _query("The search exceeds the limit of {limit} parts", "Send several searches.")
SEARCH_TOO_DEEP = _query("The search exceeds the limit of {limit} levels of nesting", "Nest the search less.")
NUL_IN_SEARCH = _malformed("The search contains a NUL character", "Remove it.")

# $expand
EXPAND_TOO_DEEP = _query("$expand exceeds the limit of {limit} levels of nesting", "Follow the navigation in separate requests.")
EXPAND_TOO_LONG = _query("$expand exceeds the limit of {limit} items", "Expand fewer.")
NOT_NAVIGATION = _malformed("{path!q} is not a navigation path", "Write for example `prices($filter=quantity gt 1;$top=5)`.")
NOT_OF_ITEM = _malformed("{name!q} is not an option of this item", "Use {choice}.")
NO_OPTIONS_OF_ITEM = replace(NOT_OF_ITEM, remedy="Remove it.")
TEXT_NOT_CLOSED = _malformed("The quote ' is not closed", "Close it, and double a quote inside a text: 'O''Neil'.")
PHRASE_NOT_CLOSED = _malformed('The quote " is not closed', "Close it, with `\\` before a quote inside.")
NOT_LEVELS = _query("Invalid value {value!q} for $levels", "Send max, or a number such as 1.")

# paths
MALFORMED_SEGMENT = _query("The path segment {segment!q} is malformed", "Write a name, or a name and a key in parentheses.")
EMPTY_SEGMENT = replace(MALFORMED_SEGMENT, remedy="Remove one of two adjacent slashes.")
DOT_SEGMENT = replace(MALFORMED_SEGMENT, remedy="Write the path from the service root.")
OPEN_SEGMENT = replace(MALFORMED_SEGMENT, remedy="Close the quote, and double a quote inside a text: ('O''Neil').")
MALFORMED_KEY = _key("The path segment {segment!q} is malformed",
    "Write a key as a Guid, a number or a text in single quotes; name several values and separate them by commas: (a='1',b='2').")
OPEN_KEY = replace(MALFORMED_KEY, remedy=OPEN_SEGMENT.remedy)
LONG_KEY = replace(MALFORMED_KEY, remedy="A key has up to {most} parts.")
UNNAMED_PARTS = replace(MALFORMED_KEY, remedy="Give each part of the key its own name: (a='1',b='2').")
SEGMENT_NOT_UTF_8 = _query("The path segment {segment!q} is not UTF-8", "Percent-encode it as UTF-8.")
NUL_IN_SEGMENT = _query("The path segment {segment!q} contains NUL", "Remove it.")
COMPANY_KEY = _key("The key of a company must be its id, a Guid", "Use companies(<guid>), without quotes.")
NOT_A_KEY = _key("({sent:.200}) is not a key of {set}", "Use one of its keys, with all properties of the key: {keys}.")
QUOTED_KEY = _key("In a key of {set}, {name} must not be in quotes", "Write {name}=…, without quotes.")
UNQUOTED_KEY = replace(QUOTED_KEY, problem="In a key of {set}, {name} must be in single quotes", remedy="Write {name}='…'.")
IN_A_PATH = table.NOT_IMPLEMENTED.row("{name} in a path is not supported", "Use a path without it.")

# names
NO_PROPERTY = _query("{owner} has no property {name!q}", "Use a name from $metadata.")
UNKNOWN_FIELD = replace(NO_PROPERTY, group="UNKNOWN_FIELD")
UNKNOWN_SELECTED = replace(NO_PROPERTY, group="UNKNOWN_SELECTED")
NO_NAVIGATION = replace(NO_PROPERTY, problem="{owner} has no navigation property {name!q}")
NO_FUNCTION = replace(NO_PROPERTY, problem="OData has no function {name!q}")
NO_TYPE = replace(NO_PROPERTY, problem="The model has no type {name!q}")
PAST_VALUE = _query("{name:.100} has no properties, so the path {path:.100} does not exist", "End the path with {name:.100}.")
OTHER_TYPE = _query("The records are of the type {own}, not {name:.100}", "Write {own}, or no type.")
NAME_TAKEN = _query("{owner} already has a property {alias!q}", "Choose another alias.")
NOT_AGGREGATED = _query("{path} is not in the aggregated result: {names:.200}", "Group by it, or aggregate it under an alias.")
NOT_RECORDS = _query("{path} is not a collection of records", "Use a navigation property to many records.")
SEVERAL_RECORDS = _query("{path} leads to several records", "Use any, all or $count.")
NOT_QUERIED = _query("{name} is {what}", "Use another property.")

# the meaning of expressions
NOT_A_CONDITION = _query("{node} is {type}, not a condition", "Compare it with a value.")
NOT_A_COLLECTION = _query("{node} is {other}not a collection", "Write a list in parentheses.")
ARGUMENTS_OF_TYPE = _query("The function {function} has {count} arguments instead of 1 or 2",
    "Write for example {function}(number,Edm.String).")
NOT_AN_ENTITY_TYPE = _query("The function {function} with one argument requires an entity type",
    "Write {namespace}. and its name, or a value before the type.")
ARITHMETIC_OF_TWO = _query("The operator {operator} does not apply to {one} ({left}) and {other} ({right})", _NUMBERS)
ARITHMETIC_OF_TYPE = _query("The operator {operator} does not apply to {type}", _NUMBERS)
NO_NEGATIVE = _query("{node} is {type}, which has no negative", "Negate a number or a duration.")
BY_ZERO = _query("The divisor of {operator} is zero", "Divide by another number.")
TOO_FEW_ARGUMENTS = _query("The function {function} has {arguments} instead of {counts}", "Add an argument.")
TOO_MANY_ARGUMENTS = replace(TOO_FEW_ARGUMENTS, remedy="Remove an argument.")
ARGUMENT_TYPE = _query("{node} is {type}, but {function} requires {wanted}", "Use another value, or convert it with cast.")
OFFSET = _query("The function {function} is computed in UTC, but {node} has an offset", "Write the literal in UTC, with Z.")
NEGATIVE_LENGTH = _query("The length of substring is negative", "Write 0 or more.")
PATTERN = _query("The pattern has {construct}", "Correct the pattern.")
NOT_PRIMITIVE = _query("{name:.100} is an entity type, not a primitive type", "Write a type such as Edm.String, without quotes.")
NOT_A_TYPE = _query("{node} is not a type", NOT_PRIMITIVE.remedy)
RECORDS_COMPARED = _query("The operator {operator} does not apply to records", "Compare a property of the record.")
RECORDS_OF_TYPES = _query("{left} and {right} are records whose keys differ in type", "Compare properties of one type.")
TYPES_COMPARED = _query("{left} is {one}, but {right} is {other}", "Use values of one type.")
LITERAL_COMPARED = _query("{node} is {type}, but is compared with {wanted}", "Write {form}.")
TOO_PRECISE = _query("{node} is too precise to compute with", "Write fewer digits.")
TOO_LARGE = _query("{node} is outside the range of numbers",
    "Write an integer of up to 64 bits, or up to {whole} digits before the decimal point and up to {scale} after it.")
RECORDS_SORTED = _query("{node} is a record, and records have no order", "Sort by a property of the record.")
TOO_MANY_KEYS = _query("The order exceeds the limit of {limit} keys", "Sort by fewer.")
ALTERNATIVES = table.NOT_IMPLEMENTED.row("The operator or with several properties is not supported",
    "Send the request without it.", group="ALTERNATIVES")
FILTER_PART = replace(NOT_SUPPORTED, group="UNSUPPORTED_FILTER")
PAIR_INCOMPLETE = _query("The filter has {name} without {partner}", "Add {partner} eq '…'.")
PAIR_TWICE = _query("The filter has {name} twice", "Use another number.")
PAIR_NUMBER = _query("The number of {name:.60} is out of range", "Use a number from 1 to {count}.")
PAIR_OPERATOR = _query("{name} can only be compared with a text by eq, in conditions joined by and", "Write {name} eq '…'.")
NOT_A_NUMBER = _query("{method} requires a number, and {node} is {type}", "Aggregate a number, or use countdistinct.")
LONG_PIPELINE = _query("The pipeline exceeds the limit of {limit} transformations",
    "Join filters by and, and computed properties by commas.")
NESTED_QUERIES = table.NOT_IMPLEMENTED.row("$apply requires more than {most} nested queries",
    "Nest its expressions less deeply, or compute several in one compute.")
OPTION_OF_RECORD = _query("{option} does not apply to {name}, which is a single record", "Remove it.")
DEEP_LEVELS = replace(EXPAND_TOO_DEEP, remedy="Send a lower number of $levels.")

# pages
DELTA_TOKEN = _query("The $deltatoken is damaged or belongs to another query",
    "Follow @odata.deltaLink unchanged, or start over with Prefer: odata.track-changes.")
TRIMMED = table.LINK_EXPIRED.row("The change {number} is not kept any longer: the oldest is {oldest}",
    "Start from that one; for what changed before, read the records again.")
DELTA_EXPIRED = table.LINK_EXPIRED.row("The delta link has expired",
    "Read the collection again with Prefer: odata.track-changes, replace your copy of it, and keep its new @odata.deltaLink.")
SKIP_TOKEN = _query("The $skiptoken is damaged or belongs to another query",
    "Follow @odata.nextLink unchanged, or start over without $skiptoken.", group="LINK_GONE")

# companies, resources and methods
UNKNOWN_COMPANY = table.COMPANY_NOT_FOUND.row("The company {company} does not exist",
    "List the allowed companies with GET {root}/companies.")
METHOD = table.METHOD_NOT_ALLOWED.row("{method:.20} is not allowed on {resource}", "Allowed: {allowed}.", headers={"Allow": "{allowed}"})
METHOD_ON_SET, MERGE = replace(METHOD, group="METHOD_ON_SET"), replace(METHOD, group="MERGE")
JSON_METADATA = table.NOT_ACCEPTABLE.row("$metadata in JSON requires OData 4.01, and OData-MaxVersion allows 4.0",
    "Send $format=xml, or OData-MaxVersion: 4.01.")

# preconditions
READ_ONLY_INTENT = _header("Data-Access-Intent: ReadOnly does not allow {method:.20}", "Remove the header, or send ReadWrite.")
OTHER_TOKEN = _header("The Consistency-Token is for another company, or from before the company was restored",
    "Send the token of the last write to this company, or none.")
CREATE_UNTAGGED = table.PRECONDITION_REQUIRED.row("Creating a record in {set} requires If-Match or If-None-Match: *",
    "Send If-Match with the ETag of the record that has this key, or with * if there is none.", group="NO_TAG")
UNTAGGED = table.PRECONDITION_REQUIRED.row("{action} a {what} requires If-Match",
    "Read the {what}, and send its @odata.etag. Send * to accept any version.", group="NO_TAG")
CONTRADICTING_TAGS = table.ENTITY_CHANGED.row("If-Match and If-None-Match: * contradict each other", "Send one of them.")
REPEAT_TOO_LATE = table.REPEAT_UNTRACKED.row("Repeatability-First-Sent must be within the last {seconds:g} seconds, and now it is {now}",
    "Find out whether the request was done. If not, send it as a new one.", headers=_REJECTED)
GROUP_PARTLY_REPEATABLE = _rejected("Only some requests of the atomic group have a Repeatability-Request-ID",
    "Send one with each request, or with none.")
GROUP_REPEATS_ID = _rejected("Two requests of the atomic group have the same Repeatability-Request-ID",
    "Send a different one with each request.")

# batches
METHOD_IN_GROUP = _invalid("{method:.20} is not allowed in an atomic group",
    "Send it outside the group. Allowed: POST, PATCH, PUT, DELETE.")
GROUP_OF_COMPANIES = _invalid("The requests of an atomic group are for different companies", "Use one group for each company.")

# bodies
UNKNOWN_PROPERTY = _invalid("{owner} has no property {name!q}", "Use a name from $metadata.", group="UNKNOWN_PROPERTY")

# headers
NOT_TAGS = _header("Invalid value {value!q} for {header}",
    'Send *, or entity tags such as W/"…" separated by commas. Send @odata.etag as it was received, including the quotes.')
MALFORMED_TAG = replace(NOT_TAGS, group="MALFORMED_TAG")
OTHER_VERSION = _header("Invalid value {value!q} for {header}",
    "Use a client of OData 4, which sends OData-Version: 4.0 and OData-MaxVersion: 4.0 or 4.01, or omit these headers.")
INVALID_INTENT = _header("Invalid value {value!q} for Data-Access-Intent", "Send ReadOnly or ReadWrite.")
INVALID_TOKEN = _header("Invalid value {value!q} for Consistency-Token",
    "Send the token of a response to a write as it was received, or omit the header to read from the primary database.")
INCOMPLETE_REPEAT = _rejected("A repeatable request needs both Repeatability-Request-ID and Repeatability-First-Sent", "Send {header} too.")
REPEAT_ID = _rejected("Invalid value {value!q} for {header}", "Send 1 to {longest} characters of printable ASCII, such as a Guid.")
REPEAT_TIME = _rejected("Invalid value {value!q} for Repeatability-First-Sent",
    "Send an HTTP date such as Tue, 26 Mar 2019 16:06:51 GMT (RFC 9110, 5.6.7).")
SNAPSHOT = table.ISOLATION_NOT_SUPPORTED.row("{header} {value!q} is not supported, and nothing was done",
    "Send the request without the header.")
NO_FORMAT = table.NOT_ACCEPTABLE.row("The resource has none of the formats in {place}", "Accept {formats}.")
FORMAT = table.NOT_ACCEPTABLE.row(
    "Invalid value {value!q} for {place}",
    "Accept application/json, with the parameters odata.metadata (minimal, none, full), "
    "odata.streaming, IEEE754Compatible and charset=utf-8."
)
CHARSET = table.NOT_ACCEPTABLE.row("Responses are in UTF-8, which Accept-Charset excludes", "Add utf-8, or omit Accept-Charset.")
NOT_JSON_TYPE = table.UNSUPPORTED_MEDIA_TYPE.row("Invalid value {value!q} for Content-Type",
    "Send a body in UTF-8, with Content-Type: application/json.")
NOT_A_BATCH_TYPE = table.UNSUPPORTED_MEDIA_TYPE.row("Invalid value {value!q} for Content-Type",
    "Send a batch as application/json or multipart/mixed.")
BOUNDARY = _header("Content-Type has no valid boundary", "Send for example multipart/mixed; boundary=batch_1.")

# the syntax of bodies
EMPTY_BODY = _syntax("The body is empty", "Send a JSON object.", group="NO_OBJECT")
NOT_AN_OBJECT = _syntax("The body is {json}, not a JSON object", 'Send an object such as {{"displayName": "…"}}.', group="NO_OBJECT")
MEMBER_TWICE = _syntax("{name!q} is given twice", "Send it once.")
ANNOTATION = _syntax("{name!q} is not supported in this body", "Send only properties.")
TOO_MANY_VALUES = _syntax("The body exceeds the limit of {most} values", "Send fewer records at once.")
SAME_TAG_TWICE = _invalid("{one} and {other} have the same meaning", "Send one of them.")
TAG_IN_BODY = _invalid("Invalid value {value!q} for {name}",
    "Send the tag as it was received, including the quotes, or send If-Match.")
BODY_NOT_UTF_8 = _syntax("The body is not UTF-8 at byte {byte}", "Encode it as UTF-8.", group="MALFORMED_JSON")
MALFORMED_JSON = _syntax("{reason} in the body", "Correct it.", group="MALFORMED_JSON")
BODY_TOO_DEEP = _syntax("The body nests arrays or objects too deeply", "Send an object whose values are not nested.")
LONG_NUMBER = _syntax("The body contains a number with too many digits", "Shorten it.")

# the syntax of batches
NO_REQUESTS = _syntax("The batch has no requests", "Send an array of them.")
BATCH_NOT_SUPPORTED = _batch("{construct} is not supported", "Send the batch without it.", error=table.NOT_IMPLEMENTED)
LONG_CHANGE_SET = replace(BATCH_NOT_SUPPORTED, group="LONG_CHANGE_SET")
LONG_BATCH = table.BODY_TOO_LARGE.row("The batch exceeds the limit of {limit} requests",
    "Send several batches. No request of the batch was executed.", Check.SYNTAX, group="TOO_MANY_PARTS")
LARGE_HEADERS_IN_BATCH = _batch("The URL or the headers exceed the limit of {limit} bytes or {fields} headers",
    "Send fewer or shorter headers.", error=table.HEADERS_TOO_LARGE)
BATCH_METHOD = _batch("Invalid method {method!q}", "Use one of {methods}.")
BATCH_ID = _batch("Invalid id {id!q}", "Use 1 to {longest} printable ASCII characters, such as 1.")
BATCH_HEADER = _batch("The header {header!q} contains characters that HTTP does not allow", "Remove them.")
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
MALFORMED_CONDITION = _batch("The condition is malformed", "Write for example $1/$succeeded and not ($2/$succeeded).")
INNER_BOUNDARY = _batch("{problem}", "{remedy}")
CHANGE_SET_IN_CHANGE_SET = _batch("A change set contains a change set", "Merge them.")
GET_IN_CHANGE_SET = _batch("A change set contains a GET", "Send it before or after the change set.")
PART_TYPE = _batch("The Content-Type is invalid", "Send application/http.")
NO_BOUNDARY = _batch("The boundary --{boundary:.70}{end} is missing", "Add the line.")
REQUEST_LINE = _batch("The request line is malformed", "Begin with a line such as GET contactsExt HTTP/1.1.")
CONTENT_LENGTH = _batch("Content-Length is not the {length} bytes of the body", "Remove the header.")

# writes
REPEAT_ID_TAKEN = _rejected("Another request had this Repeatability-Request-ID", "Send the unchanged request again, or use another id.")
GROUP_PARTLY_REPEATED = _rejected("Only some requests of the group with this Repeatability-Request-ID were executed before",
    "Send the unchanged group again, or use other ids for all of its requests.")
RELATED_LACKS_VALUE = table.PARAM_NOT_PROVIDED.row("The related records need a value for {name}", "Send it.")
STALE_TAG = table.ENTITY_CHANGED.row("The record has changed, and its ETag is now {tag}",
    "Read the record again, and send its current ETag in If-Match.", group="STALE_TAG")
SAME_TAG = table.ENTITY_CHANGED.row("If-None-Match contains the record's ETag", "Send the request without that header.")
RECORD_EXISTS = table.ENTITY_CHANGED.row("A record with this key exists, which If-None-Match: * excludes", "Update the record instead.")

# requests that are batches
SINGLE_ONLY = _header("{header} applies to a single request, not to a batch", "Send it with the requests in the batch.")
LONG_BATCH_ID = _rejected("Repeatability-Request-ID of a batch exceeds the limit of {limit} characters", "Send a Guid.")
OTHER_AUTHORIZATION = replace(_batch("Authorization differs from that of the batch", "Remove it, or send the request separately."),
    check=None)

# records
UNKNOWN_SEGMENT = table.RESOURCE_NOT_FOUND.row("The resource '{path:.200}' does not exist",
    "Check the spelling. Names are case-sensitive, and most resources are under companies(<guid>)/.", group="UNKNOWN_SEGMENT")
UNKNOWN_RECORD = table.RECORD_NOT_FOUND.row("{name} has no record with the key {key!q}",
    "List {name} to find the existing keys.", group="NO_RECORD")
NO_RELATED_RECORD = table.RECORD_NOT_FOUND.row("{name} leads to no record", "Write to a record of {related} by its key.", group="NO_RECORD")
NOT_CONTAINED = table.RECORD_NOT_FOUND.row("No record contains {name} at this address",
    "Update the record there first: it needs a value for {own}.", group="NO_RECORD")
RIGHT_MISSING = table.REQUEST_DENIED.row("The roles of the client do not allow {doing} {name}",
    "Ask the operator for a role that allows it.", group="RIGHT_MISSING", headers={"WWW-Authenticate": 'Bearer error="insufficient_scope"'})

# values
NULL = _invalid("{name} must not be null", "Send a value for it.")
MISSING = table.PARAM_NOT_PROVIDED.row("{name} {problem}", "Send a value for it.", group="NO_VALUE")
READ_ONLY = _invalid("{field} is read-only", "Remove it from the body.", group="READ_ONLY")
IMMUTABLE = _invalid("{field} is set by a create alone", "Remove it from the body, or repeat its value.", group="READ_ONLY")
BLANK_KEY = _invalid("{name} {key!q} does not identify a record", "Use another key.")
RELATED_IN_BODY = table.NOT_IMPLEMENTED.row("Writing related records in a body, as in {name}, is not supported",
    "Remove {name}, and write the related records in their own entity set.")
OTHER_ADDRESS = _invalid("{name} must be {value!q} at this address", "Remove it from the body, or use another address.")
TOO_MANY_CONTAINED = _invalid("The record contains more than {limit} records", "Delete some of them first.")
UNSERVED = table.NOT_IMPLEMENTED.row("The navigation property {type}/{name} is not supported",
    "Ask the operator to add `on` to it in the catalog.")
ACTION_WITHOUT_EFFECT = table.NOT_IMPLEMENTED.row("The action {name} is not supported",
    "Update the properties of {set} that it would change.")
TOO_MANY_RELATED = _invalid("The body exceeds the limit of {limit} related records", "Create the others in their own entity set.")
NOT_RELATED_OBJECTS = _invalid("{name} must be an array of objects, not {json}", "Send an object for each related record.")

# values that their type does not accept
NULL_VALUE = _invalid("{name} must not be null", "Send {empty} to clear it.")
WRONG_JSON = _invalid("{name} must be {expected}, not {json}", "Send a value such as {example}.")
NOT_OF_TYPE = _invalid("{name} must be {expected}, not {value!q}", "Send a value such as {example}.")
LONG_TEXT = _invalid("{name} exceeds the limit of {limit} characters", "Shorten it by {excess}.", group="TOO_LONG")
NUL_IN_VALUE = _invalid("{name} contains a NUL character", "Remove it.")
SURROGATE = _invalid("{name} contains an unpaired surrogate at character {position}", "Send whole Unicode characters.")
NOT_BASE64_TEXT = _invalid("{name} must be Base64-encoded text (RFC 4648, with padding)",
    "Encode the text in UTF-8, then in Base64.")
NOT_AN_EMAIL = _invalid("{name} must be an e-mail address, not {value!q}", "Send name@example.com.", group="NO_EMAIL")
LETTERS_IN_PHONE = _invalid("{name} must not contain letters, such as {text!q}", "Send digits.", group="LETTERS_IN_PHONE")
NOT_AN_OPTION = _invalid("{name} must be {expected}, not {value!q}", "Send an option.", group="NO_OPTION")
IS_A_STREAM = _invalid("{name} is a stream", "Write it by a PATCH to its own address.")
OUT_OF_RANGE = _invalid("{name} must be between {minimum} and {maximum}", "Send a number in this range.")
LARGE_NUMBER = _invalid("{name} has more than {most} digits before the decimal point", "Send a smaller number.")
PRECISE_NUMBER = _invalid("{name} has more than {most} digits after the decimal point", "Send fewer digits.")
LONG_EXPONENT = _invalid("{name} has an exponent with too many digits", "Write a smaller one.")
NO_DATE = _invalid("{name} must be an existing date, not {value!q}", "Correct the day or the month.")
NO_OFFSET = _invalid("{name} must have an offset between -23:59 and +23:59, not {value!q}", "Correct the offset.")
NO_INSTANT = _invalid("{name} must be an existing date and time of the years 1 to 9999, not {value!q}",
    "Correct the date, the time or the offset.")
NO_TIME = _invalid("{name} must be an existing time of day, not {value!q}", "Send a time between 00:00:00 and 23:59:59.999.")
LONG_DURATION = _invalid("{name} must have at most {most} digits of seconds, not {value!q}", "Send a shorter duration.")
NOT_MIDNIGHT = _invalid("{name} is compared with a date, but is not midnight in UTC", "Write the date alone: {date}.")

# records that others are related to
MISSING_KEY = table.PARAM_NOT_PROVIDED.row("{name} is required", "Send a value for it.")
NO_NUMBER = _invalid("No number after the highest {name} is free", "Send a free {name}.")
DUPLICATE = table.KEY_EXISTS.row("Another record has the same {names}, which must be unique", "Send other values, or update that record.")
KEY_TAKEN = table.KEY_EXISTS.row("Another record of {set} has the same {names}, which must be unique",
    "Send other values, or update that record.", group="KEY_TAKEN")
BEGINS_LATE = _invalid("{name} must be before {limit}", "Send other days.", group="BEGINS_LATE")
ENDS_EARLY = _invalid("{name} must be after {limit}", "Send other days.", group="ENDS_EARLY")
NOT_RELATED = _invalid("{name} must be the {key} of a record of {set}, not {value!q}",
    "Create that record first, or send another value.", group="NO_RELATED")
IN_USE = _invalid("Records of {referrer} name {key!q} of {set}", "Change their {name} first.", group="IN_USE")
FOLLOWING_VALUE = _invalid("{name}, which follows from {source}, {problem}", "Send another {source}, or send {name} as well.")
COMPANY_LEAVING = table.KEY_EXISTS.row("The company {company} is being deleted, or its deletion was interrupted",
    "Choose another id, or finish the deletion with `comptoir company delete {company}`.")
COMPANY_COPIED = table.KEY_EXISTS.row("The company {company} is being copied, or its copy was interrupted",
    "Choose another id, or finish the copy.")
COMPANY_GONE = table.COMPANY_NOT_FOUND.row("The company {company} was deleted, or is being copied to this database",
    "List the companies to find those that exist.")
