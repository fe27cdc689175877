"""The table of errors: every failure that a client can see, with its status and its remedy.

The codes follow those of Business Central. `docs/reference/errors.md` is generated from this table,
and `response.errors` writes the body.
"""

from comptoir.errors.refusal import Check, ErrorType, OAuthError

_WAIT = "Wait for the seconds in `Retry-After`, then repeat the request."

BAD_REQUEST = ErrorType("BadRequest", 400, Check.VALUES,
    "The body, a value or a header is not valid for the operation.", "Correct the part that `target` and the message name.")
INVALID_URL = ErrorType("BadRequest_InvalidRequestUrl", 400, Check.SYNTAX,
    "The path or a query option does not follow the rules of OData.", "Correct the part that the message names.")
PARAM_NOT_PROVIDED = ErrorType("BadRequest_RequiredParamNotProvided", 400, Check.VALUES,
    "A required property is missing or empty.", "Send the property that `target` names.")
INVALID_CREDENTIALS = ErrorType("Authentication_InvalidCredentials", 401, Check.TOKEN,
    "The request has no bearer token, or the service does not accept the token.",
    "Send `Authorization: Bearer <token>` with a token from the token endpoint or from "
    "`comptoir token`.")
REQUEST_DENIED = ErrorType("Authorization_RequestDenied", 403, Check.SCOPE,
    "The token is valid, but its scopes or its client's roles do not allow this operation.",
    "Ask for a token with the scope, or the operator for a role, that the message names.")
SERVICE_READ_ONLY = ErrorType("Authorization_ServiceReadOnly", 403, Check.SERVICE,
    "The service only reads (the setting `read_only`). Nothing was changed.",
    "Read only, or ask the operator which service accepts writes.")
COMPANY_NOT_FOUND = ErrorType("Internal_CompanyNotFound", 404, Check.COMPANY,
    "The company does not exist, or the token does not grant access to it.",
    "`GET companies` lists the companies that the token grants access to.")
RESOURCE_NOT_FOUND = ErrorType("BadRequest_ResourceNotFound", 404, Check.RESOURCE,
    "The path does not lead to a resource.", "Compare the path with the reference. Names of resources are case-sensitive.")
RECORD_NOT_FOUND = ErrorType("Internal_RecordNotFound", 404, Check.RECORD,
    "The resource exists, but has no record with this key.", "List the resource to find existing keys.")
METHOD_NOT_ALLOWED = ErrorType("BadRequest_MethodNotAllowed", 405, Check.METHOD,
    "The method is not allowed on the resource.", "The `Allow` header lists the allowed methods.")
NOT_ACCEPTABLE = ErrorType("Request_NotAcceptable", 406, Check.MEDIA_TYPE,
    "The service supports none of the formats, character sets or codings that the request accepts.", "Accept `application/json`, in UTF-8.")
REQUEST_TIMEOUT = ErrorType("Request_Timeout", 408, Check.LIMIT,
    "The request was not complete in time.", "Send the request without pauses or in smaller parts, or raise the limit in the settings.")
KEY_EXISTS = ErrorType("Internal_EntityWithSameKeyExists", 409, Check.UNIQUENESS,
    "Another record has this key or the same values of a unique rule.", "Choose other values, or update the existing record.")
LINK_EXPIRED = ErrorType("Request_LinkExpired", 410, Check.SYNTAX, "The link has expired.", "Start again from the collection.")
ENTITY_CHANGED = ErrorType("Request_EntityChanged", 412, Check.TAG,
    "The record has changed since the ETag in `If-Match` was read.", "Read the record, decide again, and send its current ETag.")
REPEAT_UNTRACKED = ErrorType("Request_RepeatUntracked", 412, Check.PRECONDITION,
    "The service no longer remembers the time at which the request was first sent.",
    "Check whether the request was executed. If not, send it as a new request.")
ISOLATION_NOT_SUPPORTED = ErrorType("Request_IsolationNotSupported", 412, Check.PRECONDITION,
    "The request asks for a snapshot (`Isolation: snapshot`), which the service does not support.",
    "Send the request without `Isolation` and `OData-Isolation`.")
BODY_TOO_LARGE = ErrorType("Request_BodyTooLarge", 413, Check.SIZE,
    "The body exceeds the limit of the service.", "Send less in one request, or raise the limit in the settings.")
URI_TOO_LONG = ErrorType("Request_UriTooLong", 414, Check.LIMIT,
    "The URL exceeds the limit of the service.", "Shorten the filter, or send several requests.")
UNSUPPORTED_MEDIA_TYPE = ErrorType("Request_UnsupportedMediaType", 415, Check.MEDIA_TYPE,
    "The body is not declared as JSON, or is compressed.", "Send an uncompressed body with `Content-Type: application/json`.")
FAILED_DEPENDENCY = ErrorType("Request_FailedDependency", 424, Check.PRECONDITION,
    "The request was not executed, because another request of the same batch failed.",
    "Check the response to the request that the message names, then send both again.")
PRECONDITION_REQUIRED = ErrorType("Request_PreconditionRequired", 428, Check.PRECONDITION,
    "The operation needs an `If-Match` header.",
    "Send the record's `@odata.etag` as `If-Match`. An update may have it in its body instead.")
TOO_MANY_REQUESTS = ErrorType("Application_TooManyRequests", 429, Check.LIMIT,
    "The client exceeds one of its limits, or too many requests are waiting.", _WAIT)
HEADERS_TOO_LARGE = ErrorType("Request_HeadersTooLarge", 431, Check.LIMIT,
    "The headers, or the body's trailers and chunk extensions, exceed the limit of the service.",
    "Send fewer or shorter headers, or raise the limit in the settings.")
INTERNAL_ERROR = ErrorType("Internal_ServerError", 500, Check.SERVICE,
    "The service failed. Its log has the cause, with the id of the request.",
    "Report the id of the request to the operator of the service.")
NOT_IMPLEMENTED = ErrorType("BadRequest_MethodNotImplemented", 501, Check.SYNTAX,
    "The request is valid, but contains a construct that the service does not support.",
    "Send the request without the construct that the message names.")
UNAVAILABLE = ErrorType("Internal_Unavailable", 503, Check.SERVICE,
    "The database cannot serve the request now. Nothing was changed.", _WAIT)
DATABASE_BUSY = ErrorType("Internal_DatabaseBusy", 503, Check.SERVICE,
    "Locks, connections, scan threads or memory of the database are in use. Nothing was changed.", _WAIT)
DATABASE_FULL = ErrorType("Internal_DatabaseFull", 503, Check.SERVICE,
    "The disk of the database is full. Nothing was changed.", "Repeat the request after the operator has freed some space.")
DATABASE_NOT_READY = ErrorType("Internal_DatabaseNotReady", 503, Check.SERVICE,
    "The database lacks tables or privileges that the service needs. Nothing was changed.",
    "Repeat the request after the operator has run `comptoir migrate`.")
DATABASE_OLDER = ErrorType("Internal_DatabaseOlder", 503, Check.SERVICE,
    "The database has lost changes that the service has acknowledged, as after a failover. Nothing "
    "was changed.", "Repeat the request after the operator has run `comptoir company renew`.")
DATABASE_READ_ONLY = ErrorType("Internal_DatabaseReadOnly", 503, Check.SERVICE,
    "The database is read-only now, like a standby. Nothing was changed.", _WAIT)
DATABASE_UNREACHABLE = ErrorType("Internal_DatabaseUnreachable", 503, Check.SERVICE,
    "The service has no connection to its database, or lost it during the request.",
    "Wait for the seconds in `Retry-After`. Read the record before you repeat a write.")
ISSUER_UNREACHABLE = ErrorType("Internal_IssuerUnreachable", 503, Check.SERVICE,
    "The keys of the issuer of the bearer token cannot be fetched, so the token is not checked.", _WAIT)
HTTP_VERSION_NOT_SUPPORTED = ErrorType("Request_HttpVersionNotSupported", 505, Check.SERVICE,
    "The service does not support the HTTP version of the request.", "Send HTTP/1.1.")

ERROR_TABLE = tuple(each for each in list(globals().values()) if isinstance(each, ErrorType))
"""All of the above, in their order."""

INVALID_REQUEST = OAuthError("invalid_request", 900144, 400, Check.SYNTAX,
    "A parameter is missing, repeated or malformed, or the request is not sent over HTTPS.")
INVALID_CLIENT = OAuthError("invalid_client", 7000215, 401, Check.TOKEN,
    "The request has no client credentials, the client is unknown or disabled, or its secret or assertion is not valid.")
SLOW_DOWN = OAuthError("slow_down", 90055, 429, Check.LIMIT, "The client failed to authenticate itself too often from this address.")
UNAUTHORIZED_CLIENT = OAuthError("unauthorized_client", 700016, 400, Check.SCOPE, "The client may not revoke a token of another client.")
UNSUPPORTED_GRANT_TYPE = OAuthError("unsupported_grant_type", 70003, 400, Check.SYNTAX, "The grant type is not `client_credentials`.")
UNSUPPORTED_RESPONSE_TYPE = OAuthError("unsupported_response_type", 70005, 400, Check.SYNTAX,
    "The service has no authorization endpoint; its address only completes the documents.")
INVALID_SCOPE = OAuthError("invalid_scope", 70011, 400, Check.SCOPE, "The client asks for a scope that it does not have.")
TEMPORARILY_UNAVAILABLE = OAuthError("temporarily_unavailable", 90033, 503, Check.SERVICE,
    "The database does not answer, so the client cannot be checked.")

OAUTH_ERROR_TABLE = tuple(each for each in list(globals().values()) if isinstance(each, OAuthError))
"""All errors of the token endpoint, in their order."""
