"""How each profile names its types, and what it says that clients may set."""

from dataclasses import replace
from typing import cast

import msgspec
import pytest

from support.client import record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import error_in
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

NAMES = {"standard": ("Comptoir", "Container"), "business-central": ("Microsoft.NAV", "NAV")}
CAPABILITIES = "@Org.OData.Capabilities.V1"
FULL = {"Accept": "application/json;odata.metadata=full"}

Object = dict[str, object]


def described(company: Company) -> Object:
    """`$metadata` in JSON."""
    response = company.get("$metadata", headers={"Accept": "application/json"})
    return msgspec.json.decode(response.content, type=Object)


def member(holder: Object, *names: str) -> Object:
    for name in names:
        holder = cast("Object", holder[name])
    return holder


@pytest.fixture
def namespace(profile: str) -> str:
    return NAMES[profile][0]


def test_metadata_has_the_names_of_the_profile(company: Company, profile: str) -> None:
    namespace, container = NAMES[profile]
    found = described(company)
    assert found["$EntityContainer"] == f"{namespace}.{container}"
    contacts = member(found, namespace, container, "contactsExt")
    assert contacts["$Type"] == f"{namespace}.contact"
    assert member(found, namespace, "contact", "company")["$Type"] == f"{namespace}.contact"

    text = company.get("$metadata").text
    assert f'<Schema Namespace="{namespace}"' in text
    assert f'<EntityContainer Name="{container}">' in text
    assert f'Name="contactsExt" EntityType="{namespace}.contact"' in text
    assert f'Type="Collection({namespace}.' in text
    assert ("Comptoir." in text) is (profile == "standard")


def test_records_name_their_type(company: Company, namespace: str) -> None:
    created = record(company.post("contactsExt", {"displayName": "Al"}), 201)
    path = f"contactsExt({created['id']})"
    assert record(company.get(path, headers=FULL))["@odata.type"] == f"#{namespace}.contact"


def test_casts_have_the_names_of_the_profile(company: Company, namespace: str) -> None:
    company.post("contactsExt", {"displayName": "Al"})
    for name, status in ((namespace, 200), ("Other", 404)):
        assert company.get(f"contactsExt/{name}.contact").status_code == status
    for name, status in ((namespace, 200), ("Other", 400)):
        for query in (
            {"$filter": f"{name}.contact/displayName eq 'Al'"},
            {"$filter": f"isof({name}.contact)"},
            {"$expand": f"{name}.contact/company"},
        ):
            response = company.get("contactsExt", query)
            assert response.status_code == status, query
            if status == 200:
                assert len(response.json()["value"]) == 1
    unknown = company.get("contactsExt", {"$filter": "colour eq 'x'"})
    named = (
        "contact has no property" if namespace == "Comptoir" else f"on type '{namespace}.contact'"
    )
    assert named in error_in(unknown.content).message


def test_restrictions_list_what_a_body_must_not_have(company: Company, profile: str) -> None:
    """As the service does: what the restrictions list is refused, and anything else is not."""
    refuses = profile == "business-central"
    namespace, container = NAMES[profile]
    found = described(company)
    units = member(found, namespace, container, "unitsOfMeasureExt")
    inserting = member(units, f"{CAPABILITIES}.InsertRestrictions")
    updating = member(units, f"{CAPABILITIES}.UpdateRestrictions")
    # the interface says that a create has the time
    assert "NonInsertableProperties" not in inserting
    assert updating["NonUpdatableProperties"] == (
        ["code", "lastModifiedDateTime"] if refuses else ["lastModifiedDateTime"]
    )

    items = member(found, namespace, container, "itemsExt")
    inserting = member(items, f"{CAPABILITIES}.InsertRestrictions")
    updating = member(items, f"{CAPABILITIES}.UpdateRestrictions")
    values = {
        "id": "0d3e6c1e-6f0b-4a0f-9a0e-1f5c8d3b2a10",
        "lastModifiedDateTime": "2026-01-31T12:30:00Z",
    }
    refused = list(values) if refuses else []
    assert inserting.get("NonInsertableProperties", []) == refused
    assert updating.get("NonUpdatableProperties", []) == refused
    for name, value in values.items():
        made = company.post("itemsExt", {"number": f"I-{name}", name: value})
        assert made.status_code == (400 if refuses else 201)
    computed = member(found, namespace, "item", "id").get("@Org.OData.Core.V1.Computed")
    assert computed is (True if refuses else None)
    deep = member(found, namespace, container, f"{CAPABILITIES}.DeepInsertSupport")
    assert deep["Supported"] is refuses


@together(
    ("entity_type", "name", "expected"),
    [
        ("unitOfMeasure", "code", (False, True)),
        ("unitOfMeasure", "displayName", (None, None)),
        ("unitOfMeasure", "lastModifiedDateTime", (False, True)),
        ("item", "id", (False, None)),
        ("customer", "number", (False, None)),
    ],
)
def test_properties_say_whether_clients_may_set_them(
    entity_type: str, name: str, expected: tuple[object, object], company: Company, profile: str
) -> None:
    namespace, _ = NAMES[profile]
    declared = member(described(company), namespace, entity_type, name)
    terms = (f"@{namespace}.AllowEdit", f"@{namespace}.AllowEditOnCreate")
    is_standard = profile == "standard"
    assert tuple(map(declared.get, terms)) == ((None, None) if is_standard else expected)


def test_openapi_has_the_bodies_that_the_profile_accepts(company: Company, profile: str) -> None:
    origin = replace(company, root=company.root.partition("/api/")[0], token="")
    schemas = origin.get("docs/openapi.json").json()["components"]["schemas"]
    is_rehearsed = profile == "business-central"
    created = set(schemas["item-create"]["properties"])
    assert "displayName" in created
    assert ("id" in created) is not is_rehearsed
    # references and translations are created with an item, and prices never
    assert ({"references", "translations"} <= created) is is_rehearsed
    assert not {"prices", "lastModifiedDateTime"} & created
    assert not {"id", "lastModifiedDateTime", "translations"} & set(
        schemas["item-update"]["properties"]
    )
    assert {"code", "lastModifiedDateTime"} <= set(schemas["unitOfMeasure-create"]["properties"])
