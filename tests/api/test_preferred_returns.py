"""`Prefer: return=…` of writes (RFC 7240, 4.2; OData Protocol 4.01, 8.2.8.7)."""

import httpx
import pytest

from comptoir.catalog import MODEL
from comptoir.edm.types import TEXT
from support.client import tag_of
from support.companies import Company
from support.databases import ON_SQLITE
from support.samples import PATHS, SAMPLES, WRITABLE
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

MINIMAL = {"Prefer": "return=minimal", "If-Match": "*"}


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
@together("resource", CHANGING)
def test_an_update_may_return_no_record(resource: str, method: str, own_stock: Company) -> None:
    path = PATHS[resource]
    before = tag_of(own_stock.get(path))
    name = CHANGING[resource]

    answer = own_stock.request(method, path, "", {**SAMPLES[resource], name: "other"}, MINIMAL)

    check_minimal(answer, own_stock, path)
    assert "location" not in answer.headers
    assert tag_of(answer) != before
    assert own_stock.record(path)[name] == "other"
