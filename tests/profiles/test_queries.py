"""What a profile selects, beside services with other profiles; the corpus has the queries."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from comptoir.config import PROFILES
from support.companies import Company
from support.corpus import FOLDER
from support.replay import load_data
from support.service import Service

BUSINESS_CENTRAL, STANDARD = "business-central", "standard"


@pytest.fixture(scope="module")
def companies(services: Mapping[str, Service]) -> Mapping[str, Company]:
    """A company of a service with each profile, in one process."""
    found = {name: service.new_company() for name, service in services.items()}
    for company in found.values():
        load_data(company, FOLDER / "business-central")
    return found


def numbers(company: Company, condition: str) -> list[str]:
    """The numbers of the items that a filter selects."""
    query = {"$filter": condition, "$orderby": "number"}
    return [str(each["number"]) for each in company.listed("itemsExt", query)]


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


def test_no_profile_has_the_comparisons_of_another(companies: Mapping[str, Company]) -> None:
    """Filters that differ only in a text share a template."""
    for first in PROFILES:
        for profile in [first, *PROFILES, first]:
            for city in ("köln", "KÖLN", "Köln"):
                condition = f"city eq '{city}' and (number eq '{first}' or number ne '')"
                found = companies[profile].listed("contactsExt", {"$filter": condition})
                wanted = profile == BUSINESS_CENTRAL or city == "Köln"
                assert len(found) == wanted


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
