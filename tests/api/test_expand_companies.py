"""`$expand` of companies: what the token allows, and what cannot be computed."""

from comptoir.auth.tokens import Scope
from support.companies import Company
from support.refusals import refusal
from support.service import Service


def test_the_scope_is_records_read(company: Company, service: Service) -> None:
    for scope, status in ((Scope.RECORDS_READ, 200), (Scope.RECORDS_WRITE, 403)):
        client = service.client.using(service.tokens.issue([scope], [company.id]))
        for path in ("companies", f"companies({company.id})"):
            assert client.get(path, "$expand=contactsExt").status_code == status


def test_a_record_that_cannot_be_computed_is_refused(service: Service) -> None:
    """If nothing has been sent yet; otherwise the page ends and its link gets the error."""
    good, bad = service.new_company("A good one"), service.new_company("B bad one")
    good.load("salesPricesExt", {"entryNo": 1, "quantity": 1})
    bad.load("salesPricesExt", {"entryNo": 1, "quantity": 0})
    client = service.client.using(service.tokens.issue(companies=[good.id, bad.id]))
    expand = "$expand=salesPricesExt($filter=1 div quantity gt 0)"

    first = client.get("companies", f"$orderby=name desc&{expand}")
    refusal(first, "BadRequest_InvalidRequestUrl")
    page = client.get("companies", f"$orderby=name&{expand}").json()
    assert [each["name"] for each in page["value"]] == ["A good one"]
    refusal(client.follow(page["@odata.nextLink"]), "BadRequest_InvalidRequestUrl")
