"""DELETE requires the record's ETag, and does not change records that refer to it."""

from support.client import record, tag_of
from support.companies import Company
from support.refusals import refusal
from support.samples import PATHS, SAMPLES, SHIPPING_AGENT, WRITABLE
from support.together import together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"


@together("resource", WRITABLE)
def test_a_deleted_record_is_404(resource: str, own_stock: Company) -> None:
    path = PATHS[resource]
    tag = tag_of(own_stock.get(path))

    answer = own_stock.delete(path, if_match=tag)

    assert answer.status_code == 204
    assert answer.content == b""
    assert answer.headers["odata-version"] == "4.0"
    assert "content-type" not in answer.headers
    assert "etag" not in answer.headers
    refusal(own_stock.get(path), "Internal_RecordNotFound")
    assert own_stock.listed(resource) == []
    refusal(own_stock.delete(path, if_match=tag), "Internal_RecordNotFound")


def test_a_delete_is_in_the_change_log(own_stock: Company) -> None:
    before = own_stock.changes()

    own_stock.delete(AGENT, if_match="*")

    [*others, last] = own_stock.changes()
    assert others == before
    assert last.number == before[-1].number + 1
    assert (last.entity_set, last.record) == ("shippingAgentsExt", SHIPPING_AGENT)
    assert last.verb == "delete"
    assert last.at >= before[-1].at


def test_a_delete_does_not_change_other_records(own_stock: Company) -> None:
    """References are not enforced, and nothing is derived."""
    boss = record(
        own_stock.post("contactsExt", {"number": "C1", "type": "Company", "displayName": "Kontor"}),
        201,
    )
    own_stock.post("contactsExt", {"displayName": "Ann", "companyNumber": "C1"})
    others = own_stock.listed("contactsExt", {"$filter": "number ne 'C1'"})
    assert "Kontor" in {each["companyName"] for each in others}

    own_stock.delete(f"contactsExt({boss['id']})", if_match="*")

    assert own_stock.listed("contactsExt") == others


@together("resource", WRITABLE)
def test_a_deleted_record_can_be_created_again(resource: str, own_stock: Company) -> None:
    """Its key and unique values are free, and the new record has a new tag."""
    path = PATHS[resource]
    tags = {tag_of(own_stock.get(path))}
    for _ in range(2):
        own_stock.delete(path, if_match="*")
        created = own_stock.post(resource, SAMPLES[resource], headers={"If-Match": "*"})
        assert created.status_code == 201, created.text
        tags.add(tag_of(created))
        assert own_stock.record(path)["@odata.etag"] == tag_of(created)

    assert len(tags) == 3


def test_exactly_one_of_many_deletes_with_one_tag_succeeds(own_stock: Company) -> None:
    changed = len(own_stock.changes())
    guard = {"If-Match": tag_of(own_stock.get(AGENT))}
    requests = [own_stock.build("DELETE", AGENT, headers=guard) for _ in range(20)]

    answers = own_stock.carrier.send_all(requests)

    assert sorted(each.status_code for each in answers) == [204] + [404] * 19
    assert len(own_stock.changes()) == changed + 1
