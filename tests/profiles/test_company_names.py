"""Companies in the profile business-central: names, and properties that the interface lacks.

The corpus has the forms of requests.
"""

from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from urllib.parse import quote
from uuid import uuid4

import msgspec
import pytest

from comptoir.auth.tokens import Scope
from comptoir.catalog import MODEL
from comptoir.errors import messages
from comptoir.features.business_central import feature
from comptoir.store.sqlite import reader
from support.client import page, pages
from support.companies import Company
from support.databases import run_sql
from support.refusals import error_in
from support.service import Service
from support.together import together

ORIGIN = "http://127.0.0.1:8080"
AGENTS = "shippingAgentsExt"
NAME = "O'Neil & Söhne / Nord"
CAPABILITIES = "@Org.OData.Capabilities.V1"
FURTHER = (
    *("systemVersion", "timestamp", "businessProfileId", "systemCreatedAt", "systemCreatedBy"),
    *("systemModifiedAt", "systemModifiedBy"),
)
"""The properties of companies that Business Central has and the interface lacks."""


class Listed(msgspec.Struct):
    name: str
    url: str


class ServiceDocument(msgspec.Struct):
    value: list[Listed]


@pytest.fixture(scope="module")
def service(services: Mapping[str, Service]) -> Service:
    return services["business-central"]


@pytest.fixture(scope="module")
def company(service: Service) -> Company:
    return service.new_company(NAME)


def test_an_unknown_name_is_looked_up_again_after_a_moment(
    service: Service, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature, "COMPANY_CACHE_SECONDS", 3_600)
    here = replace(company, root=f"{ORIGIN}/BC/ODataV4/Company('Later')")
    long = replace(company, root=f"{ORIGIN}/BC/ODataV4/Company('{'a' * 5_000}')")
    assert here.get(AGENTS).status_code == long.get(AGENTS).status_code == 404
    service.new_company("Later")
    assert here.get(AGENTS).status_code == 404
    monkeypatch.setattr(feature, "monotonic", lambda: monotonic() + 3_600)
    assert here.get(AGENTS).status_code == 200


def test_a_long_look_for_a_company_leaves_the_body_to_the_write(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read on a thread waits for what the client sends, which must not be the body."""
    monkeypatch.setattr(reader, "MOST_TEXT", 0)
    company = service.new_company("N" * 200)
    here = replace(company, root=f"{ORIGIN}/BC/ODataV4/Company('{'N' * 200}')")
    assert here.post(AGENTS, {"code": "BODY"}).status_code == 201


def test_a_company_that_the_token_does_not_allow_is_as_unknown(
    service: Service, company: Company
) -> None:
    """The response has the id or the name that the client sent, and no other."""
    client = company.using(service.tokens.issue(companies=[str(uuid4())]))
    encoded, in_path = quote(NAME, safe=""), quote(NAME.replace("'", "''"), safe="'")
    api, services = replace(client, root=f"{ORIGIN}/BC/api/v2.0"), f"{ORIGIN}/BC/ODataV4"
    answers = [
        (NAME, replace(client, root=f"{services}/Company('{in_path}')").get(AGENTS)),
        (NAME, replace(client, root=f"{services}/companies(name='{in_path}')").get(AGENTS)),
        (NAME, api.get(AGENTS, f"company={encoded}")),
        (NAME, api.get(AGENTS, headers={"Company": quote(NAME)})),
        (company.id, api.get(AGENTS, f"company={company.id}")),
        (company.id, api.get(AGENTS, headers={"CompanyId": company.id})),
    ]
    for sent, answer in answers:
        assert answer.status_code == 404
        error = error_in(answer.content)
        assert error.code == "Internal_CompanyNotFound"
        assert error.message.startswith(f"The company {messages.quoted(sent)} does not exist")
        assert sent == company.id or company.id not in answer.text


def test_the_first_of_two_companies_with_a_name(service: Service) -> None:
    twins = sorted((service.new_company() for _ in range(2)), key=lambda each: each.id)
    for each in twins:
        rename = "UPDATE companies SET name = 'Twin' WHERE company_id = :company"
        run_sql(service.settings.database, rename, company=each.id)
    twins[0].load(AGENTS, {"code": "FIRST"})

    answer = replace(twins[0], root=f"{ORIGIN}/BC/ODataV4/Company('Twin')").get(AGENTS)

    assert [each["code"] for each in page(answer).value] == ["FIRST"]


def test_what_belongs_to_no_company_ignores_the_header(service: Service, company: Company) -> None:
    token = service.tokens.issue([Scope.RECORDS_READ, Scope.EVENTS])
    root = replace(company, root=f"{ORIGIN}/BC/api/v2.0", token=token)

    assert root.get("subscriptions", headers={"CompanyId": company.id}).status_code == 200


def test_a_root_describes_the_sets_of_companies(service: Service, company: Company) -> None:
    root = replace(company, root=f"{ORIGIN}/BC/ODataV4")
    names = [each.name for each in (MODEL.companies, *MODEL.per_company)]

    listed = msgspec.json.decode(root.get("").content, type=ServiceDocument).value
    assert [each.name for each in listed] == names
    by_option = {each.name: root.get(each.url, {"company": company.id}) for each in listed}
    assert {each.status_code for each in by_option.values()} == {200}

    document = root.get("$metadata", "$format=json").json()
    namespace, _, container = document["$EntityContainer"].rpartition(".")
    described = document[namespace][container]
    for name in names:
        element = described[name]
        assert "$IncludeInServiceDocument" not in element
        assert element[f"{CAPABILITIES}.ReadRestrictions"]["Readable"] is True
    agents = described[AGENTS]
    assert agents[f"{CAPABILITIES}.InsertRestrictions"]["Insertable"] is True
    assert agents[f"{CAPABILITIES}.DeleteRestrictions"]["Deletable"] is True


@together("order", FURTHER)
def test_pages_may_be_in_the_order_of_a_further_property(order: str, service: Service) -> None:
    made = {service.new_company().id for _ in range(3)}
    listed = " or ".join(f"id eq {each}" for each in sorted(made))
    query = {"$filter": listed, "$orderby": f"{order} desc"}
    read = [each["id"] for [each] in pages(service.client, "companies", query, 1)]
    assert sorted(map(str, read)) == sorted(made)
