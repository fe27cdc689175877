"""`$expand` of companies: each company has the lists of its sets."""

from dataclasses import dataclass

import pytest

from comptoir.auth.tokens import Scope
from support.client import Client, encoded
from support.companies import Company
from support.refusals import refusal
from support.service import Service
from support.together import together


@dataclass(frozen=True)
class Group:
    """Two companies, and a client whose token reaches only these."""

    client: Client
    companies: tuple[Company, ...]


@pytest.fixture(scope="module")
def group(service: Service) -> Group:
    """The first company has a contact and two items, the second one another contact."""
    companies = tuple(service.new_company(name) for name in "AB")
    for company, number in zip(companies, "FS", strict=True):
        company.load("contactsExt", {"number": number, "displayName": "One", "companyNumber": ""})
    companies[0].load("itemsExt", {"number": "LAMP"}, {"number": "TABLE"})
    reached = service.tokens.issue(companies=[each.id for each in companies])
    return Group(service.client.using(reached), companies)


def listed(client: Client, query: str) -> list[dict[str, object]]:
    """The companies of a response by name."""
    answer = client.get("companies", f"$orderby=name&{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = answer.json()["value"]
    return found


def numbers(of: object) -> list[object]:
    assert isinstance(of, list)
    return [each["number"] for each in of]


def test_the_links_of_a_company_lead_to_all_of_its_records(service: Service) -> None:
    company = service.new_company()
    count = 2_345
    company.load(
        "contactsExt", *({"number": f"{number:04}", "displayName": "x"} for number in range(count))
    )
    only = service.client.using(service.tokens.issue(companies=[company.id]))
    options = "$filter=number ne @but;$orderby=number desc;$select=number;$top=2000"
    query = {"$expand": f"contactsExt({options}),contactsExt/$ref($skip=5)", "@but": "'1000'"}
    refusal(only.get("companies", encoded(query)), "BadRequest_InvalidRequestUrl", "$expand")

    query["$expand"] = f"contactsExt({options})"
    [one] = listed(only, encoded(query))
    found = numbers(one["contactsExt"])
    link = str(one["contactsExt@odata.nextLink"])
    assert link.startswith(f"{company.root}/contactsExt?")
    assert len(found) == service.settings.page_size
    page = only.follow(link).json()
    found += numbers(page["value"])

    assert found == [f"{number:04}" for number in reversed(range(count)) if number != 1_000][:2_000]
    assert "@odata.nextLink" not in page


@together("expand", ["contactsExt/$ref", "contactsExt/$ref($count=true)"])
def test_the_links_of_references_lead_to_references(expand: str, service: Service) -> None:
    company = service.new_company()
    count = service.settings.page_size + 1
    company.load("contactsExt", *({"number": str(n), "displayName": "x"} for n in range(count)))

    one = service.client.get(f"companies({company.id})", f"$expand={expand}").json()
    rest = service.client.follow(one["contactsExt@odata.nextLink"]).json()

    assert [list(each) for each in rest["value"]] == [["@odata.id"]]
    found = {each["@odata.id"] for each in [*one["contactsExt"], *rest["value"]]}
    assert len(found) == count


def test_the_scope_is_records_read(group: Group, service: Service) -> None:
    company = group.companies[1]
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
