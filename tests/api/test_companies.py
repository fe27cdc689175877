"""Companies, which are listed and read if the token allows them."""

from comptoir.auth.tokens import Scope
from support.client import page, record, tag_of, values
from support.companies import Company
from support.contract import without_control
from support.refusals import refusal
from support.samples import UNKNOWN
from support.service import Service
from support.together import together


def test_a_company_has_its_four_fields_in_order(service: Service) -> None:
    company = service.new_company("Kontor & Söhne")

    answer = company.get("")

    read = record(answer)
    assert list(without_control(read)) == ["id", "name", "displayName", "lastModifiedDateTime"]
    assert (read["id"], read["name"], read["displayName"]) == (
        company.id,
        "Kontor & Söhne",
        "Kontor & Söhne",
    )
    assert read["@odata.context"] == f"{service.client.root}/$metadata#companies/$entity"
    assert read["@odata.etag"] == tag_of(answer)


def test_a_token_without_companies_lists_them_all(service: Service) -> None:
    made = {service.new_company().id for _ in range(2)}

    listed = values(service.client.get("companies"))

    assert made < {str(each["id"]) for each in listed}


def test_a_restricted_token_lists_and_reads_only_its_companies(service: Service) -> None:
    first, second, third = (service.new_company() for _ in range(3))
    restricted = service.client.using(service.tokens.issue(companies=[first.id, second.id]))

    answer = page(restricted.get("companies", {"$count": "true"}))

    assert {each["id"] for each in answer.value} == {first.id, second.id}
    assert answer.count == 2
    assert restricted.record(f"companies({first.id})")["id"] == first.id
    refusal(restricted.get(f"companies({third.id})"), "Internal_CompanyNotFound")


def test_a_token_for_no_company_lists_none(service: Service) -> None:
    service.new_company()
    nobody = service.client.using(service.tokens.issue(companies=[]))

    assert values(nobody.get("companies")) == []


def test_another_company_looks_like_an_unknown_one(service: Service) -> None:
    """The responses differ only in the id."""
    foreign = service.new_company()
    restricted = service.client.using(service.tokens.issue(companies=[service.new_company().id]))

    hidden = restricted.get(f"companies({foreign.id})/contactsExt")
    absent = restricted.get(f"companies({UNKNOWN})/contactsExt")

    refusal(hidden, "Internal_CompanyNotFound")
    assert hidden.text.replace(foreign.id, UNKNOWN) == absent.text
    assert hidden.headers.keys() == absent.headers.keys()


def test_keys_and_unique_values_are_per_company(service: Service) -> None:
    """Two companies may have equal keys and unique values."""
    first, second = service.new_company(), service.new_company()
    agent = {"id": UNKNOWN, "code": "DHL"}

    record(first.post("shippingAgentsExt", agent), 201)
    record(second.post("shippingAgentsExt", agent), 201)
    record(second.patch(f"shippingAgentsExt({UNKNOWN})", {"name": "mine"}, if_match="*"))

    assert first.record(f"shippingAgentsExt({UNKNOWN})")["name"] == ""


def test_a_companys_id_may_be_in_upper_case(stocked: Company, service: Service) -> None:
    answer = service.client.get(f"companies({stocked.id.upper()})/shippingAgentsExt")

    [agent] = values(answer)
    assert agent["code"] == "DHL"
    assert f"companies({stocked.id})" in answer.text


def test_companies_support_query_options(service: Service) -> None:
    ids = [service.new_company(name).id for name in ("Zwei", "Zzz")]
    only = service.client.using(service.tokens.issue(companies=ids))

    for query in ("$filter=name eq 'Zwei'", "$orderby=name&$top=1"):
        [found] = page(only.get("companies", query)).value
        assert found["id"] == ids[0]


@together("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_companies_are_not_written_over_http(
    method: str, company: Company, service: Service
) -> None:
    admin = service.client.using(service.tokens.issue([Scope.ADMIN]))
    path = "companies" if method == "POST" else f"companies({company.id})"

    answer = admin.request(method, path, body={"name": "x"}, headers={"If-Match": "*"})

    refusal(answer, "BadRequest_MethodNotAllowed")
    assert answer.headers["allow"] == "HEAD, GET"


def test_records_of_two_companies_share_no_tag(service: Service) -> None:
    tags = {
        tag_of(service.new_company().post("shippingAgentsExt", {"code": "A"})) for _ in range(3)
    }

    assert len(tags) == 3
