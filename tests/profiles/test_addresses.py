"""The addresses of the API in the profile business-central, and the links to the same records."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import pytest
from msgspec import structs

from comptoir.http.routes import api_addresses
from support.batches import documents
from support.client import page, record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import error_in
from support.service import Service, StartService
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

BASE = "/api"
ADDRESSES = [
    "/v2.0/comptoir/Production/api/comptoir/ext/v1.0",
    "/v2.0/comptoir/Sandbox/api/comptoir/ext/beta",
    "/v2.0/comptoir/Sandbox/api/v2.0",
    "/v2.0/Production/api/comptoir/ext/v1.0",
    "/v2.0/Production/api/v2.0",
    "/v2.0/Production/api/beta",
    "/v2.0/Production/ODataV4",
    "/BC/api/comptoir/ext/v1.0",
    "/BC/api/comptoir/ext/beta",
    "/BC/api/v2.0",
    "/BC/ODataV4",
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


def at(company: Company, address: str, host: str = "127.0.0.1:8080") -> Company:
    """The same company at another address."""
    return replace(company, root=f"http://{host}{address}/companies({company.id})")


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


def test_names_in_an_address_have_no_case(company: Company) -> None:
    """The links have the names of the settings, so that they are the same for all clients."""
    for address, canonical in (
        ("/V2.0/COMPTOIR/production/API/V2.0", "/v2.0/comptoir/Production/api/v2.0"),
        ("/v2.0/S%61ndbox/api/beta", "/v2.0/Sandbox/api/beta"),
        ("/bc/odatav4", "/BC/ODataV4"),
    ):
        here, expected = at(company, address), at(company, canonical)

        assert here.get(AGENTS).text == expected.get(AGENTS).text


def test_links_have_the_own_host_that_the_client_used(company: Company) -> None:
    for host in ("localhost:8080", "LOCALHOST:8080", "[::1]:8080"):
        for address in (BASE, "/BC/api/v2.0"):
            here = at(company, address)

            answer = here.get(AGENTS, headers={"Host": host})

            assert f"http://{host.lower()}{address}/$metadata" in answer.text


def test_links_never_have_a_foreign_host(company: Company) -> None:
    for host in ("elsewhere.example", "127.0.0.1:8081", "127.0.0.1:8080@x", ""):
        for header in ("Host", "X-Forwarded-Host"):
            answer = at(company, "/BC/api/v2.0").get(AGENTS, headers={header: host})

            context = msgspec.json.decode(answer.content)["@odata.context"]
            assert context.startswith("http://127.0.0.1:8080/BC/api/v2.0/$metadata#")


def test_links_have_the_public_url(start_service: StartService) -> None:
    """Also below the path that a proxy has for the service."""
    url = "https://erp.example/bc/api"
    service = start_service(profile="business-central", public_url=url)
    company = service.new_company()
    roots = {
        "/api": "https://erp.example/bc/api",
        "/v2.0/Production/api/v2.0": "https://erp.example/bc/v2.0/Production/api/v2.0",
    }
    for address, root in roots.items():
        answer = at(company, address).get(AGENTS, headers={"Host": "localhost:8080"})
        context = msgspec.json.decode(answer.content)["@odata.context"]
        assert context == f"{root}/$metadata#companies({company.id})/{AGENTS}"


def test_a_path_that_names_nothing_at_a_custom_api(company: Company) -> None:
    """Whether the set or the API is unknown; the host is an own one."""
    for address in ("/BC/api/comptoir/ext/v1.0", "/BC/api/comptoir/ext/v9"):
        here = at(company, address)

        answer = here.get("nothingExt", "$top=1", {"Host": "elsewhere.example"})

        assert answer.status_code == 404
        error = msgspec.json.decode(answer.content)["error"]
        url = f"{here.root}/nothingExt"
        expected = f"No HTTP resource was found that matches the request URI '{url}"
        assert error["code"] == "BadRequest_NotFound"
        assert error["message"].startswith(expected)


def test_a_path_that_names_nothing_at_the_addresses_of_services(company: Company) -> None:
    answer = at(company, "/BC/ODataV4").get("nothingExt")

    assert (answer.status_code, answer.content) == (404, b"")
    assert "content-type" not in answer.headers


@together(
    "path",
    [
        "/v2.0/Nowhere/api/v2.0/companies",
        "/v2.0/elsewhere/Production/api/v2.0/companies",
        "/v2.0/comptoir/Nowhere/ODataV4",
        "/v2.0",
        "/v2.0//Production/api/v2.0/companies",
        "/v2.0/%2E%2E/Production/api/v2.0",
        "/v2.0/" + "a" * 4_000,
        "/v2.0/%ff%00/api",
    ],
)
def test_an_unknown_environment(path: str, service: Service) -> None:
    """The gateway answers, in XML, whatever the client accepts, and to every client."""
    answer = service.origin.request("GET", path[1:], headers={"Accept": "application/json"})

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/xml"
    assert answer.text == (
        '<error xmlns="http://docs.oasis-open.org/odata/ns/metadata"><code>NoEnvironment</code>'
        "<message>Environment does not exist.</message></error>"
    )


def test_an_encoded_slash_is_a_part_of_a_segment(service: Service) -> None:
    answer = service.origin.get("v2.0%2FProduction/api/v2.0/companies")

    assert error_in(answer.content).code == "BadRequest_ResourceNotFound"
    assert "page" in error_in(answer.content).message


def test_the_profile_standard_has_the_base_path_alone(start_service: StartService) -> None:
    service = start_service()
    company = service.new_company()
    answers = [at(company, each).get(AGENTS) for each in ADDRESSES]
    named = company.get(AGENTS, headers={"Host": "localhost:8080"})

    assert {each.status_code for each in answers} == {404}
    assert "http://127.0.0.1:8080/api/$metadata" in named.text


def test_each_environment_has_its_challenge(company: Company) -> None:
    """Without credentials, and with ones that are not valid."""
    secret = {"Authorization": "Basic bm9ib2R5OndpdGhvdXQ="}
    found = {}
    for address in ("/BC/ODataV4", "/v2.0/Production/api/v2.0", BASE):
        here = at(company, address).using("")
        answers = [here.get(AGENTS), here.using("x").get(AGENTS), here.get(AGENTS, headers=secret)]
        assert {each.status_code for each in answers} == {401}
        found[address] = {each.headers["www-authenticate"].split(" ")[0] for each in answers}
        if address == "/BC/ODataV4":
            challenge = answers[0].headers["www-authenticate"]
            assert challenge == 'Basic realm="Business Central", charset="UTF-8"'

    assert found == {
        "/BC/ODataV4": {"Basic"},
        "/v2.0/Production/api/v2.0": {"Bearer"},
        BASE: {"Bearer"},
    }


def test_names_of_microsoft_lead_to_the_same_records(service: Service) -> None:
    """In lists, their further pages, single records, counts and batches; also without a company."""
    for alias, name in (
        ("contacts", "contactsExt"),
        ("customers", "customersExt"),
        ("items", "itemsExt"),
        ("unitsOfMeasure", "unitsOfMeasureExt"),
    ):
        company = service.new_company()
        key = "code" if name == "unitsOfMeasureExt" else "number"
        company.load(name, {key: "1"}, {key: "2"})
        plain = replace(company, root=f"http://127.0.0.1:8080{BASE}")

        listed = page(company.get(name)).value
        first = company.get(alias, "$top=2", {"Prefer": "odata.maxpagesize=1"})
        link = str(page(first).next_link)
        reply = documents(company, {"id": "1", "method": "GET", "url": f"{alias}/$count"})["1"]

        assert page(company.get(alias)).value == listed
        assert f"/{alias}?" in link
        assert page(first).value + page(company.follow(link)).value == listed
        at_key = "'1'" if key == "code" else listed[0]["id"]
        assert record(company.get(f"{alias}({at_key})"))[key] == listed[0][key]
        assert reply.status == 200
        assert page(plain.get(alias, f"company={company.id}")).value == listed


def test_messages_have_the_name_that_the_client_used(company: Company) -> None:
    for name in ("contacts", "contactsExt"):
        absent = f"{name}(00000000-0000-4000-8000-000000000000)"
        refused = f"Resource not found for the segment '{name}'."
        answers = {
            company.get(absent): refused,
            company.get(f"{absent}/city"): refused,
            company.get(f"{name}(number='none')"): refused,
            company.patch(absent, {"city": "Ulm"}, "*"): refused,
            company.delete(absent, "*"): refused,
            company.patch(name, {"city": "Ulm"}, "*"): f"'PATCH' requests for '{name}' of EdmType",
            company.get(
                f"{name}/city"
            ): f"The request URI is not valid. Since the segment '{name}'",
        }
        for answer, expected in answers.items():
            assert error_in(answer.content).message.startswith(expected), answer.request.url


def test_the_profile_standard_has_its_own_names_alone(start_service: StartService) -> None:
    service = start_service()
    assert service.new_company().get("customers").status_code == 404


def test_a_count_ignores_the_options_of_a_page(company: Company) -> None:
    for query in ("$top=1", "$skip=1", "$orderby=code", "$select=code&$top=0"):
        answer = company.get(f"{AGENTS}/$count", query)

        assert (answer.status_code, answer.content.decode("utf-8-sig")) == (200, "3")
