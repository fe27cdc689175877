"""The records that `business-central` selects where `standard` selects others."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from comptoir.config import PROFILES
from support.client import page, record
from support.companies import Company
from support.refusals import error_in
from support.samples import ITEM, SAMPLES
from support.service import Service
from support.together import together

BUSINESS_CENTRAL, STANDARD = "business-central", "standard"


@pytest.fixture(scope="module")
def companies(services: Mapping[str, Service]) -> Mapping[str, Company]:
    """A company of a service with each profile, in one process: three items, two with prices."""
    found = {name: service.new_company() for name, service in services.items()}
    for company in found.values():
        items = ({"number": number, "displayName": f"Item {number}"} for number in "123")
        company.load("itemsExt", *items)
        prices = ({"entryNo": n, "assetType": "Item", "assetNumber": str(n)} for n in (1, 2))
        company.load("salesPricesExt", *prices)
    return found


def numbers(company: Company, condition: str) -> list[str]:
    """The numbers of the items that a filter selects."""
    query = {"$filter": condition, "$orderby": "number"}
    return [str(each["number"]) for each in company.listed("itemsExt", query)]


@together(
    ("condition", "by_standard"),
    [
        ("prices/any()", "12"),
        ("prices/all(p:p/entryNo eq 1)", "13"),
        ("not prices/any()", "3"),
        ("number eq '3' and prices/any()", ""),
        ("prices/any() or number eq '3'", "123"),
        ("number ge '2' and (number le '2' and prices/any(p:p/entryNo eq 1))", ""),
        ("prices/any(p:p/entryNo in (1,2)) and number in ('1')", "1"),
        ("prices/any() and (number eq '1' or displayName eq 'Item 2')", "12"),
    ],
)
def test_a_filter_with_any_or_all_is_ignored(
    condition: str, by_standard: str, companies: Mapping[str, Company]
) -> None:
    assert numbers(companies[BUSINESS_CENTRAL], condition) == list("123")
    assert numbers(companies[STANDARD], condition) == list(by_standard)


def test_no_profile_has_the_filters_of_another(companies: Mapping[str, Company]) -> None:
    """Caches are of the process, so a filter that one profile has bound is there for the others."""
    for first in PROFILES:
        condition = f"prices/any({first[0]}:{first[0]}/entryNo gt 1)"
        for profile in [first, *PROFILES, first]:
            wanted = "123" if profile == BUSINESS_CENTRAL else "2"
            assert numbers(companies[profile], condition) == list(wanted)


def test_no_schema_version_has_the_filters_of_another(companies: Mapping[str, Company]) -> None:
    for versions in (("2.0", "2.1"), ("2.1", "2.0"), ("", "2.1"), ("2.1", "")):
        listed = ",".join(f"'{number}'" for number in range(1, 2 + len("".join(versions))))
        company = companies[BUSINESS_CENTRAL]
        for version in [*versions, *versions]:
            query = {"$filter": f"number in ({listed})"}
            if version:
                query["$schemaversion"] = version
            for resource in ("itemsExt", "itemsExt/$count"):
                response = company.get(resource, query)
                assert response.status_code == (200 if version == "2.1" else 501)


def test_the_next_page_has_the_schema_version(companies: Mapping[str, Company]) -> None:
    company = companies[BUSINESS_CENTRAL]
    query = {"$filter": "number in ('1','2')", "$schemaversion": "2.1"}
    one = page(company.get("itemsExt", query, {"Prefer": "odata.maxpagesize=1"}))
    assert one.next_link is not None
    rest = page(company.follow(one.next_link))
    assert sorted(str(each["number"]) for each in [*one.value, *rest.value]) == ["1", "2"]


@pytest.fixture(scope="module")
def people(companies: Mapping[str, Company]) -> Mapping[str, Company]:
    """The same companies with three contacts: Al of a company, the blank Bo, and the company."""
    template = "00000000-0000-4000-8000-000000000001"
    al: dict[str, str | bool] = {"number": "P1", "displayName": "Al", "type": "Person"}
    al |= {"companyNumber": "C1", "city": "Köln", "lastInteractionDate": "2024-05-01"}
    al |= {"customerTemplateId": template, "privacyBlocked": True}
    bo = {"number": "P2", "displayName": "Bo"}
    acme = {"number": "C1", "displayName": "ACME", "type": "Company"}
    for company in companies.values():
        for each in (acme, al, bo):
            record(company.post("contactsExt", each), 201)
    return companies


@together(
    ("condition", "selected", "by_standard"),
    [
        ("displayName eq 'AL'", "P1", ""),
        ("'al' eq displayName", "P1", ""),
        ("city eq 'KÖLN'", "P1", ""),
        ("displayName ne 'AL'", "C1 P2", "C1 P1 P2"),
        ("displayName eq 'AL' or displayName eq 'bo'", "P1 P2", ""),
        ("displayName in ('AL','bO')", "P1 P2", ""),
        ("not (displayName in ('AL','bO'))", "C1", "C1 P1 P2"),
        ("toupper(displayName) eq 'al'", "P1", ""),
        ("company/displayName eq 'Acme'", "P1", ""),
        ("number eq displayName", "", ""),
        ("contains(displayName,'AL')", "", ""),
        ("displayName gt 'B' and displayName lt 'a'", "P2", "P2"),
        ("city eq null", "C1 P2", ""),
        ("null eq city", "C1 P2", ""),
        ("city ne null", "P1", "C1 P1 P2"),
        ("city in ('köln',null)", "C1 P1 P2", ""),
        ("privacyBlocked eq null", "C1 P2", ""),
        ("lastInteractionDate eq null", "C1 P2", ""),
        ("customerTemplateId ne null", "P1", "C1 P1 P2"),
        ("company/city eq null", "C1 P1 P2", "C1 P2"),
        ("company/displayName ne null", "P1", "P1"),
        ("company eq null", "C1 P2", "C1 P2"),
        ("length(city) eq null", "", ""),
        ("null eq null", "C1 P1 P2", "C1 P1 P2"),
    ],
)
def test_equality_ignores_case_and_null_is_blank(
    condition: str, selected: str, by_standard: str, people: Mapping[str, Company]
) -> None:
    for profile, wanted in ((BUSINESS_CENTRAL, selected), (STANDARD, by_standard)):
        query = {"$filter": condition, "$orderby": "number"}
        if profile == BUSINESS_CENTRAL:
            query["$schemaversion"] = "2.1"
        found = people[profile].listed("contactsExt", query)
        assert [each["number"] for each in found] == wanted.split(), profile


def test_an_empty_option_may_be_stored_as_empty(people: Mapping[str, Company]) -> None:
    """Files, and services with other profiles, store it so."""
    company = people[BUSINESS_CENTRAL]
    company.load(
        "itemReferencesExt",
        *({"itemNo": "1", "referenceNo": each, "referenceType": each} for each in ("", "Vendor")),
    )
    record(company.post("itemReferencesExt", {"itemNo": "1", "referenceNo": "x"}), 201)
    for condition, count in (
        ("referenceType eq ' '", 2),
        ("referenceType eq ''", 2),
        ("referenceType eq null", 2),
        ("referenceType in ('','Vendor')", 3),
        ("referenceType in (null)", 2),
        ("referenceType eq 'Vendor'", 1),
        ("referenceType ne ' '", 1),
        ("referenceType ne null", 1),
    ):
        query = {"$filter": condition, "$schemaversion": "2.1"}
        assert len(company.listed("itemReferencesExt", query)) == count, condition


def test_names_in_select_have_any_case(people: Mapping[str, Company]) -> None:
    company = people[BUSINESS_CENTRAL]
    (found,) = company.listed("contactsExt?$select=NUMBER,displayname&$filter=number%20eq%20'P2'")
    assert {"number", "displayName"} == found.keys() - {"@odata.etag"}
    response = company.get("contactsExt?$expand=company($select=CITY)&$filter=number%20eq%20'P1'")
    assert response.json()["value"][0]["company"].keys() == {"@odata.etag", "city"}


def test_no_profile_has_the_comparisons_of_another(people: Mapping[str, Company]) -> None:
    """Filters that differ only in a text share a template."""
    for first in PROFILES:
        for profile in [first, *PROFILES, first]:
            for city in ("köln", "KÖLN", "Köln"):
                condition = f"city eq '{city}' and (number eq '{first}' or number ne '')"
                found = people[profile].listed("contactsExt", {"$filter": condition})
                wanted = profile == BUSINESS_CENTRAL or city == "Köln"
                assert len(found) == wanted


def test_business_central_does_not_track_changes(companies: Mapping[str, Company]) -> None:
    for profile in PROFILES:
        response = companies[profile].get("itemsExt", "", {"Prefer": "odata.track-changes"})
        tracked = profile == STANDARD
        assert ("@odata.deltaLink" in response.json()) is tracked
        assert ("preference-applied" in response.headers) is tracked


def test_a_limit_applies_to_what_is_ignored(companies: Mapping[str, Company]) -> None:
    """An ignored filter is read like any other, so its errors are refused."""
    response = companies[BUSINESS_CENTRAL].get(
        "itemsExt", {"$filter": "prices/any(p:p/entryNo eq 'x')"}
    )
    assert response.status_code == 400
    assert error_in(response.content).code == "BadRequest_InvalidRequestUrl"


def test_what_is_not_supported_is_not_announced(
    profile: str, companies: Mapping[str, Company]
) -> None:
    company = companies[profile]
    is_standard = profile == STANDARD
    model = company.get("$metadata?$format=application/json").json()
    namespace, _, container = model["$EntityContainer"].rpartition(".")
    items = model[namespace][container]["itemsExt"]
    capabilities = "@Org.OData.Capabilities.V1"
    assert items[f"{capabilities}.SearchRestrictions"]["Searchable"] is is_standard
    assert items[f"{capabilities}.ChangeTracking"]["Supported"] is is_standard
    assert items[f"{capabilities}.ComputeSupported"] is is_standard
    assert ("@Org.OData.Aggregation.V1.ApplySupported" in items) is is_standard

    origin = replace(company, root=company.root.partition("/api/")[0], token="")
    described = origin.get("docs/openapi.json").json()
    listed = described["paths"]["/companies({company_id})/itemsExt"]["get"]["parameters"]
    names = {each["$ref"].rpartition("/")[2] for each in listed}
    assert "filter" in names
    assert ({"search", "apply", "compute"} <= names) is is_standard
    assert names <= described["components"]["parameters"].keys()
    assert ("search" in described["components"]["parameters"]) is is_standard
    prefer = described["components"]["parameters"]["Prefer-page"]["description"]
    assert ("track-changes" in prefer) is is_standard


def test_the_filters_of_the_interface_select_the_same(company: Company) -> None:
    for name in ("itemsExt", "itemAttributeValuesExt", "salesPricesExt"):
        company.load(name, SAMPLES[name])
    colour = "attributeName1 eq 'Colour' and attributeValue1 eq "
    for value, count in (("'red'", 1), ("'RED'", 0)):
        path = f"filteredItemAttributesExt({ITEM})"
        found = company.get(path, {"$filter": colour + value}).json()["value"]
        assert [each["itemId"] for each in found] == [ITEM] * count
    price = SAMPLES["salesPricesExt"]
    for number, count in ((price["assetNumber"], 1), ("none", 0)):
        condition = f"assetType eq '{price['assetType']}' and assetNumber eq '{number}'"
        found = company.get("salesPricesExt", {"$filter": condition}).json()
        assert [each["entryNo"] for each in found["value"]] == [price["entryNo"]] * count
        # the interface says that one record comes as an object
        assert ("entryNo" in found) is (count == 1)
