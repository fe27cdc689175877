"""A body that is not text; the corpus has the others that profiles refuse."""

from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import error_in


@ON_SQLITE  # nothing of this is up to the database
def test_a_body_that_is_not_text(company: Company, profile: str) -> None:
    refused = company.post("contactsExt", b'{"displayName": "\xff"}')
    error = error_in(refused.content)

    assert (refused.status_code, error.code) == (400, "BadRequest")
    invalid = error.message.startswith("Invalid Request Body  CorrelationId")
    assert invalid is (profile == "business-central")
