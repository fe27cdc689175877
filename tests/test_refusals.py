"""The same fault has the same words everywhere."""

import pytest

from comptoir.errors import (
    BAD_REQUEST,
    BODY_TOO_LARGE,
    INVALID_URL,
    NOT_IMPLEMENTED,
    ErrorType,
    Refusal,
)
from comptoir.refusals import (
    inapplicable,
    invalid_value,
    limit_exceeded,
    misused,
    unknown_name,
    unsupported,
)

REFUSALS = [
    (
        misused("$orderby", 4, "'desc' has no value before it", "Add one."),
        INVALID_URL,
        "$orderby",
        "'desc' has no value before it at column 5 of $orderby. Add one.",
    ),
    (
        unsupported("The function 'geo.length'", "$filter", 0),
        NOT_IMPLEMENTED,
        "$filter",
        (
            "The function 'geo.length' is not supported at column 1 of $filter. "
            "Send the request without it."
        ),
    ),
    (
        unsupported("$index", "$index"),
        NOT_IMPLEMENTED,
        "$index",
        "$index is not supported. Send the request without it.",
    ),
    (
        unknown_name("contact", "property", "displayname", ["number", "displayName"], "$select", 2),
        INVALID_URL,
        "$select",
        "contact has no property 'displayname' at column 3 of $select. Did you mean displayName?",
    ),
    (
        unknown_name("contact", "property", "zzz", ["number", "displayName"]),
        INVALID_URL,
        None,
        "contact has no property 'zzz'. Use a name from $metadata.",
    ),
    (
        inapplicable("$top", "a single record"),
        INVALID_URL,
        "$top",
        "$top does not apply to a single record. Remove it.",
    ),
    (
        invalid_value("OData-Version", "x" * 50, "Send 4.0 or 4.01."),
        BAD_REQUEST,
        "OData-Version",
        f"Invalid value '{'x' * 39}…' for OData-Version. Send 4.0 or 4.01.",
    ),
    (
        invalid_value("$top", "-1", "Send 1.", error=INVALID_URL, target="$expand", position=7),
        INVALID_URL,
        "$expand",
        "Invalid value '-1' for $top at column 8 of $expand. Send 1.",
    ),
    (
        limit_exceeded("The batch", 9, "requests", "Send several.", error=BODY_TOO_LARGE),
        BODY_TOO_LARGE,
        None,
        "The batch exceeds the limit of 9 requests. Send several.",
    ),
]


@pytest.mark.parametrize(("refusal", "error", "target", "message"), REFUSALS)
def test_a_refusal_has_its_error_its_place_and_its_words(
    refusal: Refusal, error: ErrorType, target: str | None, message: str
) -> None:
    assert refusal.error is error
    assert refusal.target == target
    assert refusal.message == message
