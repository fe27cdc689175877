"""What `refuse` makes of a row and its facts."""

from comptoir.errors.refusal import Check, Refusal
from comptoir.errors.table import BAD_REQUEST, INVALID_URL
from support.together import together

NO_PROPERTY = INVALID_URL.row("{owner} has no property {name!q}", "Use a name from $metadata.")
INVALID = BAD_REQUEST.row("Invalid value {value!q} for {name:.10}", "Send {{}} or {low:g}.")
KNOWN = ["number", "displayName"]

REFUSALS = [
    (
        NO_PROPERTY("$select", 2, known=KNOWN, owner="contact", name="displayname"),
        "contact has no property 'displayname' at column 3 of $select. Did you mean displayName?",
    ),
    (
        NO_PROPERTY(known=KNOWN, owner="contact", name="zzz"),
        "contact has no property 'zzz'. Use a name from $metadata.",
    ),
    (
        INVALID(value="x" * 50, name="OData-Version", low=0.5),
        f"Invalid value '{'x' * 39}…' for OData-Vers. Send {{}} or 0.5.",
    ),
    (
        INVALID(value="{name}", name="{value}", low=1),
        "Invalid value '{name}' for {value}. Send {} or 1.",
    ),
    (
        NO_PROPERTY(owner="contact", name="zzz").at("$expand", 8),
        "contact has no property 'zzz' at column 8 of $expand. Use a name from $metadata.",
    ),
]


@together(("refusal", "message"), REFUSALS)
def test_a_refusal_has_its_place_and_its_words(refusal: Refusal, message: str) -> None:
    assert refusal.message == str(refusal) == message


def test_the_error_and_the_headers_of_a_call_win_over_those_of_the_row() -> None:
    row = BAD_REQUEST.row("It is wrong", "Correct it.", headers={"Allow": "{allowed}", "Via": "a"})

    refusal = row(error=INVALID_URL, headers={"Via": "b"}, allowed="GET")

    assert refusal.error is INVALID_URL
    assert refusal.headers == {"Allow": "GET", "Via": "b"}


def test_a_header_is_refused_by_the_precondition_unless_the_row_has_another_check() -> None:
    row = BAD_REQUEST.row("It is wrong", "Correct it.")
    assert row("number").check is Check.VALUES
    assert row("If-Match").check is Check.PRECONDITION
    other = BAD_REQUEST.row("It is wrong", "Correct it.", Check.SYNTAX)
    assert other("If-Match").check is Check.SYNTAX
