"""The addresses of the API in the profile business-central, and the links to the same records."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from msgspec import structs

from comptoir.http.routes import api_addresses
from support.batches import documents
from support.client import page, record
from support.companies import Company
from support.databases import ON_SQLITE
from support.service import Service
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

BASE = "/api"
ADDRESSES = [
    "/v2.0/comptoir/Production/api/comptoir/ext/v1.0",
    *("/v2.0/comptoir/Sandbox/api/comptoir/ext/beta", "/v2.0/comptoir/Sandbox/api/v2.0"),
    *("/v2.0/Production/api/comptoir/ext/v1.0", "/v2.0/Production/api/v2.0"),
    *("/v2.0/Production/api/beta", "/v2.0/Production/ODataV4"),
    *("/BC/api/comptoir/ext/v1.0", "/BC/api/comptoir/ext/beta", "/BC/api/v2.0", "/BC/ODataV4"),
]
AGENTS = "shippingAgentsExt"


@pytest.fixture(scope="module")
def service(services: Mapping[str, Service]) -> Service:
    return services["business-central"]


@pytest.fixture(scope="module")
def company(service: Service) -> Company:
    """A company with three shipping agents."""
    company = service.new_company()
    company.load(AGENTS, *({"code": code, "name": code.lower()} for code in ("A", "B", "C")))
    return company


def at(company: Company, address: str) -> Company:
    """The same company at another address."""
    return replace(company, root=f"http://127.0.0.1:8080{address}/companies({company.id})")


def seen(company: Company) -> list[str]:
    """What a client reads of a company, in texts with the links that they contain."""
    first = company.get(AGENTS, "$orderby=code", {"Prefer": "odata.maxpagesize=2"})
    second = company.follow(str(page(first).next_link))
    key = page(first).value[0]["id"]
    full = {"Accept": "application/json;odata.metadata=full"}
    reads = [
        first,
        second,
        company.get(f"{AGENTS}({key})"),
        company.get(f"{AGENTS}({key})", headers=full),
        company.get(f"{AGENTS}({key})/name"),
        company.get(f"{AGENTS}({key})/$ref"),
        company.get(f"{AGENTS}/$ref"),
        company.get(""),
        company.get("", headers=full),
    ]
    assert {each.status_code for each in reads} == {200}
    reply = documents(company, {"id": "1", "method": "GET", "url": f"{AGENTS}({key})"})["1"]
    assert reply.status == 200
    return [*(each.text for each in reads), bytes(reply.body).decode()]


@together("address", ADDRESSES)
def test_each_address_has_the_same_records_with_links_of_its_own(
    address: str, company: Company
) -> None:
    origin = "http://127.0.0.1:8080"
    expected = [text.replace(origin + BASE, origin + address) for text in seen(company)]

    assert seen(at(company, address)) == expected


def test_each_listed_address_of_the_api_has_the_companies(service: Service) -> None:
    listed = dict(api_addresses(service.settings))
    assert listed.pop("Documentation") == "http://127.0.0.1:8080/docs"
    assert listed["API"] == "http://127.0.0.1:8080/api"
    tenant = "http://127.0.0.1:8080/v2.0/comptoir/Production"
    assert listed["api/v2.0 of Production"] == f"{tenant}/api/v2.0"
    assert listed["ODataV4 of BC"] == "http://127.0.0.1:8080/BC/ODataV4"
    for url in listed.values():
        assert replace(service.client, root=url).get("companies").status_code == 200
    assert service.origin.get("v2.0/" + "a" * 4_000).status_code == 404
    public = structs.replace(service.settings, public_url="https://erp.example/below/api")
    assert api_addresses(public)["ODataV4 of BC"] == "https://erp.example/below/BC/ODataV4"


@together("address", ADDRESSES)
def test_a_create_returns_the_address_that_the_client_uses(address: str, company: Company) -> None:
    here = at(company, address)

    answer = here.post("contactsExt", {"displayName": "Bo"})

    key = record(answer, 201)["id"]
    assert answer.headers["location"] == f"{here.root}/contactsExt({key})"
    assert here.follow(answer.headers["location"]).status_code == 200


def test_a_batch_knows_every_address(company: Company) -> None:
    """Its requests may have URLs of another one; a reference is to the record that was created."""
    for address in ("/v2.0/Production/api/v2.0", "/BC/ODataV4"):
        here = at(company, address)
        agents = f"/companies({company.id})/{AGENTS}"
        new = {"method": "POST", "url": "contactsExt", "body": {"displayName": "Bo"}}
        replies = documents(
            here,
            {"id": "1", "method": "GET", "url": f"/v2.0/Sandbox/api/beta{agents}"},
            {"id": "2", "method": "GET", "url": f"http://127.0.0.1:8080{address}{agents}"},
            {"id": "3", **new, "headers": {"Content-Type": "application/json"}},
            {"id": "4", "method": "GET", "url": "$3", "dependsOn": ["3"]},
        )

        assert [each.status for each in replies.values()] == [200, 200, 201, 200]
        assert replies["4"].headers.get("location") is None
        assert replies["3"].headers["location"].startswith(f"{here.root}/contactsExt(")


def test_a_count_ignores_the_options_of_a_page(company: Company) -> None:
    for query in ("$top=1", "$skip=1", "$orderby=code", "$select=code&$top=0"):
        answer = company.get(f"{AGENTS}/$count", query)

        assert (answer.status_code, answer.content.decode("utf-8-sig")) == (200, "3")
