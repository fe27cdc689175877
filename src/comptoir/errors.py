"""The table of errors: every failure that a client can see, with its status and its remedy.

The codes follow those of Business Central. `docs/reference/errors.md` is generated from this table,
and `response.response` writes the body.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from comptoir.messages import message


@dataclass(frozen=True, slots=True)
class ErrorType:
    """A row of the table; `code` is stable across releases."""

    code: str
    status: int
    meaning: str
    remedy: str


BAD_REQUEST = ErrorType(
    "BadRequest",
    400,
    "The body, a value or a header is not valid for the operation.",
    "Correct the part that `target` and the message name.",
)
INVALID_URL = ErrorType(
    "BadRequest_InvalidRequestUrl",
    400,
    "The path or a query option does not follow the rules of OData.",
    "Correct the part that the message names.",
)
PARAM_NOT_PROVIDED = ErrorType(
    "BadRequest_RequiredParamNotProvided",
    400,
    "A required property is missing or empty.",
    "Send the property that `target` names.",
)
INVALID_CREDENTIALS = ErrorType(
    "Authentication_InvalidCredentials",
    401,
    "The request has no bearer token, or the service does not accept the token.",
    "Send `Authorization: Bearer <token>` with a token from `comptoir token`.",
)
REQUEST_DENIED = ErrorType(
    "Authorization_RequestDenied",
    403,
    "The token is valid, but its scopes do not allow this operation.",
    "Ask for a token with the scope that the message names.",
)
COMPANY_NOT_FOUND = ErrorType(
    "Internal_CompanyNotFound",
    404,
    "The company does not exist, or the token does not grant access to it.",
    "`GET companies` lists the companies that the token grants access to.",
)
RESOURCE_NOT_FOUND = ErrorType(
    "BadRequest_ResourceNotFound",
    404,
    "The path does not lead to a resource.",
    "Compare the path with the reference. Names of resources are case-sensitive.",
)
RECORD_NOT_FOUND = ErrorType(
    "Internal_RecordNotFound",
    404,
    "The resource exists, but has no record with this key.",
    "List the resource to find existing keys.",
)
METHOD_NOT_ALLOWED = ErrorType(
    "BadRequest_MethodNotAllowed",
    405,
    "The method is not allowed on the resource.",
    "The `Allow` header lists the allowed methods.",
)
NOT_ACCEPTABLE = ErrorType(
    "Request_NotAcceptable",
    406,
    "The service supports none of the formats, character sets or codings that the request accepts.",
    "Accept `application/json`, in UTF-8.",
)
REQUEST_TIMEOUT = ErrorType(
    "Request_Timeout",
    408,
    "The request was not complete in time.",
    "Send the request without pauses or in smaller parts, or raise the limit in the settings.",
)
KEY_EXISTS = ErrorType(
    "Internal_EntityWithSameKeyExists",
    409,
    "Another record has this key or the same values of a unique rule.",
    "Choose other values, or update the existing record.",
)
LINK_EXPIRED = ErrorType(
    "Request_LinkExpired",
    410,
    "The link has expired.",
    "Start again from the collection.",
)
ENTITY_CHANGED = ErrorType(
    "Request_EntityChanged",
    412,
    "The record has changed since the ETag in `If-Match` was read.",
    "Read the record, decide again, and send its current ETag.",
)
REPEAT_UNTRACKED = ErrorType(
    "Request_RepeatUntracked",
    412,
    "The service no longer remembers the time at which the request was first sent.",
    "Check whether the request was executed. If not, send it as a new request.",
)
ISOLATION_NOT_SUPPORTED = ErrorType(
    "Request_IsolationNotSupported",
    412,
    "The request asks for a snapshot (`Isolation: snapshot`), which the service does not support.",
    "Send the request without `Isolation` and `OData-Isolation`.",
)
BODY_TOO_LARGE = ErrorType(
    "Request_BodyTooLarge",
    413,
    "The body exceeds the limit of the service.",
    "Send less in one request, or raise the limit in the settings.",
)
URI_TOO_LONG = ErrorType(
    "Request_UriTooLong",
    414,
    "The URL exceeds the limit of the service.",
    "Shorten the filter, or send several requests.",
)
UNSUPPORTED_MEDIA_TYPE = ErrorType(
    "Request_UnsupportedMediaType",
    415,
    "The body is not declared as JSON, or is compressed.",
    "Send an uncompressed body with `Content-Type: application/json`.",
)
FAILED_DEPENDENCY = ErrorType(
    "Request_FailedDependency",
    424,
    "The request was not executed, because another request of the same batch failed.",
    "Check the response to the request that the message names, then send both again.",
)
PRECONDITION_REQUIRED = ErrorType(
    "Request_PreconditionRequired",
    428,
    "The operation needs an `If-Match` header.",
    "Send the record's `@odata.etag` as `If-Match`. An update may have it in its body instead.",
)
TOO_MANY_REQUESTS = ErrorType(
    "Application_TooManyRequests",
    429,
    "Too many requests are waiting.",
    "Wait for the seconds in `Retry-After`, then repeat the request.",
)
HEADERS_TOO_LARGE = ErrorType(
    "Request_HeadersTooLarge",
    431,
    "The headers, or the body's trailers and chunk extensions, exceed the limit of the service.",
    "Send fewer or shorter headers, or raise the limit in the settings.",
)
INTERNAL_ERROR = ErrorType(
    "Internal_ServerError",
    500,
    "The service failed. Its log has the cause, with the id of the request.",
    "Report the id of the request to the operator of the service.",
)
NOT_IMPLEMENTED = ErrorType(
    "BadRequest_MethodNotImplemented",
    501,
    "The request is valid, but contains a construct that the service does not support.",
    "Send the request without the construct that the message names.",
)
UNAVAILABLE = ErrorType(
    "Internal_Unavailable",
    503,
    "The database cannot serve the request now. Nothing was changed.",
    "Wait for the seconds in `Retry-After`, then repeat the request.",
)
DATABASE_BUSY = ErrorType(
    "Internal_DatabaseBusy",
    503,
    "Locks, connections or memory of the database are in use. Nothing was changed.",
    "Wait for the seconds in `Retry-After`, then repeat the request.",
)
DATABASE_FULL = ErrorType(
    "Internal_DatabaseFull",
    503,
    "The disk of the database is full. Nothing was changed.",
    "Repeat the request after the operator has freed some space.",
)
DATABASE_NOT_READY = ErrorType(
    "Internal_DatabaseNotReady",
    503,
    "The database lacks tables or privileges that the service needs. Nothing was changed.",
    "Repeat the request after the operator has run `comptoir migrate`.",
)
DATABASE_OLDER = ErrorType(
    "Internal_DatabaseOlder",
    503,
    "The database has lost changes that the service has acknowledged, as after a failover. Nothing "
    "was changed.",
    "Repeat the request after the operator has run `comptoir company renew`.",
)
DATABASE_READ_ONLY = ErrorType(
    "Internal_DatabaseReadOnly",
    503,
    "The database is read-only now, like a standby. Nothing was changed.",
    "Wait for the seconds in `Retry-After`, then repeat the request.",
)
DATABASE_UNREACHABLE = ErrorType(
    "Internal_DatabaseUnreachable",
    503,
    "The service has no connection to its database, or lost it during the request.",
    "Wait for the seconds in `Retry-After`. Read the record before you repeat a write.",
)
HTTP_VERSION_NOT_SUPPORTED = ErrorType(
    "Request_HttpVersionNotSupported",
    505,
    "The service does not support the HTTP version of the request.",
    "Send HTTP/1.1.",
)

ERROR_TABLE = tuple(each for each in list(globals().values()) if isinstance(each, ErrorType))
"""All of the above, in their order."""


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One of several faults of a request."""

    code: str
    message: str
    target: str


class Refusal(Exception):  # noqa: N818 - a response, not an error of the program
    """A request that gets an error of the table as its response.

    `problem` and `remedy` make the message (`messages.message`). `target` names the place: a
    property, a query option or a header; with `column`, counted from 1, it is the option that has
    the fault there. `headers` are added to the response.
    """

    def __init__(
        self,
        error: ErrorType,
        problem: str,
        remedy: str,
        *,
        target: str | None = None,
        column: int | None = None,
        details: tuple[ErrorDetail, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.message = message(problem, remedy, column=column, option=target or "")
        super().__init__(self.message)
        self.error = error
        self.problem = problem
        self.remedy = remedy
        self.target = target
        self.column = column
        self.details = details
        self.headers: Mapping[str, str] = headers or {}


class GroupRefusal(Exception):  # noqa: N818 - as `Refusal`
    """The refusal of an atomic group: no request was executed, since one was refused.

    `index` is the number of that request, from 0.
    """

    def __init__(self, index: int, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.index = index
        self.refusal = refusal


class OperatorError(Exception):
    """A condition that the operator can fix, shown in one line without a traceback.

    `problem` and `remedy` make the message (`messages.message`).
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(message(problem, remedy))
        self.problem = problem
        self.remedy = remedy


class UnreachableError(OperatorError):
    """The database cannot be reached; a service that starts waits for it."""
