"""Companies, which are listed and read if the token allows them."""

from support.client import page, tag_of, values
from support.companies import Company
from support.refusals import refusal
from support.service import Service


def test_a_token_without_companies_lists_them_all(service: Service) -> None:
    made = {service.new_company().id for _ in range(2)}

    listed = values(service.client.get("companies"))

    assert made <= {str(each["id"]) for each in listed}


def test_a_restricted_token_lists_reads_and_counts_only_its_companies(service: Service) -> None:
    first, second, third = (service.new_company() for _ in range(3))
    restricted = service.client.using(service.tokens.issue(companies=[first.id, second.id]))

    answer = page(restricted.get("companies", {"$count": "true"}))

    assert {each["id"] for each in answer.value} == {first.id, second.id}
    assert answer.count == 2
    counted = restricted.get("companies", {"$apply": "aggregate($count as n)"}).json()["value"]
    assert [each["n"] for each in counted] == [2]
    nobody = service.client.using(service.tokens.issue(companies=[]))
    assert values(nobody.get("companies")) == []
    assert restricted.record(f"companies({first.id})")["id"] == first.id
    refusal(restricted.get(f"companies({third.id})"), "Internal_CompanyNotFound")


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
