"""The captions of entity sets and properties, in the profile business-central."""

from collections.abc import Mapping
from uuid import uuid4

import msgspec

from comptoir.catalog import MODEL
from support.batches import documents
from support.client import Client
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import error_in
from support.roles import tokens_of_roles
from support.service import Service
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

NAME = "entityDefinitions"
ADDRESSES = ["/api", "/v2.0/Production/api/v2.0", "/BC/ODataV4", "/BC/api/comptoir/ext/v1.0"]


class Caption(msgspec.Struct, forbid_unknown_fields=True):
    languageCode: int  # noqa: N815 - a name of the interface
    caption: str


class Declared(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    captions: list[Caption]


class Definition(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    entity_name: str
    entity_set_name: str
    entity_captions: list[Caption]
    entity_set_captions: list[Caption]
    properties: list[Declared]
    actions: list[object]
    enum_members: list[object]


class Document(msgspec.Struct):
    context: str = msgspec.field(name="@odata.context")
    value: list[Definition]


def client_at(company: Company, address: str) -> Client:
    return Client(company.carrier, f"http://127.0.0.1:8080{address}", company.token)


def read(client: Client, query: str = "") -> Document:
    response = client.get(NAME, query)
    assert response.status_code == 200, response.text
    return msgspec.json.decode(response.content, type=Document)


def test_a_root_has_the_captions_of_each_set(rehearsed: Company) -> None:
    for address in ADDRESSES:
        document = read(client_at(rehearsed, address))

        assert document.context == f"http://127.0.0.1:8080{address}/$metadata#{NAME}"
        found = {each.entity_set_name: each for each in document.value}
        assert set(found) == {each.name for each in MODEL.sets}
        unit = found["unitsOfMeasureExt"]
        assert unit.entity_name == MODEL.by_name["unitsOfMeasureExt"].type.name
        assert (
            unit.entity_captions == unit.entity_set_captions == [Caption(1033, "Unit of Measure")]
        )
        captions = {each.name: each.captions for each in unit.properties}
        assert captions["internationalStandardCode"] == [
            Caption(1033, "International Standard Code")
        ]
        assert found["companies"].properties[0].captions == [Caption(1033, "id")]
        assert (unit.actions, unit.enum_members) == ([], [])


def test_a_filter_may_name_one_type(rehearsed: Company) -> None:
    client = client_at(rehearsed, "/api")

    (found,) = read(client, "$filter=entityName eq 'contact'").value

    assert found.entity_set_name == "contactsExt"
    assert read(client, "$filter=entityName eq 'mailbox'").value == []


@together(
    ("query", "status"),
    [
        ("$filter=entitySetName eq 'contactsExt'", 501),
        ("$filter=entityName ne 'contact'", 501),
        ("$filter=entityName eq 'contact' or entityName eq 'item'", 501),
        ("$filter=entityName eq", 400),
        ("$top=1", 400),
    ],
)
def test_other_options_are_refused(query: str, status: int, rehearsed: Company) -> None:
    assert client_at(rehearsed, "/api").get(NAME, query).status_code == status


def test_definitions_are_read_only(rehearsed: Company) -> None:
    response = client_at(rehearsed, "/api").post(NAME, {})

    assert response.status_code == 405
    assert "'POST' requests for 'entityDefinitions'" in error_in(response.content).message


def test_a_batch_may_read_them(rehearsed: Company) -> None:
    url = f"/api/{NAME}?$filter=entityName eq 'contact'"
    reply = documents(rehearsed, {"id": "1", "method": "GET", "url": url})["1"]

    assert reply.status == 200
    assert b'"contactsExt"' in bytes(reply.body)


def test_a_client_sees_the_sets_that_it_may_read(
    rehearsed: Company, services: Mapping[str, Service]
) -> None:
    name = f"reader-{uuid4()}"
    tokens = tokens_of_roles(services["business-central"], {name: {"contactsExt": "R"}})

    document = read(client_at(rehearsed.using(tokens[name]), "/api"))

    assert {each.entity_set_name for each in document.value} == {"companies", "contactsExt"}


def test_the_profile_standard_has_none(services: Mapping[str, Service]) -> None:
    assert services["standard"].client.get(NAME).status_code == 404
