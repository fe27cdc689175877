"""`Prefer: return=…` of writes (RFC 7240, 4.2; OData Protocol 4.01, 8.2.8.7)."""

import httpx
import pytest

from comptoir.catalog import MODEL
from comptoir.edm.types import TEXT
from support.client import record, tag_of
from support.companies import Company
from support.databases import ON_SQLITE
from support.samples import PATHS, SAMPLES, WRITABLE
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

MINIMAL = {"Prefer": "return=minimal", "If-Match": "*"}
WHOLE = {"Prefer": "return=representation", "If-Match": "*"}


def free_texts(resource: str) -> list[str]:
    """The text properties that any update may change."""
    entity_type = MODEL.by_name[resource].type
    fixed = {entity_type.key, *(name for rule in entity_type.unique for name in rule.properties)}
    return [
        each.name
        for each in entity_type.properties
        if each.type is TEXT and not each.required and each.name not in fixed
    ]


CHANGING = {resource: names[0] for resource in WRITABLE if (names := free_texts(resource))}
"""An updatable property of each entity set."""


def check_minimal(answer: httpx.Response, company: Company, path: str) -> None:
    """The response has only the record's address and its tag."""
    assert answer.status_code == 204, answer.text
    assert answer.content == b""
    assert "content-type" not in answer.headers
    assert answer.headers["odata-version"] == "4.0"
    assert answer.headers["odata-entityid"] == f"{company.root}/{path}"
    assert answer.headers["preference-applied"] == "return=minimal"
    assert tag_of(answer) == company.record(path)["@odata.etag"]


@together("resource", WRITABLE)
def test_a_create_may_return_no_record(resource: str, company: Company) -> None:
    path = PATHS[resource]

    answer = company.post(resource, SAMPLES[resource], MINIMAL)

    check_minimal(answer, company, path)
    assert answer.headers["location"] == f"{company.root}/{path}"


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
@pytest.mark.parametrize("resource", CHANGING)
def test_an_update_may_return_no_record(resource: str, method: str, own_stock: Company) -> None:
    path = PATHS[resource]
    before = tag_of(own_stock.get(path))
    name = CHANGING[resource]

    answer = own_stock.request(method, path, "", {**SAMPLES[resource], name: "other"}, MINIMAL)

    check_minimal(answer, own_stock, path)
    assert "location" not in answer.headers
    assert tag_of(answer) != before
    assert own_stock.record(path)[name] == "other"


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_a_create_by_its_key_may_return_no_record(method: str, company: Company) -> None:
    headers = {"Prefer": "return=minimal", "If-None-Match": "*"}
    path = PATHS["unitsOfMeasureExt"]

    answer = company.request(method, path, "", {"code": "PCS"}, headers)

    check_minimal(answer, company, path)
    assert answer.headers["location"] == f"{company.root}/{path}"


def test_the_record_may_be_requested(own_stock: Company) -> None:
    path = PATHS["shippingAgentsExt"]
    answers = {
        201: own_stock.post("shippingAgentsExt", {"code": "UPS"}, WHOLE),
        200: own_stock.patch(path, {"name": "New"}, headers=WHOLE),
    }

    for status, answer in answers.items():
        assert record(answer, status)["@odata.etag"] == tag_of(answer)
        assert answer.headers["preference-applied"] == "return=representation"
        assert "odata-entityid" not in answer.headers


@together("prefer", ["", "return", "return=all", "x=1"])
def test_an_unknown_preference_is_ignored(prefer: str, own_stock: Company) -> None:
    """It is neither refused nor applied (RFC 7240, section 2)."""
    headers = {"Prefer": prefer, "If-Match": "*"}

    answer = own_stock.patch(PATHS["shippingAgentsExt"], {"name": "New"}, headers=headers)

    assert record(answer)["name"] == "New"
    assert "preference-applied" not in answer.headers


@pytest.mark.parametrize("headers", [MINIMAL, WHOLE])
def test_a_delete_has_nothing_to_return(headers: dict[str, str], own_stock: Company) -> None:
    answer = own_stock.delete(PATHS["shippingAgentsExt"], headers=headers)

    assert answer.status_code == 204
    assert answer.content == b""
    assert not {"preference-applied", "odata-entityid"} & set(answer.headers)


def test_a_refusal_has_its_whole_body(own_stock: Company) -> None:
    answer = own_stock.patch(PATHS["shippingAgentsExt"], {"name": 5}, headers=MINIMAL)

    assert answer.status_code == 400
    assert answer.json()["error"]["target"] == "name"
    assert "preference-applied" not in answer.headers
