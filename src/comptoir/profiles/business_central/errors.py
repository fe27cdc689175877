"""The responses of Business Central to situations, in its own words."""

from collections.abc import Mapping

from comptoir.errors import (
    DATABASE_BUSY,
    DATABASE_FULL,
    DATABASE_NOT_READY,
    DATABASE_OLDER,
    DATABASE_READ_ONLY,
    DATABASE_UNREACHABLE,
    UNAVAILABLE,
    Situation,
)
from comptoir.profiles.record import Verdict

_BY_A_RULE = "Application_DialogException"
"""The code of refusals by the application itself."""

_NO_TOKEN = Verdict(
    400,
    "BadRequest_InvalidToken",
    "Could not validate the client concurrency token required by the service. Please provide a "
    "valid token in the client request.",
)

ERRORS: Mapping[Situation, Verdict] = {
    Situation.NO_TAG: _NO_TOKEN,
    Situation.MALFORMED_TAG: _NO_TOKEN,
    Situation.STALE_TAG: Verdict(
        409, "Request_EntityChanged", "Another user has already changed the record."
    ),
    Situation.NO_RECORD: Verdict(
        404, "BadRequest_ResourceNotFound", "Resource not found for the segment '{set}'."
    ),
    Situation.UNKNOWN_SEGMENT: Verdict(
        404, "BadRequest_ResourceNotFound", "Resource not found for the segment '{segment}'."
    ),
    Situation.UNKNOWN_ADDRESS: Verdict(
        404,
        "BadRequest_NotFound",
        "No HTTP resource was found that matches the request URI '{url}'.",
    ),
    Situation.UNKNOWN_SERVICE: Verdict(404, "", "", media="empty"),
    Situation.KEY_AS_SEGMENT: Verdict(
        404,
        "BadRequest_NotFound",
        "The request URI is not valid. Since the segment '{set}' refers to a collection, this must "
        "be the last segment in the request URI or it must be followed by an function or action "
        "that can be bound to it otherwise all intermediate segments must refer to a single "
        "resource.",
    ),
    Situation.BOUND_ACTION: Verdict(
        501, "BadRequest_MethodNotImplemented", "Entity does not support bound actions."
    ),
    Situation.NO_COMPANY: Verdict(
        404,
        "Internal_CompanyNotFound",
        "Cannot process the request because the default company cannot be found. You can specify "
        "a default company in the service configuration file, or specify one for each tenant, or "
        'you can add a query string in the form of "company=[name]". You can see the available '
        "companies by accessing the default OData web service, Company. For more information, see "
        '"OData Web Services" in Help.',
    ),
    Situation.UNKNOWN_ENVIRONMENT: Verdict(
        404, "NoEnvironment", "Environment does not exist.", media="xml"
    ),
    Situation.METHOD_ON_SET: Verdict(
        405,
        "BadRequest_MethodNotAllowed",
        "'{method}' requests for '{set}' of EdmType 'Collection' are not allowed within "
        "Dynamics 365 Business Central OData web services.",
    ),
    Situation.MERGE: Verdict(
        501,
        "BadRequest_MethodNotImplemented",
        "'MERGE' requests for 'Entity' are not supported by Dynamics 365 Business Central OData "
        "web services.",
    ),
    Situation.LOCKED: Verdict(
        409,
        "Internal_ServerError",
        "We can't save your changes right now, because a record in table '{table}' is being "
        "updated in a transaction done by another session.",
    ),
    Situation.MALFORMED_KEY: Verdict(
        404, "BadRequest_NotFound", "Bad Request - Error in query syntax."
    ),
    Situation.BAD_CREDENTIALS: Verdict(
        401,
        "Authentication_InvalidCredentials",
        "The server has rejected the client credentials.",
    ),
    Situation.REFUSED_BY_GATEWAY: Verdict(
        401, "Unauthorized", "The credentials provided are incorrect", media="asked"
    ),
    Situation.UNKNOWN_PROPERTY: Verdict(
        400,
        "BadRequest",
        "The property '{name}' does not exist on type '{type}'. Make sure to "
        "only use property names that are defined by the type.",
    ),
    Situation.NO_OBJECT: Verdict(
        400,
        "BadRequest",
        "An unexpected '{node}' node was found when reading from the JSON reader. A "
        "'StartObject' node was expected.",
    ),
    Situation.MALFORMED_JSON: Verdict(400, "BadRequest", "Invalid Request Body"),
    Situation.TOO_LONG: Verdict(
        400,
        "Application_StringExceededLength",
        "The length of the string is {length}, but it must be less than or equal to {limit} "
        "characters. Value: {value}",
    ),
    Situation.NO_OPTION: Verdict(
        400, "Unknown", "'{value}' is not an option. The existing options are: {options}"
    ),
    Situation.WRONG_TYPE: Verdict(400, "BadRequest", "Unable to convert value to {type}"),
    Situation.NULL_VALUE: Verdict(
        400,
        "BadRequest_RequiredParamNotProvided",
        "Field '{field}' must not be blank or empty.",
    ),
    Situation.NO_VALUE: Verdict(
        400,
        "Application_FieldValidationException",
        "{field} must have a value in {table}: {values}. It cannot be zero or empty.",
    ),
    Situation.RIGHT_MISSING: Verdict(
        403,
        "Internal_ServerError",
        "Sorry, the current permissions prevented the action. (TableData {table} {right}: App)",
    ),
    Situation.KEY_TAKEN: Verdict(
        400,
        "Internal_EntityWithSameKeyExists",
        "The record in table {table} already exists. Identification fields and values: {values}",
    ),
    Situation.READ_ONLY: Verdict(
        400, "BadRequest_InvalidOperation", "Control '{field}' is read-only."
    ),
    Situation.NO_RELATED: Verdict(
        400,
        "Internal_InvalidTableRelation",
        "The field {field} of table {table} contains a value ({value}) that cannot be found in the "
        "related table ({related}).",
    ),
    Situation.NO_EMAIL: Verdict(400, _BY_A_RULE, 'The email address "{value}" is not valid.'),
    Situation.LETTERS_IN_PHONE: Verdict(
        400, _BY_A_RULE, "{field} must not contain letters in {table} {values}."
    ),
    Situation.BEGINS_LATE: Verdict(400, _BY_A_RULE, "{field} must be before {other}."),
    Situation.ENDS_EARLY: Verdict(400, _BY_A_RULE, "{field} must be after {other}."),
    Situation.IN_USE: Verdict(
        400,
        _BY_A_RULE,
        "You cannot delete the unit of measure because it is assigned to one or more records.",
    ),
    Situation.ALTERNATIVES: Verdict(
        501,
        "BadRequest_MethodNotImplemented",
        "The 'OR' operator is not supported on distinct fields on an OData filter.",
    ),
    Situation.UNSUPPORTED_FILTER: Verdict(
        501,
        "BadRequest_MethodNotImplemented",
        "The OData filter expression is not supported.",
    ),
    Situation.UNKNOWN_FIELD: Verdict(
        400,
        "BadRequest",
        "Could not find a property named '{name}' on type '{type}'.",
    ),
    Situation.UNKNOWN_SELECTED: Verdict(
        400,
        "BadRequest_NotFound",
        "Could not find a property named '{name}' on type '{type}'.",
    ),
    Situation.NO_EXPRESSION: Verdict(
        400, "BadRequest", "Expression expected at position {position} in '{text}'."
    ),
    Situation.SYNTAX: Verdict(
        400, "BadRequest", "Syntax error at position {position} in '{text}'."
    ),
    Situation.LINK_GONE: Verdict(400, "SkipTokenIsNoLongerValid", "The skip token has expired."),
    Situation.TOO_MANY_PARTS: Verdict(
        500,
        "Unknown",
        "The current batch message contains too many parts. A maximum number of '{limit}' "
        "query operations and change sets are allowed in a batch message.",
    ),
    Situation.LONG_CHANGE_SET: Verdict(
        500,
        "Unknown",
        "Multiple requests within the same change set are not supported by Microsoft Dynamics 365 "
        "Business Central OData web services.",
    ),
    Situation.TOO_MANY_REQUESTS: Verdict(
        429,
        "Application_TooManyRequests",
        "Too many requests reached. Actual ({actual}). Maximum ({limit}).",
        retries=False,
    ),
    Situation.LONG_WORK: Verdict(
        408,
        "Request_Timeout",
        "The operation took too long.",
        retries=False,
    ),
}

_AWAY = Verdict(
    503,
    "Application_ServiceUnavailable",
    "The session could not be retrieved from the server. The application will close.",
)

CODES: Mapping[str, Verdict] = {
    each.code: _AWAY
    for each in (
        UNAVAILABLE,
        DATABASE_BUSY,
        DATABASE_FULL,
        DATABASE_NOT_READY,
        DATABASE_OLDER,
        DATABASE_READ_ONLY,
        DATABASE_UNREACHABLE,
    )
}

TRANSLATIONS: Mapping[str, Mapping[Situation, str]] = {
    "nl": {Situation.UNSUPPORTED_FILTER: "De OData-filterexpressie wordt niet ondersteund."}
}
"""The messages that were recorded in other languages."""
