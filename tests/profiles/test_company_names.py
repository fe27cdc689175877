"""Companies by a name, an option or a header, in the profile business-central."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import monotonic
from urllib.parse import quote
from uuid import uuid4

import httpx
import msgspec
import pytest

from comptoir.auth.tokens import Scope
from comptoir.catalog import MODEL
from comptoir.errors import messages
from comptoir.features.business_central import routes
from support.batches import documents
from support.client import Body, Query, encoded, page, record
from support.companies import Company
from support.databases import run_sql
from support.refusals import error_in
from support.service import Service, StartService
from support.together import together

ORIGIN = "http://127.0.0.1:8080"
AGENTS = "shippingAgentsExt"
NAME = "O'Neil & Söhne / Nord"
CAPABILITIES = "@Org.OData.Capabilities.V1"


class Listed(msgspec.Struct):
    name: str
    url: str


class ServiceDocument(msgspec.Struct):
    value: list[Listed]


@dataclass(frozen=True)
class Named(Company):
    """A company whose requests name it by an option or by a header."""

    option: str = ""
    sent: Mapping[str, str] = field(default_factory=dict)

    def build(
        self,
        method: str,
        path: str,
        query: Query = "",
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Request:
        text = query if isinstance(query, str) else encoded(query)
        query = "&".join(filter(None, (self.option, text)))
        return super().build(method, path, query, body, {**self.sent, **(headers or {})})


@pytest.fixture(scope="module")
def service(services: Mapping[str, Service]) -> Service:
    return services["business-central"]


@pytest.fixture(scope="module")
def company(service: Service) -> Company:
    """A company with three shipping agents, and another one with none."""
    company = service.new_company(NAME)
    company.load(AGENTS, *({"code": code, "name": code.lower()} for code in ("A", "B", "C")))
    service.new_company("Other")
    return company


def quoted(name: str) -> str:
    return quote(name.replace("'", "''"), safe="'")


def named(company: Company, form: str) -> Company:
    """The company by one of the forms in which clients name it."""
    if form.startswith("option"):
        value = company.id if form == "option id" else quote(NAME, safe="")
        return _named(company, option=f"company={value}")
    if form.startswith("header"):
        sent = {"CompanyId": company.id} if form == "header id" else {"Company": quote(NAME)}
        return _named(company, sent=sent)
    segment = f"companies(name='{quoted(NAME)}')"
    if form == "service":
        segment = f"Company('{quoted(NAME)}')"
    return replace(company, root=f"{ORIGIN}/BC/ODataV4/{segment}")


def _named(company: Company, option: str = "", sent: Mapping[str, str] | None = None) -> Company:
    root = f"{ORIGIN}/BC/api/v2.0"
    stored, admin = company.stored, company.admin
    return Named(company.carrier, root, company.token, stored, admin, option, sent or {})


FORMS = ["service", "name", "option id", "option name", "header id", "header name"]


@together("form", FORMS)
def test_links_lead_to_the_same_company(form: str, company: Company) -> None:
    """Without the header that named it."""
    here = named(company, form)
    full = {"Accept": "application/json;odata.metadata=full"}

    first = here.get(AGENTS, "$orderby=code", {"Prefer": "odata.maxpagesize=2"})
    second = company.follow(str(page(first).next_link))
    third = here.get(AGENTS, "$orderby=code", full)
    created = here.post(AGENTS, {"code": form.upper().replace(" ", "")})
    key = record(created, 201)["id"]
    deleted = here.request("DELETE", f"{AGENTS}({key})")

    assert [each["code"] for each in page(first).value + page(second).value] == ["A", "B", "C"]
    links = [str(each["@odata.id"]) for each in page(third).value]
    assert [record(company.follow(each))["code"] for each in links] == ["A", "B", "C"]
    assert company.follow(created.headers["location"]).status_code == 404
    assert deleted.status_code == 204
    assert [each.verb for each in company.changes()[-2:]] == ["create", "delete"]


def test_slashes_in_a_row_are_read_as_one_in_addresses_of_services(service: Service) -> None:
    """As darbiadev-businesscentral 0.5.0 sends them; but not in a name, and not elsewhere."""
    company = service.new_company("A//B")
    company.load(AGENTS, {"code": "A"})
    here = replace(company, root=f"{ORIGIN}/BC/ODataV4//Company('A//B')")

    plain = replace(company, root=f"{ORIGIN}/BC/ODataV4/Company('A//B')").get(AGENTS)
    batched = documents(here, {"id": "1", "method": "GET", "url": f"/{AGENTS}//$count"})["1"]

    assert here.get(f"/{AGENTS}").text == here.get(f"//{AGENTS}/").text == plain.text
    assert plain.status_code == batched.status == 200
    elsewhere = replace(company, root=f"{ORIGIN}/BC/api/v2.0/Company('A//B')")
    assert elsewhere.get(f"/{AGENTS}").status_code == 400


def test_links_have_the_form_that_the_client_used(company: Company) -> None:
    key = page(company.get(AGENTS, "$top=1")).value[0]["id"]
    full = {"Accept": "application/json;odata.metadata=full"}
    found = {}
    for form in FORMS:
        answer = named(company, form).get(f"{AGENTS}({key})", headers=full)
        content = record(answer)
        found[form] = str(content["@odata.context"]), str(content["@odata.id"])

    api, name = f"{ORIGIN}/BC/api/v2.0", quote(NAME, safe="")
    service, shown = f"{ORIGIN}/BC/ODataV4", quoted(NAME)
    by_id = f"{api}/$metadata#companies({company.id})/{AGENTS}/$entity"
    assert found == {
        "service": (
            f"{service}/$metadata#Company('{shown}')/{AGENTS}/$entity",
            f"{service}/Company('{shown}')/{AGENTS}({key})",
        ),
        "name": (
            f"{service}/$metadata#companies(name='{shown}')/{AGENTS}/$entity",
            f"{service}/companies(name='{shown}')/{AGENTS}({key})",
        ),
        "option id": (by_id, f"{api}/{AGENTS}({key})?company={company.id}"),
        "option name": (by_id, f"{api}/{AGENTS}({key})?company={name}"),
        "header id": (by_id, f"{api}/{AGENTS}({key})?company={company.id}"),
        "header name": (by_id, f"{api}/{AGENTS}({key})?company={name}"),
    }


def test_related_records_have_links_of_the_same_form(service: Service) -> None:
    """Navigation links, and links to the rest of an expanded collection."""
    company = service.new_company("Related")
    company.load("itemsExt", {"number": "1"})
    company.load("itemTranslationsExt", *({"itemNo": "1", "languageCode": c} for c in ("A", "B")))
    here = _named(company, option="company=Related")
    full = {"Accept": "application/json;odata.metadata=full"}

    answer = here.get("itemsExt", "$expand=translations($top=1;$count=true)", full)

    (item,) = msgspec.json.decode(answer.content)["value"]
    link = item["translations@odata.navigationLink"]
    assert link.endswith("/translations?company=Related")
    assert len(page(here.follow(link)).value) == 2


@together("form", FORMS)
def test_a_batch_may_name_the_company(form: str, company: Company) -> None:
    """References, and requests of another company, have their own."""
    here = named(company, form)
    new = {"method": "POST", "body": {"displayName": "Bo"}}
    content = {"headers": {"Content-Type": "application/json"}}

    replies = documents(
        here,
        {"id": "1", "method": "GET", "url": AGENTS},
        {"id": "2", "url": "contactsExt", **new, **content},
        {"id": "3", "method": "GET", "url": "$2", "dependsOn": ["2"]},
        {"id": "4", "method": "GET", "url": f"/BC/ODataV4/Company('Other')/{AGENTS}"},
    )

    assert [each.status for each in replies.values()] == [200, 201, 200, 200]
    assert b'"code":"A"' in bytes(replies["1"].body)
    assert b'"code":"A"' not in bytes(replies["4"].body)
    assert company.follow(replies["2"].headers["location"]).status_code == 200


def test_requests_of_a_batch_may_name_their_companies(service: Service, company: Company) -> None:
    """By each form; a request's own company has precedence over that of the batch."""
    batch = _named(company, option="company=Other")
    parts: list[dict[str, object]] = [
        {"url": AGENTS},
        {"url": f"{AGENTS}?company={company.id}"},
        {"url": AGENTS, "headers": {"CompanyId": company.id}},
        {"url": f"companies({company.id})/{AGENTS}"},
        {"url": f"Company('{quoted(NAME)}')/{AGENTS}"},
    ]
    requests = [{"id": str(n), "method": "GET", **part} for n, part in enumerate(parts)]

    replies = documents(batch, *requests)

    assert [b'"code":"A"' in bytes(each.body) for each in replies.values()] == [
        False,
        True,
        True,
        True,
        True,
    ]


def test_an_atomic_group_may_name_the_company(company: Company) -> None:
    here = _named(company, option=f"company={company.id}")
    before = len(company.changes())
    group = {"atomicityGroup": "g", "headers": {"Content-Type": "application/json"}}
    new = {"method": "POST", "url": "contactsExt", "body": {"displayName": "Bo"}}

    replies = documents(here, {"id": "1", **new, **group}, {"id": "2", **new, **group})

    assert [each.status for each in replies.values()] == [201, 201]
    assert len(company.changes()) == before + 2


@together("name", ["Nobody", "o'neil & söhne / nord", "", "\0", "a" * 5_000])
def test_an_unknown_name_is_404(name: str, company: Company) -> None:
    root = f"{ORIGIN}/BC/ODataV4"
    here = replace(company, root=root)

    answers = [here.get(AGENTS, f"company={quote(name, safe='')}")]
    if name and "\0" not in name:
        answers.append(here.get(f"Company('{quoted(name)}')/{AGENTS}"))

    assert {each.status_code for each in answers} == {404}
    assert {error_in(each.content).code for each in answers} == {"Internal_CompanyNotFound"}


def test_an_unknown_name_is_looked_up_again_after_a_moment(
    service: Service, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "COMPANY_CACHE_SECONDS", 3_600)
    here = replace(company, root=f"{ORIGIN}/BC/ODataV4/Company('Later')")
    assert here.get(AGENTS).status_code == 404
    service.new_company("Later")
    assert here.get(AGENTS).status_code == 404
    monkeypatch.setattr(routes, "monotonic", lambda: monotonic() + 3_600)
    assert here.get(AGENTS).status_code == 200


@together("form", FORMS)
def test_a_company_that_the_token_does_not_allow_is_as_unknown(
    form: str, service: Service, company: Company
) -> None:
    """The response has the id or the name that the client sent, and no other."""
    other = str(uuid4())
    here = named(company, form).using(service.tokens.issue(companies=[other]))

    answer = here.get(AGENTS)

    assert answer.status_code == 404
    error = error_in(answer.content)
    assert error.code == "Internal_CompanyNotFound"
    sent = company.id if form.endswith("id") else NAME
    assert error.message.startswith(f"The company {messages.quoted(sent)} does not exist")
    assert form.endswith("id") or company.id not in answer.text


def test_a_set_without_a_company(company: Company) -> None:
    """The text is that of Business Central without a default company."""
    answer = replace(company, root=f"{ORIGIN}/BC/api/v2.0").get(AGENTS)

    assert answer.status_code == 404
    error = error_in(answer.content)
    assert error.code == "Internal_CompanyNotFound"
    assert error.message.startswith(
        "Cannot process the request because the default company cannot be found."
    )


def test_the_first_of_two_companies_with_a_name(service: Service) -> None:
    twins = sorted((service.new_company() for _ in range(2)), key=lambda each: each.id)
    for each in twins:
        rename = "UPDATE companies SET name = 'Twin' WHERE company_id = :company"
        run_sql(service.settings.database, rename, company=each.id)
    twins[0].load(AGENTS, {"code": "FIRST"})

    answer = replace(twins[0], root=f"{ORIGIN}/BC/ODataV4/Company('Twin')").get(AGENTS)

    assert [each["code"] for each in page(answer).value] == ["FIRST"]


def test_the_path_has_precedence_over_the_option(company: Company) -> None:
    answers = [
        company.get(AGENTS, "company=Other"),
        company.get(AGENTS, headers={"Company": "Other"}),
    ]
    assert [len(page(each).value) for each in answers] == [3, 3]


def test_what_belongs_to_no_company_ignores_the_header(service: Service, company: Company) -> None:
    root = replace(company, root=f"{ORIGIN}/BC/api/v2.0")
    sent = {"CompanyId": company.id}

    answers = [root.get(each, headers=sent) for each in ("", "$metadata", "companies")]
    token = service.tokens.issue([Scope.RECORDS_READ, Scope.EVENTS])
    answers.append(root.using(token).get("subscriptions", headers=sent))

    assert [each.status_code for each in answers] == [200, 200, 200, 200]


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


def test_the_services_list_the_companies(service: Service, company: Company) -> None:
    root = replace(company, root=f"{ORIGIN}/BC/ODataV4")

    listed = page(root.get("Company")).value
    one = record(root.get(f"Company('{quoted(NAME)}')"))

    assert one["id"] in [each["id"] for each in listed]
    assert one["name"] == NAME


def test_the_profile_standard_knows_ids_alone(start_service: StartService) -> None:
    service = start_service()
    company = service.new_company("Nord")
    base = replace(company, root=company.root.partition("/companies")[0])
    answers = [
        base.get(f"Company('Nord')/{AGENTS}"),
        base.get(f"companies(name='Nord')/{AGENTS}"),
        base.get(AGENTS, "company=Nord"),
        base.get(AGENTS, headers={"Company": "Nord"}),
    ]
    assert [each.status_code for each in answers] == [404, 400, 404, 404]
