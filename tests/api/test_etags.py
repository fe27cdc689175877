"""Entity tags: their form, their comparison, and preconditions."""

import re

from support.client import record, tag_of
from support.companies import Company
from support.refusals import refusal
from support.samples import PATHS, SAMPLES, SHIPPING_AGENT, WRITABLE
from support.service import Service
from support.together import together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"


@together("resource", PATHS)
def test_a_records_tag_is_the_same_in_header_body_and_collection(
    resource: str, stocked: Company
) -> None:
    """Tags are weak."""
    answer = stocked.get(PATHS[resource])

    tag = tag_of(answer)
    assert re.fullmatch(r'W/"[\x21\x23-\x7e]+"', tag)
    assert record(answer)["@odata.etag"] == tag
    assert [each["@odata.etag"] for each in stocked.listed(resource)] == [tag]


def test_every_version_has_a_different_tag(own_stock: Company) -> None:
    tags = {str(own_stock.record(path)["@odata.etag"]) for path in PATHS.values()}
    for name in ("a", "b", "a"):
        answer = own_stock.patch(AGENT, {"name": name}, if_match="*")
        tags.add(tag_of(answer))

    assert len(tags) == len(PATHS) + 3


def test_records_of_two_companies_share_no_tag(service: Service) -> None:
    tags = {
        tag_of(service.new_company().post("shippingAgentsExt", {"code": "A"})) for _ in range(3)
    }

    assert len(tags) == 3


@together("resource", WRITABLE)
def test_an_update_that_changes_nothing_writes_nothing(resource: str, own_stock: Company) -> None:
    """The tag, the time and the change number remain; the tag may be in the body."""
    path, before = PATHS[resource], own_stock.get(PATHS[resource])
    changed = own_stock.changes()
    tag = tag_of(before)

    for method in ("PATCH", "PUT"):
        in_body = own_stock.request(method, path, body={**SAMPLES[resource], "@odata.etag": tag})
        guard = {"If-Match": tag}
        in_header = own_stock.request(method, path, body=SAMPLES[resource], headers=guard)
        for answer in (in_body, in_header):
            assert record(answer) == record(before)
            assert tag_of(answer) == tag

    assert own_stock.record(path) == record(before)
    assert own_stock.changes() == changed


def test_exactly_one_of_50_concurrent_updates_with_one_tag_succeeds(own_stock: Company) -> None:
    before, changed = own_stock.get(AGENT), own_stock.changes()
    guard = {"If-Match": tag_of(before)}
    requests = [
        own_stock.build("PATCH", AGENT, body={"name": f"writer {number}"}, headers=guard)
        for number in range(50)
    ]

    answers = own_stock.carrier.send_all(requests)

    statuses = [each.status_code for each in answers]
    assert sorted(statuses) == [200] + [412] * 49
    winner = statuses.index(200)
    after = own_stock.record(AGENT)
    assert after == record(answers[winner])
    assert after["name"] == f"writer {winner}"
    for answer in answers:
        if answer.status_code == 412:
            error = refusal(answer, "Request_EntityChanged")
            assert str(after["@odata.etag"]) in error.message
    assert len(own_stock.changes()) == len(changed) + 1


def test_exactly_one_of_concurrent_creates_with_one_code_succeeds(company: Company) -> None:
    requests = [
        company.build("POST", "shippingAgentsExt", body={"code": "DHL", "name": f"{number}"})
        for number in range(50)
    ]

    answers = company.carrier.send_all(requests)

    assert sorted(each.status_code for each in answers) == [201] + [409] * 49
    assert len(company.listed("shippingAgentsExt")) == 1
    assert len(company.changes()) == 1


def test_concurrent_creates_get_different_numbers(company: Company) -> None:
    """Each attributeId is assigned once."""
    requests = [company.build("POST", "itemAttributesExt", body={"name": "x"}) for _ in range(50)]

    answers = company.carrier.send_all(requests)

    numbers = [int(record(each, 201)["attributeId"]) for each in answers]
    assert sorted(numbers) == list(range(1, 51))


def test_the_later_of_two_concurrent_writes_sees_the_earlier_one(company: Company) -> None:
    """Even if it names the record by a value that the earlier write changes."""
    for number in range(20):
        code = f"{number}"
        record(company.post("shippingAgentsExt", {"code": code}), 201)
        path = f"shippingAgentsExt(code='{code}')"
        requests = [
            company.build("PATCH", path, "", body, {"If-Match": "*"})
            for body in ({"code": f"{code} renamed"}, {"name": "n"})
        ]
        renaming, naming = company.carrier.send_all(requests)

        assert renaming.status_code == 200
        was_first = str(renaming.json()["name"]) == "n"
        assert naming.status_code == (200 if was_first else 404)
