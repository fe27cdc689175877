"""What own properties and sets may declare works in every verb, in files and in documents."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from comptoir.store.growth import changes as changes_between
from comptoir.store.migration import migrate
from support.catalogs import model_of
from support.client import Record
from support.command import Command
from support.companies import Company
from support.console import logged_in
from support.databases import FreshDatabase
from support.history import changes
from support.refusals import error_in
from support.service import Service
from support.together import together

OWN = """comptoir = 1

[sets.parts]
type = "part"
unique = [["number"]]
columns = ["status", "price"]

[sets.parts.properties]
id = "Guid"
number = { type = "String(20)", required = true, code = true }
name = "String(30)"
description = "String"
price = { type = "Decimal(7,2)", minimum = 0.5, maximum = 50_000, default = 2.5 }
stock = { type = "Int32", maximum = 100 }
status = { type = "String", default = "Open" }
active = { type = "Boolean", default = true }
origin = { type = "String(10)", immutable = true }
rank = { type = "Int32", computed = true }
label = { type = "String(60)", derived = "concat(toupper(searchName),': it''s')" }
searchName = { type = "String(30)", derived = "trim(tolower(name))" }
successor = { type = "String(20)" }
successorName = { type = "String(30)", derived = "next/name" }
createdAt = { type = "DateTimeOffset", created_at = true }
changedAt = { type = "DateTimeOffset", modified_at = true }
picture = "Stream"

[sets.parts.navigation]
next = { to = "parts", on = { successor = "number" } }

[sets.notes]
type = "note"
if_match = false

[sets.notes.properties]
id = "Guid"
text = "String"
"""
PART = "parts(number='P1')"


@pytest.fixture(scope="module")
def services(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, Service]]:
    """The profiles `standard` and `business-central` over one database."""
    folder = tmp_path_factory.mktemp("options")
    model = model_of(folder, OWN)
    with Service(fresh_database, folder, model) as standard:
        url = standard.settings.database
        with Service(lambda *_: url, folder, model, profile="business-central") as rehearsed:
            yield standard, rehearsed


@pytest.fixture
def company(services: tuple[Service, Service]) -> Company:
    return services[0].new_company()


@pytest.fixture
def rehearsed(company: Company, services: tuple[Service, Service]) -> Company:
    """The same company in the other profile."""
    client = services[1].client
    root = f"{client.root}/companies({company.id})"
    return replace(company, carrier=services[1], token=client.token, root=root)


def part(company: Company) -> Record:
    record: Record = company.get(PART).json()
    return record


def refused(response_of: Company, values: Record, path: str = PART) -> str:
    response = response_of.patch(path, values, "*")
    assert response.status_code == 400
    return error_in(response.content).message


def test_a_decimal_has_as_many_digits_as_it_declares(company: Company) -> None:
    made = company.post("parts", {"number": "P1", "price": 12345.67})
    assert b'"price":12345.67' in made.content
    few, many = "2 digits after the decimal point.", "5 digits before the decimal point."
    assert refused(company, {"price": 0.125}).startswith(f"price has more than {few}")
    assert refused(company, {"price": 100_000}).startswith(f"price has more than {many}")
    assert company.get("parts/$count", "$filter=price mul 2 eq 24691.34").text.endswith("1")
    metadata = company.get("$metadata").text
    assert 'Name="price" Type="Edm.Decimal" Nullable="false" Precision="7" Scale="2"' in metadata


def test_a_stream_is_read_and_written_at_its_own_address(company: Company) -> None:
    company.post("parts", {"number": "P1", "price": 5})
    assert refused(company, {"picture": "AQI="}).startswith("picture is a stream.")
    path, media = f"{PART}/picture", {"Content-Type": "image/png"}
    assert company.get(path).status_code == 204
    written = company.request("PATCH", path, body=b"\x01\x02", headers={**media, "If-Match": "*"})
    assert written.status_code == 204
    assert company.get(path).content == b"\x01\x02"
    # the bytes are not in the record's body, so its replacement keeps them
    replaced = company.put(PART, {"number": "P1"}, "*").json()
    assert (replaced["price"], "picture" in replaced) == (2.5, False)
    assert company.get(path).content == b"\x01\x02"
    # a history does not repeat the bytes
    _, of_picture, _ = changes(company)
    assert of_picture.before is not None
    assert of_picture.before["picture"] is None
    assert str(part(company)["picture@odata.mediaEditLink"]).endswith("/picture")


def test_an_omitted_property_has_its_default(company: Company, rehearsed: Company) -> None:
    for each in (company, rehearsed):
        made = each.post("parts", {"number": "p1 "}).json()
        found = [made[name] for name in ("number", "price", "status", "active", "stock")]
        assert found == ["P1", 2.5, "Open", True, 0]
        each.patch(PART, {"status": "", "active": False}, "*")
        assert (part(each)["status"], part(each)["active"]) == ("", False)
        assert each.delete(PART, "*").status_code == 204
    company.load("parts", {"number": "P2"})
    assert company.listed("parts")[0]["status"] == "Open"


def test_bounds_are_obeyed(company: Company, rehearsed: Company) -> None:
    company.post("parts", {"number": "P1"})
    for each in (company, rehearsed):
        assert refused(each, {"price": 0}).startswith("price must be between 0.5 and 50000.")
        assert "between -2147483648 and 100." in refused(each, {"stock": 101})
    assert company.get("parts/$count", "$filter=stock add 2147483647 gt 0").text.endswith("1")
    assert company.patch(PART, {"stock": 100, "price": 50_000}, "*").status_code == 200
    batch = {"requests": [{"id": "1", "method": "PATCH", "url": PART, "body": {"price": 0.1},
        "headers": {"If-Match": "*", "Content-Type": "application/json"}}]}  # fmt: skip
    (reply,) = company.post("$batch", batch).json()["responses"]
    assert reply["status"] == 400


def test_only_a_create_sets_what_is_immutable(company: Company, rehearsed: Company) -> None:
    company.post("parts", {"number": "P1", "origin": "DE"})
    assert refused(company, {"origin": "FR"}).startswith("origin is set by a create alone.")
    assert rehearsed.patch(PART, {"origin": "FR"}, "*").status_code == 400
    for each in (company, rehearsed):
        assert each.patch(PART, {"origin": "DE", "name": "x"}, "*").status_code == 200
    assert company.put(PART, {"number": "P1"}, "*").json()["origin"] == "DE"


def test_only_files_set_what_is_computed(company: Company, rehearsed: Company) -> None:
    company.load("parts", {"number": "P1", "rank": 7})
    for verb in (company.patch, company.put):
        assert verb(PART, {"number": "P1", "rank": 8}, "*").json()["rank"] == 7
    assert company.post("parts", {"number": "P2", "rank": 8}).json()["rank"] == 0
    assert rehearsed.patch(PART, {"rank": 8}, "*").status_code == 400
    assert rehearsed.patch(PART, {"rank": 7, "name": "x"}, "*").status_code == 200


def test_the_service_sets_what_is_derived(company: Company, rehearsed: Company) -> None:
    made = company.post("parts", {"number": "P1", "name": " Ada ", "searchName": "own"}).json()
    assert (made["searchName"], made["label"]) == ("ada", "ADA: it's")
    own = {"searchName": "ada", "name": "Bea"}
    changed = rehearsed.patch(PART, own, "*").json()
    assert (changed["searchName"], changed["label"]) == ("bea", "BEA: it's")
    assert company.put(PART, {"number": "P1"}, "*").json()["searchName"] == ""
    company.post("parts", {"number": "P2", "name": "Cleo"})
    assert company.patch(PART, {"successor": "P2"}, "*").json()["successorName"] == "Cleo"
    assert company.patch(PART, {"successor": "P3"}, "*").json()["successorName"] == ""
    company.load("parts", {"number": "P4", "name": "Dora"})
    assert company.get("parts(number='P4')").json()["label"] == "DORA: it's"
    # a value from a file is not kept either
    company.load("parts", {"number": "P5", "searchName": "own"})
    changed = rehearsed.patch("parts(number='P5')", {"name": "Eva"}, "*").json()
    assert changed["searchName"] == "eva"


def test_a_create_sets_its_time(company: Company) -> None:
    made = company.post("parts", {"number": "P1", "createdAt": "2001-01-01T00:00:00Z"}).json()
    assert made["createdAt"] == made["changedAt"] > "2026"
    for verb in (company.patch, company.put):
        changed = verb(PART, {"number": "P1", "name": str(verb)[:20]}, "*").json()
        # all of it may happen within a millisecond
        assert changed["createdAt"] == made["createdAt"] <= changed["changedAt"]
    company.load("parts", {"number": "P2"})
    assert company.get("parts(number='P2')").json()["createdAt"] >= made["createdAt"]


def test_writes_without_etags(company: Company, rehearsed: Company) -> None:
    for each in (company, rehearsed):
        path = f"notes({each.post('notes', {'text': 'a'}).json()['id']})"
        changed = each.patch(path, {"text": "b"})
        assert changed.status_code == 200
        assert each.patch(path, {"text": "c"}, 'W/"0"').status_code in (409, 412)
        assert each.delete(path).status_code == 204
        each.post("parts", {"number": each.id[:8]})
        assert each.patch(f"parts(number='{each.id[:8]}')", {"name": "x"}).status_code >= 400


def test_documents_have_the_options(
    company: Company, rehearsed: Company, services: tuple[Service, Service]
) -> None:
    term = '<Annotation Term="Org.OData.{}" {} />'
    for each in (company, rehearsed):
        metadata = each.get("$metadata").text
        assert 'Name="price" Type="Edm.Decimal" Nullable="false" Precision="7" Scale="2" Def' in (
            metadata
        )
        assert 'DefaultValue="2.5"' in metadata
        assert 'Include Namespace="Org.OData.Validation.V1"' in metadata
        assert 'DefaultValue="true"' in metadata
        assert term.format("Validation.V1.Minimum", 'Decimal="0.5"') in metadata
        assert term.format("Validation.V1.Maximum", 'Int="100"') in metadata
        assert term.format("Core.V1.Immutable", 'Bool="true"') in metadata
        json = each.get("$metadata", "$format=json").content
        assert b'"$DefaultValue":2.5' in json
        assert b'"@Org.OData.Validation.V1.Maximum":100' in json
    document = msgspec.json.decode(services[0].origin.get("docs/openapi.json").content)
    created = document["components"]["schemas"]["part-create"]["properties"]
    price = {each: created["price"][each] for each in ("minimum", "maximum", "default")}
    assert price == {"minimum": 0.5, "maximum": 50_000, "default": 2.5}
    assert not {"rank", "label", "createdAt", "picture"} & created.keys()
    updated = document["components"]["schemas"]["part-update"]["properties"]
    assert "origin" in created
    assert "origin" not in updated


def test_the_console_shows_the_columns_and_the_defaults(
    company: Company, services: tuple[Service, Service]
) -> None:
    company.post("parts", {"number": "P1"})
    browser = logged_in(services[0])
    listed = browser.get(f"/console/records/parts?company={company.id}").text
    found = re.findall(r'<th scope="col"[^>]* title="(\w+): ', listed)
    assert found == ["number", "status", "price"]
    form = browser.get(f"/console/records/parts/new?company={company.id}").text
    assert 'name="field.status" value="Open"' in form


def test_files_have_all_properties(command: Command) -> None:
    file, data = command.folder / "own.toml", command.folder / "parts.ndjson"
    file.write_text(OWN, encoding="utf-8")
    data.write_text('{"number":"P1","rank":3,"picture":"AQI=","origin":"DE"}\n', encoding="utf-8")
    command.done("catalog", "apply", file)
    dumps = []
    for name in ("first", "second"):
        company = command.done("company", "create", name).last
        command.done("load", "--company", company, str(data))
        command.done("dump", "--company", company, str(command.folder / name))
        data = command.folder / name / "parts.ndjson"
        dumps.append(data.read_text(encoding="utf-8"))
    assert dumps[0] == dumps[1]
    loaded = msgspec.json.decode(dumps[0])
    given = {"rank": 3, "picture": "AQI=", "origin": "DE"}
    assert loaded.items() >= {**given, "active": True, "price": 2.5}.items()
    data.write_text('{"number":"P2","price":0.1}\n', encoding="utf-8")
    problem = command.here("load", "--company", company, str(data))
    assert "must be between 0.5 and 50000" in problem.out + problem.err


GROWTH = {
    "maximum = 50_000": ("maximum = 60_000", ""),
    "minimum = 0.5": ("minimum = 1", "sets.parts.properties.price.minimum is 1 and was 0.5"),
    "maximum = 100 ": ("maximum = 99 ", "sets.parts.properties.stock.maximum is 99 and was 100"),
    "Decimal(7,2)": ("Decimal(9,4)", ""),
    'Decimal(7,2)"': ('Decimal(9,1)"', "price.type is Decimal(9,1) and was Decimal(7,2)"),
    'columns = ["status", "price"]': ("if_match = false", ""),
    'default = "Open"': ('default = "New"', "properties.status.default is New and was Open"),
    'description = "String"\n': ("", "sets.parts.properties.description is missing"),
    ", immutable = true": ("", "sets.parts.properties.origin.immutable is missing"),
    'text = "String"': ('text = "String"\nrank = { type = "Int32", default = 5 }', ""),
}


@together("old", GROWTH)
def test_what_keeps_stored_values_valid_is_an_addition(old: str, tmp_path: Path) -> None:
    new, problem = GROWTH[old]
    assert OWN.count(old) == 1
    grown = model_of(tmp_path, f"{OWN.replace(old, new)}\n")
    found = changes_between(model_of(tmp_path, OWN).source, grown.source)
    refused = [each.text for each in found if not each.is_addition]
    assert [problem in each for each in refused] == ([True] if problem else [])


def test_additions_are_applied_and_existing_records_get_the_default_of_a_new_property(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    with Service(fresh_database, tmp_path, model_of(tmp_path, OWN)) as service:
        company = service.new_company()
        note = company.post("notes", {"text": "a"})
        text = OWN
        for old, (new, problem) in GROWTH.items():
            text = text if problem else text.replace(old, new)
        added = 'text = "String"\nlevel = { type = "Decimal(5,2)", default = 1.5 }'
        grown = model_of(tmp_path, text.replace('text = "String"', added))
        migrate(service.settings, grown)
        company.post("notes", {"text": "b"})
        with Service(lambda *_: service.settings.database, tmp_path, grown) as later:
            there = replace(company, carrier=later)
            found = there.get("notes", "$filter=level eq 1.5&$count=true").json()
            assert found["@odata.count"] == 2
            again = there.get(f"notes({note.json()['id']})").json()
            assert (again["level"], again["@odata.etag"]) == (1.5, note.json()["@odata.etag"])
