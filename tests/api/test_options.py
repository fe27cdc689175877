"""Query options: their names, and refusals of unknown and unsupported ones."""

from support.batches import documents
from support.client import page
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal

pytestmark = ON_SQLITE  # nothing of this is up to the database

FILTER = "code eq 'DHL'"


def test_an_option_without_a_name_is_400_in_a_batch(stocked: Company) -> None:
    requests = [
        {"id": "1", "method": "GET", "url": f"shippingAgentsExt?={FILTER}"},
        {"id": "2", "method": "GET", "url": "shippingAgentsExt?top=1"},
    ]

    replies = documents(stocked, *requests)

    assert [replies[each].status for each in ("1", "2")] == [400, 200]
    assert "single quotes" in replies["1"].error.message
    batch = stocked.request("POST", "$batch", f"={FILTER}", {"requests": requests})
    assert "single quotes" in refusal(batch, "BadRequest_InvalidRequestUrl").message


def test_a_plus_is_a_space_in_text_and_a_sign_in_a_time(company: Company) -> None:
    """`+` in a query is a space, but within a date-time literal it is the sign."""
    company.load(
        "contactsExt",
        {"displayName": "a b", "number": "1", "lastModifiedDateTime": "2024-01-01T10:00:00.000Z"},
    )

    for text in ("displayName+eq+'a+b'", "lastModifiedDateTime eq 2024-01-01T12:00:00+02:00"):
        assert len(page(company.get("contactsExt", f"$filter={text}")).value) == 1
    assert page(company.get("contactsExt", "$filter=displayName eq 'a%2Bb'")).value == []
