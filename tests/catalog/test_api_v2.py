"""The catalog of Business Central's API v2.0: documents with lines, and a base of own catalogs."""

import re
from pathlib import Path

import pytest

from comptoir.catalog import API_V2, BASE, MODEL, read_catalog
from comptoir.config import Settings
from comptoir.errors.refusal import OperatorError
from comptoir.store.growth import changes
from comptoir.store.migration import accepted_catalog, migrate
from support.companies import Company
from support.console import logged_in
from support.databases import ON_SQLITE, FreshDatabase
from support.service import Service, StartService

OWN = f"""comptoir = 1
base = "{API_V2}"

[sets.customers.properties]
region = "String(20)"
"""


@pytest.fixture(scope="module")
def service(share_service: StartService) -> Service:
    return share_service(read_catalog(Path(API_V2)), profile="business-central")


@ON_SQLITE  # test_every_option tries the same options on every database
def test_an_order_has_lines_and_moves_on(company: Company) -> None:
    customer = company.post("customers", {"number": "c1", "displayName": "Kelvana"}).json()
    assert (customer["number"], customer["blocked"]) == ("C1", "_x0020_")
    order = company.post("salesOrders", {"number": "SO-1", "customerId": customer["id"]}).json()
    assert (order["status"], order["fullyShipped"]) == ("Draft", False)
    path = f"salesOrders({order['id']})"
    line = company.post(f"{path}/salesOrderLines", {"lineType": "Item", "quantity": 4})
    assert line.status_code == 201
    assert line.json()["documentId"] == order["id"]
    assert company.post(f"{path}/Microsoft.NAV.shipAndInvoice", {}).status_code == 204
    changed = company.patch(f"salesOrderLines({line.json()['id']})", {"quantity": 5}, "*")
    assert changed.status_code == 200
    read = company.get(path, "$expand=customer,salesOrderLines").json()
    assert (read["fullyShipped"], read["customer"]["number"]) == (True, "C1")
    (found,) = read["salesOrderLines"]
    assert (found["lineType"], found["quantity"]) == ("Item", 5)
    invoice = company.post("salesInvoices", {"number": "SI-1"}).json()
    path = f"salesInvoices({invoice['id']})"
    assert company.post(f"{path}/Microsoft.NAV.post", {}).status_code == 204
    assert (invoice["status"], company.record(path)["status"]) == ("Draft", "Open")
    assert company.post(f"{path}/Microsoft.NAV.makeCorrectiveCreditMemo", {}).status_code == 501


@ON_SQLITE  # tests/console/test_records.py sorts each set on every database
def test_the_console_sorts_by_the_number(service: Service, company: Company) -> None:
    for number in ("C3", "C1", "C2"):
        company.post("customers", {"number": number})
    table = logged_in(service).get(f"/console/records/customers?company={company.id}").text
    assert re.findall("<bdi>(C[0-9])</bdi>", table) == ["C1", "C2", "C3"]


@ON_SQLITE  # test_every_option tries the same options on every database
def test_a_set_of_the_api_is_meant_by_its_name_and_not_one_of_the_interface(
    company: Company,
) -> None:
    company.post("contacts", {"number": "CT1", "displayName": "Kelvana"})
    company.post("contactsExt", {"number": "CT2", "displayName": "Oskran"})
    for entity_set, number in {"contacts": "CT1", "contactsExt": "CT2"}.items():
        records = company.get(entity_set, "$select=number").json()["value"]
        assert [each["number"] for each in records] == [number]


def test_it_has_the_names_of_the_reference_and_the_interface_keeps_its_sets() -> None:
    model = read_catalog(Path(API_V2))
    types = [each.type.name for each in model.sets]
    assert len(types) == len(set(types))
    assert model.by_name["customers"].type.name == "customer"
    for each in MODEL.sets:
        names = [known.name for known in each.type.properties]
        assert [known.name for known in model.by_name[each.name].type.properties] == names


@ON_SQLITE  # test_own_sets lets a catalog grow on every database
def test_a_database_grows_from_the_interface_to_the_api_and_beyond(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    settings = Settings(database=fresh_database(tmp_path, MODEL))
    assert read_catalog(Path(BASE)) is MODEL
    migrate(settings, read_catalog(Path(API_V2)))
    file = tmp_path / "own.toml"
    file.write_text(OWN, encoding="utf-8")
    larger = read_catalog(file)
    accepted = accepted_catalog(settings)
    assert accepted is not None
    (added,) = changes(accepted, larger.source)
    assert added.text == "sets.customers.properties.region is new"
    migrate(settings, larger)
    assert accepted_catalog(settings) == larger.source
    file.write_text(OWN.replace("region", "city"), encoding="utf-8")
    with pytest.raises(OperatorError) as refused:
        read_catalog(file)
    assert f"{file}:5:1: city is declared in the base." in refused.value.details[0]
