"""The values of Business Central: they name what exists, and accept what the interface shows."""

from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace

from comptoir.catalog import MODEL
from comptoir.edm.model import Model
from comptoir.edm.overlay import overlaid
from comptoir.edm.types import PrimitiveType, Text, encoded_name
from comptoir.profiles.record import DECLARED
from support.client import page
from support.databases import FreshDatabase
from support.sample_files import read_company
from support.service import Service
from support.together import together

VALUES = MODEL.tables
TABLES = VALUES.tables
FIELDS = [(name, field) for name, table in TABLES.items() for field in table.fields]
WITHOUT_A_TABLE = {"companies", "ItemProductTextLongContentsExt"}
UNLIMITED = {
    "contactsExt.onlinePassword",
    "contactsExt.onlineLogin",
    "customersExt.taxAreaDisplayName",
}
"""Texts of the interface's own, for which Business Central has no field."""


@pytest.fixture(scope="module")
def model() -> Model:
    return overlaid(MODEL, VALUES, DECLARED)


def test_every_set_but_those_without_a_table_has_one() -> None:
    shown = {each.name for each in MODEL.sets if each.view is None}
    assert set(TABLES) == shown - WITHOUT_A_TABLE
    assert len({each.number for each in TABLES.values()}) == len(TABLES)
    assert all(each.source.endswith(".Table.al") for each in TABLES.values())


@together(("name", "field"), FIELDS)
def test_each_rule_names_what_exists_and_accepts_what_the_interface_suggests(
    name: str, field: str, model: Model
) -> None:
    rule = TABLES[name].fields[field]
    properties = MODEL.by_name[name].type.by_name
    assert field in properties
    assert rule.caption.strip() == rule.caption != ""
    if (named := rule.names) is not None:
        target = MODEL.by_name[named.set].type.by_name
        assert named.by in target
        assert target.keys() >= named.only.keys()
        assert properties.keys() >= named.when.keys()
    derived = model.by_name[name].type.by_name[field].type
    for suggested in properties[field].suggested:
        assert derived.from_text(suggested) == suggested


def test_every_text_has_a_rule_or_belongs_to_the_interface_alone() -> None:
    without = {
        f"{name}.{each.name}"
        for name, table in TABLES.items()
        for each in MODEL.by_name[name].type.properties
        if isinstance(each.type, Text) and each.name not in table.fields
    }
    assert without == UNLIMITED


def test_the_sample_company_fits(model: Model) -> None:
    """And codes in it are in upper case already, so that they are found as they are stored."""
    for name, records in read_company().items():
        properties = model.by_name[name].type.by_name
        for record in records:
            for column, text in record.items():
                edm_type = properties[column].type
                if isinstance(edm_type, Text) and text:
                    assert edm_type.from_text(text) == text


@pytest.fixture(scope="module")
def services(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory, model: Model
) -> Iterator[tuple[Service, Service, Service]]:
    """Services with declared types, derived types, and other forms too, on one database."""
    folder = tmp_path_factory.mktemp("overlaid")
    named = overlaid(MODEL, VALUES, replace(DECLARED, enumerations="names", instants="short"))
    with (
        Service(fresh_database, folder) as declared,
        Service(fresh_database, folder, model) as same,
        Service(fresh_database, folder, named) as other,
    ):
        yield declared, same, other


def wire(edm_type: PrimitiveType, text: str) -> str | int | float:
    """The value of a cell, as a client gets it."""
    stored = edm_type.from_texts([text])[0]
    sent = stored if edm_type.to_wire is None else edm_type.to_wire(stored)
    return msgspec.json.decode(msgspec.json.encode(sent), type=bool | str | int | float)


def test_the_sample_company_is_read_in_each_form(
    services: tuple[Service, Service, Service],
) -> None:
    company = services[0].new_company()
    for name, records in read_company().items():
        properties = MODEL.by_name[name].type.by_name
        rows = [
            {column: wire(properties[column].type, text) for column, text in record.items()}
            for record in records
        ]
        company.load(name, *rows)
    clients = [each.client for each in services]
    for each in MODEL.per_company:
        path = f"companies({company.id})/{each.name}"
        declared, same, other = (client.get(path) for client in clients)
        assert declared.content == same.content
        assert len(page(other).value) == len(page(declared).value) > 0
    prices = f"companies({company.id})/salesPricesExt"
    kinds = [{str(row["sourceType"]) for row in client.listed(prices)} for client in clients]
    assert kinds[0] == kinds[1] >= {"All Customers"}
    assert kinds[2] == {encoded_name(each) for each in kinds[0]}


def test_the_interface_is_described_with_derived_types(
    services: tuple[Service, Service, Service],
) -> None:
    csdl = [each.client.get("$metadata").text for each in services]
    openapi = [each.origin.get("docs/openapi.json").text for each in services]
    for texts in (csdl, openapi):
        assert ["All_x0020_Vendors" in text for text in texts] == [False, False, True]
        assert ["All Vendors" in text for text in texts] == [False, True, False]
