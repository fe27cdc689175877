"""The responses of Business Central by groups of refusals, in its own words."""

from collections.abc import Mapping

from comptoir.errors.table import (
    DATABASE_BUSY,
    DATABASE_FULL,
    DATABASE_NOT_READY,
    DATABASE_OLDER,
    DATABASE_READ_ONLY,
    DATABASE_UNREACHABLE,
    UNAVAILABLE,
)
from comptoir.profiles.record import ResponseOverride

_BY_A_RULE = "Application_DialogException"
"""The code of refusals by the application itself."""

_NO_TOKEN = ResponseOverride(400, "BadRequest_InvalidToken",
    "Could not validate the client concurrency token required by the service. Please provide a valid token in the client request.")

ERRORS: Mapping[str, ResponseOverride] = {
    "NO_TAG": _NO_TOKEN,
    "MALFORMED_TAG": _NO_TOKEN,
    "STALE_TAG": ResponseOverride(409, "Request_EntityChanged",
        "Another user has already changed the record."),
    "NO_RECORD": ResponseOverride(404, "BadRequest_ResourceNotFound",
        "Resource not found for the segment '{set}'."),
    "UNKNOWN_SEGMENT": ResponseOverride(404, "BadRequest_ResourceNotFound",
        "Resource not found for the segment '{segment}'."),
    "UNKNOWN_ADDRESS": ResponseOverride(404, "BadRequest_NotFound",
        "No HTTP resource was found that matches the request URI '{url}'."),
    "UNKNOWN_SERVICE": ResponseOverride(404, "", "", media="empty"),
    "KEY_AS_SEGMENT": ResponseOverride(404, "BadRequest_NotFound",
        "The request URI is not valid. Since the segment '{set}' refers to a collection, this must "
        "be the last segment in the request URI or it must be followed by an function or action "
        "that can be bound to it otherwise all intermediate segments must refer to a single "
        "resource."),
    "BOUND_ACTION": ResponseOverride(501, "BadRequest_MethodNotImplemented",
        "Entity does not support bound actions."),
    "NO_COMPANY": ResponseOverride(404, "Internal_CompanyNotFound",
        "Cannot process the request because the default company cannot be found. You can specify "
        "a default company in the service configuration file, or specify one for each tenant, or "
        'you can add a query string in the form of "company=[name]". You can see the available '
        "companies by accessing the default OData web service, Company. For more information, see "
        '"OData Web Services" in Help.'),
    "UNKNOWN_ENVIRONMENT": ResponseOverride(404, "NoEnvironment", "Environment does not exist.",
        media="xml"),
    "METHOD_ON_SET": ResponseOverride(405, "BadRequest_MethodNotAllowed",
        "'{method}' requests for '{set}' of EdmType 'Collection' are not allowed within "
        "Dynamics 365 Business Central OData web services."),
    "MERGE": ResponseOverride(501, "BadRequest_MethodNotImplemented",
        "'MERGE' requests for 'Entity' are not supported by Dynamics 365 Business Central OData "
        "web services."),
    "LOCKED": ResponseOverride(409, "Internal_ServerError",
        "We can't save your changes right now, because a record in table '{table}' is being "
        "updated in a transaction done by another session."),
    "MALFORMED_KEY": ResponseOverride(404, "BadRequest_NotFound",
        "Bad Request - Error in query syntax."),
    "BAD_CREDENTIALS": ResponseOverride(401, "Authentication_InvalidCredentials",
        "The server has rejected the client credentials."),
    "REFUSED_BY_GATEWAY": ResponseOverride(401, "Unauthorized",
        "The credentials provided are incorrect", media="asked"),
    "UNKNOWN_PROPERTY": ResponseOverride(400, "BadRequest",
        "The property '{name}' does not exist on type '{type}'. Make sure to "
        "only use property names that are defined by the type."),
    "NO_OBJECT": ResponseOverride(400, "BadRequest",
        "An unexpected '{node}' node was found when reading from the JSON reader. A "
        "'StartObject' node was expected."),
    "MALFORMED_JSON": ResponseOverride(400, "BadRequest", "Invalid Request Body"),
    "TOO_LONG": ResponseOverride(400, "Application_StringExceededLength",
        "The length of the string is {length}, but it must be less than or equal to {limit} "
        "characters. Value: {value}"),
    "NO_OPTION": ResponseOverride(400, "Unknown",
        "'{value}' is not an option. The existing options are: {options}"),
    "WRONG_TYPE": ResponseOverride(400, "BadRequest", "Unable to convert value to {type}"),
    "NULL_VALUE": ResponseOverride(400, "BadRequest_RequiredParamNotProvided",
        "Field '{field}' must not be blank or empty."),
    "NO_VALUE": ResponseOverride(400, "Application_FieldValidationException",
        "{field} must have a value in {table}: {values}. It cannot be zero or empty."),
    "RIGHT_MISSING": ResponseOverride(403, "Internal_ServerError",
        "Sorry, the current permissions prevented the action. (TableData {table} {right}: App)"),
    "KEY_TAKEN": ResponseOverride(400, "Internal_EntityWithSameKeyExists",
        "The record in table {table} already exists. Identification fields and values: {values}"),
    "READ_ONLY": ResponseOverride(400, "BadRequest_InvalidOperation",
        "Control '{field}' is read-only."),
    "NO_RELATED": ResponseOverride(400, "Internal_InvalidTableRelation",
        "The field {field} of table {table} contains a value ({value}) that cannot be found in the "
        "related table ({related})."),
    "NO_EMAIL": ResponseOverride(400, _BY_A_RULE, 'The email address "{value}" is not valid.'),
    "LETTERS_IN_PHONE": ResponseOverride(400, _BY_A_RULE,
        "{field} must not contain letters in {table} {values}."),
    "BEGINS_LATE": ResponseOverride(400, _BY_A_RULE, "{field} must be before {other}."),
    "ENDS_EARLY": ResponseOverride(400, _BY_A_RULE, "{field} must be after {other}."),
    "IN_USE": ResponseOverride(400, _BY_A_RULE,
        "You cannot delete the unit of measure because it is assigned to one or more records."),
    "ALTERNATIVES": ResponseOverride(501, "BadRequest_MethodNotImplemented",
        "The 'OR' operator is not supported on distinct fields on an OData filter."),
    "UNSUPPORTED_FILTER": ResponseOverride(501, "BadRequest_MethodNotImplemented",
        "The OData filter expression is not supported."),
    "UNKNOWN_FIELD": ResponseOverride(400, "BadRequest",
        "Could not find a property named '{name}' on type '{type}'."),
    "UNKNOWN_SELECTED": ResponseOverride(400, "BadRequest_NotFound",
        "Could not find a property named '{name}' on type '{type}'."),
    "NO_EXPRESSION": ResponseOverride(400, "BadRequest",
        "Expression expected at position {position} in '{text}'."),
    "SYNTAX": ResponseOverride(400, "BadRequest",
        "Syntax error at position {position} in '{text}'."),
    "LINK_GONE": ResponseOverride(400, "SkipTokenIsNoLongerValid", "The skip token has expired."),
    "TOO_MANY_PARTS": ResponseOverride(500, "Unknown",
        "The current batch message contains too many parts. A maximum number of '{limit}' "
        "query operations and change sets are allowed in a batch message."),
    "LONG_CHANGE_SET": ResponseOverride(500, "Unknown",
        "Multiple requests within the same change set are not supported by Microsoft Dynamics 365 "
        "Business Central OData web services."),
    "TOO_MANY_REQUESTS": ResponseOverride(429, "Application_TooManyRequests",
        "Too many requests reached. Actual ({actual}). Maximum ({limit}).", retries=False),
    "LONG_WORK": ResponseOverride(408, "Request_Timeout", "The operation took too long.",
        retries=False),
}

_AWAY = ResponseOverride(503, "Application_ServiceUnavailable",
    "The session could not be retrieved from the server. The application will close.")

CODES: Mapping[str, ResponseOverride] = {
    each.code: _AWAY
    for each in (UNAVAILABLE, DATABASE_BUSY, DATABASE_FULL, DATABASE_NOT_READY, DATABASE_OLDER,
        DATABASE_READ_ONLY, DATABASE_UNREACHABLE)
}

TRANSLATIONS: Mapping[str, Mapping[str, str]] = {
    "nl": {"UNSUPPORTED_FILTER": "De OData-filterexpressie wordt niet ondersteund."}
}
"""The messages that were recorded in other languages."""
