"""How each profile refuses bodies that are not objects, and tags that are none."""

from support.client import record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import error_in
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

READER = "An unexpected '{}' node was found when reading from the JSON reader. A 'StartObject' node"
INVALID = "Invalid Request Body  CorrelationId"


@together(
    ("body", "expected"),
    [
        (b"", READER.format("EndOfInput")),
        (b" \n", READER.format("EndOfInput")),
        (b"displayName=Al", INVALID),
        (b'{"displayName": "Al"', INVALID),
        (b'{"displayName": "\xff"}', INVALID),
    ],
)
def test_a_body_that_is_not_an_object(
    body: bytes, expected: str, company: Company, profile: str
) -> None:
    made = company.post("contactsExt", {"displayName": "Al"})
    for method, path in (
        ("POST", "contactsExt"),
        ("PATCH", f"contactsExt({record(made, 201)['id']})"),
    ):
        refused = company.request(method, path, body=body, headers={"If-Match": "*"})
        error = error_in(refused.content)
        assert (refused.status_code, error.code) == (400, "BadRequest")
        assert error.message.startswith(expected) is (profile == "business-central")


def test_a_tag_that_is_none(company: Company, profile: str) -> None:
    for method in ("PATCH", "DELETE"):
        for tag in ("nonsense", "W/unquoted", '"a" "b"', ""):
            made = record(company.post("contactsExt", {"displayName": "Al"}), 201)
            path = f"contactsExt({made['id']})"
            refused = company.request(method, path, body={"city": "Ulm"}, headers={"If-Match": tag})
            code = "BadRequest_InvalidToken" if profile == "business-central" else "BadRequest"
            assert (refused.status_code, error_in(refused.content).code) == (400, code)
            assert company.record(path)["city"] == ""
            cached = company.get(path, headers={"If-None-Match": tag})
            assert (cached.status_code, error_in(cached.content).code) == (400, "BadRequest")
