"""Companies, which are listed and read if the token allows them."""

from support.client import page, record, tag_of, values
from support.companies import Company
from support.contract import without_control
from support.refusals import refusal
from support.samples import UNKNOWN
from support.service import Service


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


def test_only_companies_of_the_token_are_aggregated(service: Service) -> None:
    company = service.new_company("Aggregated")
    own = service.client.using(service.tokens.issue(companies=[company.id]))
    answer = own.get("companies", {"$apply": "groupby((name),aggregate($count as n))"})

    assert answer.json()["value"] == [{"@odata.id": None, "name": "Aggregated", "n": 1}]


def test_a_token_for_no_company_lists_none(service: Service) -> None:
    service.new_company()
    nobody = service.client.using(service.tokens.issue(companies=[]))

    assert values(nobody.get("companies")) == []


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


def test_records_of_two_companies_share_no_tag(service: Service) -> None:
    tags = {
        tag_of(service.new_company().post("shippingAgentsExt", {"code": "A"})) for _ in range(3)
    }

    assert len(tags) == 3
