"""The one table of errors: every failure that a client can see, with its status and its remedy.

The codes follow the Business Central family. The reference page `docs/reference/errors.md` is
generated from this table, and `response.response` writes the body.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from comptoir.messages import message


@dataclass(frozen=True, slots=True)
class ErrorType:
    """One line of the table: a stable code, its HTTP status, what it means, what to do."""

    code: str
    status: int
    meaning: str
    remedy: str


INVALID_CREDENTIALS = ErrorType(
    "Authentication_InvalidCredentials",
    401,
    "The request carries no bearer token, or one that this service does not accept.",
    "Send `Authorization: Bearer <token>` with a token from `comptoir token`.",
)
REQUEST_DENIED = ErrorType(
    "Authorization_RequestDenied",
    403,
    "The token is valid, but its scopes do not allow this operation.",
    "Ask for a token with the scope that the message names.",
)
BAD_REQUEST = ErrorType(
    "BadRequest",
    400,
    "The body, a value or a header is not what the operation takes.",
    "Correct the place that `target` and the message name.",
)
INVALID_URL = ErrorType(
    "BadRequest_InvalidRequestUrl",
    400,
    "The path or a query option does not follow the rules of OData.",
    "Correct the place that the message names.",
)
PARAM_NOT_PROVIDED = ErrorType(
    "BadRequest_RequiredParamNotProvided",
    400,
    "A property that the record needs is missing or empty.",
    "Send the property that `target` names.",
)
RESOURCE_NOT_FOUND = ErrorType(
    "BadRequest_ResourceNotFound",
    404,
    "There is no resource at this path.",
    "Compare the path with the reference; resource names are case-sensitive.",
)
RECORD_NOT_FOUND = ErrorType(
    "Internal_RecordNotFound",
    404,
    "The resource exists, but holds no record with this key.",
    "List the resource to find the keys that exist.",
)
COMPANY_NOT_FOUND = ErrorType(
    "Internal_CompanyNotFound",
    404,
    "There is no such company, or the token does not reach it.",
    "`GET companies` lists the companies that the token reaches.",
)
METHOD_NOT_ALLOWED = ErrorType(
    "BadRequest_MethodNotAllowed",
    405,
    "The resource does not have this method.",
    "The `Allow` header lists the methods that it has.",
)
NOT_ACCEPTABLE = ErrorType(
    "Request_NotAcceptable",
    406,
    "The service has none of the formats, character sets or codings that the request accepts.",
    "Accept `application/json`, in UTF-8.",
)
REQUEST_TIMEOUT = ErrorType(
    "Request_Timeout",
    408,
    "The request did not arrive whole in time.",
    "Send it without pauses, or less at a time; or raise the limit in the settings.",
)
KEY_EXISTS = ErrorType(
    "Internal_EntityWithSameKeyExists",
    409,
    "Another record has this key, or these values of a unique rule.",
    "Choose other values, or update the record that exists.",
)
LINK_EXPIRED = ErrorType(
    "Request_LinkExpired",
    410,
    "The link was valid once, but can no longer be followed.",
    "Start over from the collection.",
)
ENTITY_CHANGED = ErrorType(
    "Request_EntityChanged",
    412,
    "The record has changed since the tag in `If-Match` was read.",
    "Read the record again, decide again, and send its current tag.",
)
REPEAT_UNTRACKED = ErrorType(
    "Request_RepeatUntracked",
    412,
    "The request says that it was first sent at a time for which repeats are not known any more.",
    "Find out whether it was done, and send it as a new request if not.",
)
ISOLATION_NOT_SUPPORTED = ErrorType(
    "Request_IsolationNotSupported",
    412,
    "The request asks to see one state of all records (`Isolation: snapshot`), which this service "
    "does not promise over several reads.",
    "Send it without `Isolation` and `OData-Isolation`.",
)
BODY_TOO_LARGE = ErrorType(
    "Request_BodyTooLarge",
    413,
    "The body is larger than this service reads.",
    "Send less at a time, or raise the limit in the settings.",
)
URI_TOO_LONG = ErrorType(
    "Request_UriTooLong",
    414,
    "The URL is longer than this service reads.",
    "Shorten the filter, or split it over several requests.",
)
UNSUPPORTED_MEDIA_TYPE = ErrorType(
    "Request_UnsupportedMediaType",
    415,
    "The body is not declared as JSON, or is compressed.",
    "Send `Content-Type: application/json`, and the body as it is.",
)
FAILED_DEPENDENCY = ErrorType(
    "Request_FailedDependency",
    424,
    "The request was not done, because another request of the same batch was not done.",
    "Look at the answer to the request that the message names; then send both again.",
)
PRECONDITION_REQUIRED = ErrorType(
    "Request_PreconditionRequired",
    428,
    "The operation needs an `If-Match` header.",
    "Send the record's `@odata.etag` as `If-Match`. An update may carry it in its body instead.",
)
TOO_MANY_REQUESTS = ErrorType(
    "Application_TooManyRequests",
    429,
    "More work is waiting than this service accepts.",
    "Wait for the seconds in `Retry-After`, then send the request again.",
)
HEADERS_TOO_LARGE = ErrorType(
    "Request_HeadersTooLarge",
    431,
    "The headers, or the trailers and chunk extensions of the body, are larger than this service "
    "reads.",
    "Send fewer or shorter ones, or raise the limit in the settings.",
)
INTERNAL_ERROR = ErrorType(
    "Internal_ServerError",
    500,
    "The service failed; the cause is in its log under the request's id.",
    "Report the request's id to whoever runs the service.",
)
NOT_IMPLEMENTED = ErrorType(
    "BadRequest_MethodNotImplemented",
    501,
    "The request is valid, but this service does not support what it names.",
    "Ask without the construct that the message names.",
)
HTTP_VERSION_NOT_SUPPORTED = ErrorType(
    "Request_HttpVersionNotSupported",
    505,
    "The request is of a version of HTTP that this service does not speak.",
    "Send HTTP/1.1.",
)
UNAVAILABLE = ErrorType(
    "Internal_Unavailable",
    503,
    "The database cannot serve the request now; nothing was changed.",
    "Wait for the seconds in `Retry-After`, then send the request again.",
)
DATABASE_BUSY = ErrorType(
    "Internal_DatabaseBusy",
    503,
    "Others hold the database's locks, connections or memory; nothing was changed.",
    "Wait for the seconds in `Retry-After`, then send the request again.",
)
DATABASE_FULL = ErrorType(
    "Internal_DatabaseFull",
    503,
    "The disk of the database is full; nothing was changed.",
    "Send the request again when whoever runs the service has freed some space.",
)
DATABASE_NOT_READY = ErrorType(
    "Internal_DatabaseNotReady",
    503,
    "The database lacks tables or rights that the service needs; nothing was changed.",
    "Send the request again when whoever runs the service has run `comptoir migrate`.",
)
DATABASE_OLDER = ErrorType(
    "Internal_DatabaseOlder",
    503,
    "The database has lost changes that the service has acknowledged, as after a failover; nothing "
    "was changed.",
    "Send the request again when the operator has run `comptoir company renew`.",
)
DATABASE_READ_ONLY = ErrorType(
    "Internal_DatabaseReadOnly",
    503,
    "The database takes no writes now, as a standby does; nothing was changed.",
    "Wait for the seconds in `Retry-After`, then send the request again.",
)
DATABASE_UNREACHABLE = ErrorType(
    "Internal_DatabaseUnreachable",
    503,
    "The service has no connection to its database, or lost it during the request.",
    "Wait for the seconds in `Retry-After`; read the record before you send a write again.",
)

ERROR_TABLE: tuple[ErrorType, ...] = (
    BAD_REQUEST,
    INVALID_URL,
    PARAM_NOT_PROVIDED,
    INVALID_CREDENTIALS,
    REQUEST_DENIED,
    COMPANY_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    RECORD_NOT_FOUND,
    METHOD_NOT_ALLOWED,
    NOT_ACCEPTABLE,
    REQUEST_TIMEOUT,
    KEY_EXISTS,
    LINK_EXPIRED,
    ENTITY_CHANGED,
    REPEAT_UNTRACKED,
    ISOLATION_NOT_SUPPORTED,
    BODY_TOO_LARGE,
    URI_TOO_LONG,
    UNSUPPORTED_MEDIA_TYPE,
    FAILED_DEPENDENCY,
    PRECONDITION_REQUIRED,
    TOO_MANY_REQUESTS,
    HEADERS_TOO_LARGE,
    INTERNAL_ERROR,
    NOT_IMPLEMENTED,
    UNAVAILABLE,
    DATABASE_BUSY,
    DATABASE_FULL,
    DATABASE_NOT_READY,
    DATABASE_OLDER,
    DATABASE_READ_ONLY,
    DATABASE_UNREACHABLE,
    HTTP_VERSION_NOT_SUPPORTED,
)


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One of several faults of a request: its code, what is wrong, and where."""

    code: str
    message: str
    target: str


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not an error of the program
    """A request that gets an error of the table as its response.

    `problem` and `remedy` make the message (`messages.message`). `target` names the place: a
    property, a query option or a header; with `column`, counted from 1, it is the option that has
    the fault there. `headers` are added to the response.
    """

    def __init__(
        self,
        error: ErrorType,
        problem: str,
        remedy: str = "",
        *,
        target: str | None = None,
        column: int | None = None,
        details: tuple[ErrorDetail, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        # TODO: make `remedy` mandatory once every message has the one form; the others still come
        # whole, in `problem`.
        self.message = (
            message(problem, remedy, column=column, option=target or "")
            if remedy or column is not None
            else problem
        )
        super().__init__(self.message)
        self.error = error
        self.problem = problem
        self.remedy = remedy
        self.target = target
        self.column = column
        self.details = details
        self.headers: Mapping[str, str] = headers or {}


class GroupRefusal(Exception):  # noqa: N818 - as `Refusal`
    """A group of requests of which none was done, since one of them was refused.

    `index` says which, counted from 0.
    """

    def __init__(self, index: int, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.index = index
        self.refusal = refusal


class OperatorError(Exception):
    """A condition that the operator can fix, shown in one line without a traceback.

    `problem` and `remedy` make the message (`messages.message`).
    """

    # TODO: make `remedy` mandatory once every message has the one form; the others still come
    # whole, in `problem`.
    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(message(problem, remedy) if remedy else problem)


class UnreachableError(OperatorError):
    """The database cannot be reached now: a service starts without it and waits."""
