"""`$expand` of companies: each company has the lists of its sets."""

from dataclasses import dataclass

import pytest

from comptoir.auth.tokens import Scope
from comptoir.catalog import MODEL
from support.client import Client, encoded
from support.companies import Company
from support.refusals import refusal
from support.service import Service
from support.together import together

PEOPLE = 7
FIRM = "0f000000-0000-4000-8000-000000000001"


@dataclass(frozen=True)
class Group:
    """Three companies, and a client whose token reaches only these."""

    client: Client
    companies: tuple[Company, ...]


@pytest.fixture(scope="module")
def group(service: Service) -> Group:
    """The first company has a firm with people, the second one contact, the third nothing."""
    companies = tuple(service.new_company(name) for name in "ABC")
    first, second, _ = companies
    first.load(
        "contactsExt",
        {"id": FIRM, "number": "F", "type": "Company", "displayName": "Firm", "companyNumber": ""},
    )
    first.load(
        "contactsExt",
        *(
            {
                "number": f"P{number}",
                "type": "Person",
                "displayName": f"Person {number}",
                "companyNumber": "F",
            }
            for number in range(PEOPLE - 1)
        ),
    )
    second.load("contactsExt", {"number": "S", "displayName": "Only", "companyNumber": ""})
    first.load("itemsExt", {"number": "LAMP"}, {"number": "TABLE"})
    first.load(
        "itemAttributeValuesExt", {"itemNo": "LAMP", "attributeName": "Color", "value": "red"}
    )
    first.load(
        "salesPricesExt",
        {"entryNo": 1, "assetType": "Item", "assetNumber": "LAMP"},
        {"entryNo": 2, "assetType": "Item", "assetNumber": "LAMP"},
    )
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


def test_each_company_has_its_own_records(group: Group) -> None:
    found = listed(group.client, "$expand=contactsExt($orderby=number;$top=3)")

    assert [each["name"] for each in found] == ["A", "B", "C"]
    assert [numbers(each["contactsExt"]) for each in found] == [["F", "P0", "P1"], ["S"], []]
    assert not any("contactsExt@odata.nextLink" in each for each in found)


def test_records_equal_those_of_the_companys_own_list(group: Group) -> None:
    """Fields, order and tags; an update accepts such a tag."""
    found = listed(group.client, "$expand=contactsExt")

    for company, each in zip(group.companies, found, strict=True):
        assert each["contactsExt"] == company.listed("contactsExt")


def test_a_single_company_is_expanded_like_a_list(group: Group) -> None:
    expand = "$expand=contactsExt($select=number;$count=true),itemsExt/$count"
    one = group.client.get(f"companies({group.companies[0].id})", expand).json()
    many = group.client.get("companies", f"$orderby=name&{expand}").json()

    shape = "companies(contactsExt(number))"
    assert many["@odata.context"] == f"{group.client.root}/$metadata#{shape}"
    assert one.pop("@odata.context") == f"{group.client.root}/$metadata#{shape}/$entity"
    assert one == many["value"][0]
    assert one["itemsExt@odata.count"] == 2
    assert "itemsExt" not in one


def test_a_star_expands_every_set(group: Group) -> None:
    first = listed(group.client, "$expand=*,contactsExt($orderby=number;$top=1)")[0]

    lists = {name: held for name, held in first.items() if isinstance(held, list)}
    assert set(lists) == {each.name for each in MODEL.per_company}
    assert numbers(lists["contactsExt"]) == ["F"]
    assert set(numbers(lists["itemsExt"])) == {"LAMP", "TABLE"}
    assert lists["campaignsExt"] == []


def records(of: object) -> list[dict[str, object]]:
    assert isinstance(of, list)
    return of


def test_the_filter_properties_of_operation_9_are_allowed(group: Group) -> None:
    pairs = "attributeName1 eq 'Color' and attributeValue1 eq 'red'"
    found = listed(group.client, f"$expand=filteredItemAttributesExt($filter={pairs})")

    assert [
        [item["itemNo"] for item in records(each["filteredItemAttributesExt"])] for each in found
    ] == [["LAMP"], [], []]


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


def test_pages_of_companies_are_expanded_on_every_page(group: Group) -> None:
    found: dict[object, list[object]] = {}
    query = "$orderby=name desc&$expand=contactsExt($orderby=number;$top=2)"
    answer = group.client.get("companies", query, {"Prefer": "odata.maxpagesize=1"})
    while True:
        body = answer.json()
        found |= {each["name"]: numbers(each["contactsExt"]) for each in body["value"]}
        if "@odata.nextLink" not in body:
            break
        answer = group.client.follow(body["@odata.nextLink"], {"Prefer": "odata.maxpagesize=1"})

    assert found == {"C": [], "B": ["S"], "A": ["F", "P0"]}


def test_apply_and_select_can_be_combined_with_expand(group: Group) -> None:
    query = "$apply=filter(name ne 'C')&$select=name,contactsExt&$expand=contactsExt/$count"

    found = listed(group.client, query)

    assert [(each["name"], each["contactsExt@odata.count"]) for each in found] == [
        ("A", PEOPLE),
        ("B", 1),
    ]
    assert [set(each) for each in found] == [
        {"@odata.etag", "name", "contactsExt@odata.count"} for _ in found
    ]


def test_a_token_reads_only_records_of_its_companies(group: Group, service: Service) -> None:
    one = service.client.using(service.tokens.issue(companies=[group.companies[1].id]))

    [found] = listed(one, "$expand=contactsExt,itemsExt")

    assert (found["name"], numbers(found["contactsExt"])) == ("B", ["S"])
    hidden = one.get(f"companies({group.companies[0].id})", "$expand=contactsExt")
    refusal(hidden, "Internal_CompanyNotFound")


def test_the_scope_is_records_read(group: Group, service: Service) -> None:
    company = group.companies[1]
    for scope, status in ((Scope.RECORDS_READ, 200), (Scope.RECORDS_WRITE, 403)):
        client = service.client.using(service.tokens.issue([scope], [company.id]))
        for path in ("companies", f"companies({company.id})"):
            assert client.get(path, "$expand=contactsExt").status_code == status


def test_formats_are_those_of_the_request(group: Group) -> None:
    expand = "$expand=contactsExt($top=1;$select=number;$count=true;$orderby=number)"
    ieee = {"Accept": "application/json;IEEE754Compatible=true;odata.metadata=none"}
    full = {"Accept": "application/json;odata.metadata=full"}
    first = group.companies[0]

    plain = first.get("", expand, ieee).json()
    whole = first.get("", expand, full).json()

    assert plain["contactsExt@odata.count"] == str(PEOPLE)
    assert plain["contactsExt"] == [{"number": "F"}]
    [firm] = whole["contactsExt"]
    assert firm["@odata.id"] == f"{first.root}/contactsExt({FIRM})"
    assert firm["people@odata.navigationLink"] == f"{first.root}/contactsExt({FIRM})/people"


def test_batches_and_replica_reads_expand_too(group: Group) -> None:
    first = group.companies[0]
    urls = ["companies?$orderby=name&$expand=contactsExt/$count", f"companies({first.id})"]
    urls[1] += "?$expand=itemsExt/$count"
    requests = [{"id": str(number), "method": "GET", "url": url} for number, url in enumerate(urls)]
    for headers in ({}, {"Data-Access-Intent": "ReadOnly"}):
        answer = group.client.request(
            "POST", "$batch", body={"requests": requests}, headers=headers
        )
        listing, one = [each["body"] for each in answer.json()["responses"]]

        assert [each["contactsExt@odata.count"] for each in listing["value"]] == [PEOPLE, 1, 0]
        assert one["itemsExt@odata.count"] == 2


@together("option", ["$compute=name as contactsExt", "$apply=compute(1 as itemsExt)"])
def test_a_computed_property_cannot_have_the_name_of_a_set(option: str, group: Group) -> None:
    answer = group.client.get("companies", f"{option}&$expand=contactsExt,itemsExt")

    assert "Choose another" in refusal(answer, "BadRequest_InvalidRequestUrl").message


def test_records_of_a_company_do_not_expand_other_sets(group: Group) -> None:
    """The sets of a company are not navigation properties of its records."""
    answer = group.companies[0].get("contactsExt", "$expand=itemsExt")
    refusal(answer, "BadRequest_InvalidRequestUrl", "$expand")


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
