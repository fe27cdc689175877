"""PUT replaces the record; omitted properties get the default of a new record."""

import pytest

from comptoir.catalog import MODEL
from support.client import Record, record, tag_of
from support.companies import Company
from support.contract import without_control
from support.samples import CONTACT, PATHS, SAMPLES, SHIPPING_AGENT, WRITABLE
from support.service import Service
from support.together import together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"
CONTACT_PATH = f"contactsExt({CONTACT})"


def required(resource: str) -> Record:
    """The required properties of a sample."""
    entity_type = MODEL.by_name[resource].type
    return {
        each.name: SAMPLES[resource][each.name] for each in entity_type.properties if each.required
    }


@together("resource", WRITABLE)
def test_omitted_properties_get_the_default_of_a_new_record(
    resource: str, own_stock: Company, service: Service
) -> None:
    """Except the key, an assigned number and the time of the change."""
    path, entity_type = PATHS[resource], MODEL.by_name[resource].type
    before = own_stock.record(path)
    other = service.new_company()
    fresh = record(other.post(resource, required(resource), headers={"If-Match": "*"}), 201)

    answer = own_stock.put(path, required(resource), if_match=str(before["@odata.etag"]))

    after = record(answer)
    for each in entity_type.properties:
        if each.name == entity_type.key or each.numbered:
            assert after[each.name] == before[each.name]
        elif each.modified_at:
            assert str(after[each.name]) > str(before[each.name])
        else:
            assert after[each.name] == fresh[each.name]
    assert tag_of(answer) == after["@odata.etag"]
    assert own_stock.record(path) == after


def test_a_replacement_is_an_update_in_the_change_log(own_stock: Company) -> None:
    before = own_stock.changes()

    own_stock.put(AGENT, {"code": "NEW"}, if_match="*")

    [*others, last] = own_stock.changes()
    assert others == before
    assert (last.number, last.verb) == (len(before) + 1, "update")


def test_a_record_may_be_sent_back_as_it_was_read(own_stock: Company) -> None:
    """Control information and computed properties are ignored."""
    read = own_stock.record(CONTACT_PATH)

    after = record(own_stock.put(CONTACT_PATH, {**read, "city": "Linz"}, if_match="*"))

    assert after["city"] == "Linz"
    assert str(after["lastModifiedDateTime"]) > str(read["lastModifiedDateTime"])
    changing = {"city", "lastModifiedDateTime", "@odata.etag"}
    assert {n: v for n, v in after.items() if n not in changing} == {
        n: v for n, v in read.items() if n not in changing
    }


@pytest.mark.parametrize("resource", WRITABLE)
def test_a_put_if_none_may_match_creates_under_the_key_in_the_path(
    resource: str, company: Company
) -> None:
    answer = company.put(PATHS[resource], SAMPLES[resource], headers={"If-None-Match": "*"})

    created = record(answer, 201)
    stamp = {each.name for each in MODEL.by_name[resource].type.properties if each.modified_at}
    shown = without_control(created)
    assert {name: value for name, value in shown.items() if name not in stamp} == {
        name: value for name, value in SAMPLES[resource].items() if name not in stamp
    }
    assert answer.headers["location"] == f"{company.root}/{PATHS[resource]}"
    assert company.record(PATHS[resource]) == created
    assert [change.verb for change in company.changes()] == ["create"]
