"""The service document lists the entity sets of its root."""

import msgspec

from comptoir.catalog import MODEL
from comptoir.service.descriptions import service_document

BASE = "http://erp.example/api"
COMPANY = "00000000-0000-4000-8000-000000000001"


class Listed(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    kind: str
    url: str


class Document(msgspec.Struct, forbid_unknown_fields=True):
    value: list[Listed]
    context: str | None = msgspec.field(default=None, name="@odata.context")


def document(company_id: str | None, level: str = "minimal") -> Document:
    if company_id is None:
        content = service_document(BASE, (MODEL.companies,), level)
    else:
        root = f"{BASE}/companies({company_id})"
        content = service_document(root, MODEL.per_company, level)
    return msgspec.json.decode(content, type=Document)


def test_the_root_lists_only_the_companies() -> None:
    assert document(None) == Document(
        [Listed("companies", "EntitySet", "companies")], f"{BASE}/$metadata"
    )


def test_a_company_lists_every_set_that_it_contains() -> None:
    found = document(COMPANY)
    names = [each.name for each in MODEL.per_company]
    assert found.context == f"{BASE}/companies({COMPANY})/$metadata"
    assert found.value == [Listed(name, "EntitySet", name) for name in names]


def test_full_metadata_adds_nothing() -> None:
    assert document(COMPANY, "full") == document(COMPANY)


def test_without_a_context_the_urls_are_absolute() -> None:
    found = document(COMPANY, "none")
    assert found.context is None
    assert found.value[0].url == f"{BASE}/companies({COMPANY})/{found.value[0].name}"
