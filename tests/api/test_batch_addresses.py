"""The URLs of requests in a batch: relative, absolute paths, absolute, with and without a proxy."""

import pytest

from support.batches import Reply, documents, send_documents
from support.client import Record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.samples import SAMPLES, SHIPPING_AGENT
from support.service import Service, StartService
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"


def read(company: Company, url: str, headers: dict[str, str] | None = None) -> Reply:
    return documents(company, {"id": "1", "method": "GET", "url": url}, headers=headers)["1"]


AT_BASE = [
    "companies({company})",
    "/companies({company})",
    "/api/companies({company})",
    "http://127.0.0.1:8080/api/companies({company})",
]


@together("url", AT_BASE)
def test_a_url_is_relative_to_the_base_url(url: str, service: Service, stocked: Company) -> None:
    request = {"id": "1", "method": "GET", "url": url.format(company=stocked.id)}

    reply = documents(service.client, request)["1"]

    assert reply.status == 200, reply.body
    assert reply.read(Record)["id"] == stocked.id


@together("host", ["localhost:8080", "erp.example", "ERP.example:443"])
def test_a_url_may_name_the_host_of_the_batch(host: str, stocked: Company) -> None:
    """Clients use their own name for the service; links do not contain it."""
    url = f"https://{host.lower()}/api/companies({stocked.id})/{AGENT}"

    reply = read(stocked, url, {"Host": host})

    assert reply.status == 200
    assert host not in str(reply.read(Record)["@odata.context"])


def test_a_url_with_another_host_is_refused(stocked: Company) -> None:
    url = f"https://elsewhere.example/api/companies({stocked.id})/{AGENT}"

    answer = send_documents(
        stocked, [{"id": "1", "method": "GET", "url": url}], {"Host": "erp.example"}
    )

    refusal(answer, "BadRequest", "requests[0]")


@together("url", ["../contactsExt", "./contactsExt", "x/../../companies"])
def test_a_path_with_dot_segments_is_refused(url: str, stocked: Company) -> None:
    assert read(stocked, url).error.code == "BadRequest_InvalidRequestUrl"


@together(
    "query",
    [
        "$filter=code eq 'Ä Ö+ü'&$top=1",
        "$filter=code%20eq%20'%C3%84%20%C3%96%2B%C3%BC'".replace("%2B", "+"),
        "$filter=code eq 'Ä Ö ü'",
    ],
)
def test_a_query_may_contain_any_text(query: str, company: Company) -> None:
    """Percent-encoded or not; `+` is a blank, as in single requests."""
    company.post("shippingAgentsExt", {"code": "Ä Ö ü"})

    reply = read(company, f"shippingAgentsExt?{query}")

    assert reply.status == 200, reply.body
    assert "Ä Ö ü".encode() in bytes(reply.body)


@pytest.fixture(scope="module")
def behind_proxy(share_service: StartService) -> Service:
    """A service whose clients use another address."""
    return share_service(public_url="https://erp.example/v1/data")


@together(
    "url",
    [
        "https://erp.example/v1/data/companies({company})/{agent}",
        "https://erp.example:443/v1/data/companies({company})/{agent}",
        "/v1/data/companies({company})/{agent}",
        "/api/companies({company})/{agent}",
        "http://127.0.0.1:8080/api/companies({company})/{agent}",
        "{agent}",
    ],
)
def test_a_url_may_be_that_of_the_proxy(url: str, behind_proxy: Service) -> None:
    """It may also be that of the service itself."""
    settings = behind_proxy.settings
    local = behind_proxy.client
    at_socket = type(local)(
        local.carrier, f"http://127.0.0.1:{settings.port}{settings.base_path}", local.token
    )
    company = behind_proxy.admin.add_company(at_socket)
    company.load("shippingAgentsExt", SAMPLES["shippingAgentsExt"])

    reply = read(company, url.format(company=company.id, agent=AGENT))

    assert reply.status == 200, reply.body
    context = str(reply.read(Record)["@odata.context"])
    assert context.startswith("https://erp.example/v1/data/$metadata#")


def test_a_reference_to_a_new_record_works_through_a_proxy(behind_proxy: Service) -> None:
    local = behind_proxy.client
    at_socket = type(local)(local.carrier, "http://127.0.0.1:8080/api", local.token)
    company = behind_proxy.admin.add_company(at_socket)

    answers = documents(
        company,
        {"id": "1", "method": "POST", "url": "shippingAgentsExt", "body": {"code": "A"}},
        {"id": "2", "method": "GET", "url": "$1"},
    )

    assert answers["2"].read(Record)["code"] == "A"


def test_the_path_of_a_public_url_may_be_empty(start_service: StartService) -> None:
    service = start_service(public_url="https://erp.example")
    local = service.client
    at_socket = type(local)(local.carrier, "http://127.0.0.1:8080/api", local.token)
    company = service.admin.add_company(at_socket)
    assert read(company, "shippingAgentsExt").status == 200
    path = f"/companies({company.id})/shippingAgentsExt"
    for url in (path, f"/api{path}", f"https://erp.example{path}"):
        assert read(company, url).status == 200
