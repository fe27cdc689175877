"""Paths to properties, by alternate keys, by navigation, and to counts and references."""

from collections.abc import Mapping

import pytest

from comptoir.catalog import MODEL
from support.client import page, record, values
from support.companies import Company
from support.contract import without_control
from support.refusals import refusal
from support.samples import CONTACT, ITEM, PATHS, READ_ONLY, SAMPLES, UNKNOWN
from support.together import together

COMPANY_CONTACT = "11111111-1111-4111-8111-1111111111c0"


@pytest.fixture
def people(company: Company) -> Company:
    """A contact of type Company with two persons, and a person without an existing company."""
    company.load(
        "contactsExt",
        {"id": COMPANY_CONTACT, "number": "C1", "type": "Company", "companyNumber": "C1"},
        {"id": CONTACT, "number": "P1", "type": "Person", "companyNumber": "C1"},
        {"id": UNKNOWN, "number": "P2", "type": "Person", "companyNumber": "C1"},
        {"id": ITEM, "number": "P3", "type": "Person", "companyNumber": ""},
    )
    return company


@together("resource", PATHS)
def test_every_property_can_be_read_alone(resource: str, stocked: Company) -> None:
    for name, value in SAMPLES[resource].items():
        answer = stocked.get(f"{PATHS[resource]}/{name}")

        assert record(answer)["value"] == value
        assert answer.headers["etag"] == stocked.record(PATHS[resource])["@odata.etag"]


@together("resource", PATHS)
def test_every_property_can_be_read_as_raw_text(resource: str, stocked: Company) -> None:
    for name, value in SAMPLES[resource].items():
        answer = stocked.get(f"{PATHS[resource]}/{name}/$value", headers={"Accept": "text/plain"})

        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/plain;charset=utf-8"
        expected = str(value).lower() if isinstance(value, bool) else str(value)
        assert answer.text == expected


def test_a_property_has_its_context(stocked: Company) -> None:
    read = record(stocked.get(f"{PATHS['contactsExt']}/city"))

    base = stocked.root.partition("/companies")[0]
    path = f"companies({stocked.id})/{PATHS['contactsExt']}/city"
    assert read == {"@odata.context": f"{base}/$metadata#{path}", "value": "Graz"}


def _alternate_keys() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for resource, sample in SAMPLES.items():
        entity_type = MODEL.by_name[resource].type
        for rule in entity_type.unique:
            parts = [
                f"{name}='{sample[name]}'"
                if entity_type.by_name[name].type.quoted
                else f"{name}={sample[name]}"
                for name in rule.properties
            ]
            found += [(resource, ",".join(parts)), (resource, ",".join(reversed(parts)))]
    return found


@together(("resource", "key"), _alternate_keys())
def test_a_unique_rule_is_a_key(resource: str, key: str, stocked: Company) -> None:
    assert without_control(stocked.record(f"{resource}({key})")) == SAMPLES[resource]


def test_a_record_is_updated_by_an_alternate_key(own_stock: Company) -> None:
    answer = own_stock.patch("contactsExt(number='KT000101')", {"city": "Wien"}, "*")

    assert record(answer)["city"] == "Wien"
    assert own_stock.record(PATHS["contactsExt"])["city"] == "Wien"


def test_a_blank_value_relates_to_nothing(people: Company) -> None:
    people.load("contactsExt", {"id": UNKNOWN, "number": ""})

    assert people.listed(f"contactsExt({UNKNOWN})/people") == []
    assert people.get(f"contactsExt({UNKNOWN})/people/$count").text == "0"


def test_related_records_are_paged(people: Company) -> None:
    path = f"contactsExt({COMPANY_CONTACT})/people"

    first = people.get(path, "$orderby=number", {"Prefer": "odata.maxpagesize=1"})
    second = people.follow(str(first.json()["@odata.nextLink"]))

    assert [each["number"] for each in page(first).value] == ["P1"]
    assert [each["number"] for each in values(second)] == ["P2"]
    stolen = str(first.json()["@odata.nextLink"]).partition("$skiptoken=")[2]
    refusal(
        people.get("contactsExt", f"$orderby=number&$skiptoken={stolen}"),
        "BadRequest_InvalidRequestUrl",
    )


@together("resource", PATHS)
def test_a_cast_to_the_own_type_changes_nothing(resource: str, stocked: Company) -> None:
    type_name = MODEL.by_name[resource].type.name

    plain, cast = (
        stocked.get(PATHS[resource]),
        stocked.get(f"{PATHS[resource]}/Comptoir.{type_name}"),
    )
    assert cast.json() == plain.json()
    assert len(stocked.listed(f"{resource}/Comptoir.{type_name}")) == 1


def test_full_metadata_names_types_and_navigation(stocked: Company) -> None:
    accept = {"Accept": "application/json;odata.metadata=full"}
    read: Mapping[str, object] = stocked.get(PATHS["itemsExt"], headers=accept).json()

    assert read["lastModifiedDateTime@odata.type"] == "#DateTimeOffset"
    assert read["prices@odata.navigationLink"] == f"{stocked.root}/{PATHS['itemsExt']}/prices"
    assert "number@odata.type" not in read


@together("resource", READ_ONLY)
def test_a_company_has_the_properties_of_a_record(resource: str, stocked: Company) -> None:
    base = stocked.root.partition("/companies")[0]

    assert stocked.follow(f"{base}/companies({stocked.id})/name").json()["value"]
    assert stocked.follow(f"{base}/companies/$count").status_code == 200
    refusal(stocked.follow(f"{base}/{resource}"), "BadRequest_ResourceNotFound")
