"""Query options: their names, and refusals of unknown and unsupported ones."""

import pytest

from support.batches import documents
from support.client import page
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal

pytestmark = ON_SQLITE  # nothing of this is up to the database

FILTER = "code eq 'DHL'"


@pytest.mark.parametrize(
    "query",
    [f"={FILTER}", "=2", "=", "top=1&=true", "&=x", "%20=x", "+=x", f"custom=1&={FILTER}&"],
)
def test_an_option_without_a_name_is_400_with_a_hint_about_the_shell(
    query: str, stocked: Company
) -> None:
    """A shell turns `"…?$filter=…"` into it, and the response would have every record."""
    for path in ("shippingAgentsExt", "shippingAgentsExt/$count", "$metadata"):
        error = refusal(stocked.get(path, query), "BadRequest_InvalidRequestUrl")
        assert "has no name" in error.message
        assert "single quotes" in error.message
        assert "\\$filter" in error.message


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


def test_an_option_without_a_name_is_400_within_expand(stocked: Company) -> None:
    answer = stocked.get("itemsExt", "$expand=prices(=quantity gt 1)")

    error = refusal(answer, "BadRequest_InvalidRequestUrl", "$expand")
    assert "at column 8" in error.message
    assert "single quotes" in error.message


def test_a_plus_is_a_space_in_text_and_a_sign_in_a_time(company: Company) -> None:
    """`+` in a query is a space, but within a date-time literal it is the sign."""
    company.load(
        "contactsExt",
        {"displayName": "a b", "number": "1", "lastModifiedDateTime": "2024-01-01T10:00:00.000Z"},
    )

    for text in ("displayName+eq+'a+b'", "lastModifiedDateTime eq 2024-01-01T12:00:00+02:00"):
        assert len(page(company.get("contactsExt", f"$filter={text}")).value) == 1
    assert page(company.get("contactsExt", "$filter=displayName eq 'a%2Bb'")).value == []


@pytest.mark.parametrize("name", ["$filter", "filter", "$top", "$unknown", "$select"])
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_write_refuses_options(method: str, name: str, own_stock: Company) -> None:
    path = (
        "shippingAgentsExt"
        if method == "POST"
        else "shippingAgentsExt(55555555-5555-4555-8555-555555555555)"
    )
    changed = own_stock.changes()

    answer = own_stock.request(
        method, path, f"{name}=1", {"code": "NEW"}, headers={"If-Match": "*"}
    )

    refusal(answer, "BadRequest_InvalidRequestUrl")
    assert own_stock.changes() == changed
