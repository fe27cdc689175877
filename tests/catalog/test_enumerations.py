"""An enumeration of a catalog is the type of properties: stored and sent as a member's name."""

from dataclasses import replace
from pathlib import Path

import pytest

from comptoir.store.growth import changes
from comptoir.store.migration import migrate
from support.catalogs import model_of
from support.command import Command
from support.companies import Company
from support.console import logged_in
from support.databases import FreshDatabase
from support.service import Service, StartService
from support.together import together

CATALOG = """comptoir = 1
namespace = "Own"

[sets.things]
type = "thing"
unique = [["number", "grade"]]

[sets.things.properties]
id = "Guid"
number = "String(20)"
grade = "Level"
kind = { type = "Kind", description = "What it is." }

[enums]
Level = ["None", "Silver", "Gold"]
Kind = [" ", ["Bar_x0020_Code", "Bar code"], "Two Words"]
Unused = ["A"]
"""
LARGER = CATALOG.replace('"Gold"', '["Gold", "Gold level"], "Platinum"')
LEVELS, PLACE = '["None", "Silver", "Gold"]', "enums.Level.members"
MEMBERS = "'None', 'Silver', 'Gold'"


@pytest.fixture(scope="module")
def service(share_service: StartService, tmp_path_factory: pytest.TempPathFactory) -> Service:
    return share_service(model_of(tmp_path_factory.mktemp("catalog"), CATALOG))


@pytest.fixture
def company(service: Service) -> Company:
    company = service.new_company()
    for number, grade in (("1", "Gold"), ("2", "Silver"), ("3", "None")):
        company.post("things", {"number": number, "grade": grade, "kind": "Bar_x0020_Code"})
    return company


def test_the_console_shows_captions(company: Company, service: Service) -> None:
    browser = logged_in(service)
    [thing, *_] = company.listed("things")

    listed = browser.get(f"/console/records/things?company={company.id}").text
    page, query = "/console/records/things", f"?company={company.id}"
    record = browser.get(f"{page}/record{query}&key={thing['id']}")
    form = browser.get(f"{page}/record/edit{query}&key={thing['id']}")
    spreadsheet = browser.get(f"{page}/csv{query}")

    assert "<bdi>Bar code</bdi>" in listed
    assert '<button name="is.kind" value="Bar_x0020_Code">' in listed
    assert "<bdi>Bar code</bdi>" in record.text
    assert '<option value="Bar_x0020_Code" selected>Bar code</option>' in form.text
    assert ",Bar code" in spreadsheet.text


def numbers(company: Company, query: str) -> list[str]:
    return [each["number"] for each in company.get("things", query).json()["value"]]


def test_a_record_has_the_name_of_a_member(company: Company) -> None:
    made = company.post("things", {"number": "4"}).json()
    assert (made["grade"], made["kind"]) == ("None", "_x0020_")
    path = f"things({made['id']})"
    assert company.patch(path, {"grade": "Gold"}, "*").json()["grade"] == "Gold"
    for sent, name in (("Bar code", "Bar_x0020_Code"), ("Two Words", "Two_x0020_Words")):
        assert company.patch(path, {"kind": sent}, "*").json()["kind"] == name
    assert company.get(f"{path}/kind").json()["value"] == "Two_x0020_Words"
    assert company.get("things(number='4',grade='Gold')").status_code == 200
    full = company.get(path, "$format=application/json;odata.metadata=full").json()
    assert full["grade@odata.type"] == "#Own.Level"


@together(
    ("query", "found"),
    [
        ("$filter=grade eq 'Gold'", ["1"]),
        ("$filter=grade eq Own.Level'Gold'", ["1"]),
        ("$filter=Own.Level'None' eq grade", ["3"]),
        ("$filter=grade in (Own.Level'Gold','None')&$orderby=number", ["1", "3"]),
        ("$filter=grade ne 'None'&$orderby=number desc", ["2", "1"]),
        ("$filter=grade eq @g&@g=Own.Level'Silver'", ["2"]),
        ("$filter=kind eq 'Bar code'&$orderby=number", ["1", "2", "3"]),
        ("$filter=contains(grade,'il')", ["2"]),
        ("$search=gold", ["1"]),
        ("$orderby=grade", ["1", "3", "2"]),
    ],
)
def test_filters_and_orders_use_members(company: Company, query: str, found: list[str]) -> None:
    assert numbers(company, query) == found


@together(
    "query",
    [
        "$filter=grade eq 'Bronze'",
        "$filter=grade eq Own.Level'Bronze'",
        "$filter=grade eq Own.Kind'Gold'",
        "$filter=grade in ('Gold','Bronze')",
        "$filter=grade eq Own.Level'1'",
    ],
)
def test_a_filter_with_another_text_names_the_members(company: Company, query: str) -> None:
    refused = company.get("things", query)
    assert (refused.status_code, MEMBERS in refused.json()["error"]["message"]) == (400, True)


def test_writes_and_keys_with_another_text_name_the_members(company: Company) -> None:
    for sent in ("Bronze", "gold", "Gold "):
        refused = company.post("things", {"number": "9", "grade": sent})
        assert refused.status_code == 400
        message = refused.json()["error"]["message"]
        assert message.startswith(f"grade must be one of the options {MEMBERS}, not ")
    for body, members in ({"grade": 1}, MEMBERS), ({"kind": "x" * 5_000}, "'_x0020_', 'Bar_x0020_"):
        refused = company.post("things", body)
        assert (refused.status_code, members in refused.json()["error"]["message"]) == (400, True)
    refused = company.get("things(number='1',grade='Bronze')")
    assert (refused.status_code, MEMBERS in refused.json()["error"]["message"]) == (400, True)


def test_metadata_declares_the_enumerations_that_are_used(service: Service) -> None:
    document = service.client.get("$metadata").text
    assert document.count("<EnumType ") == 2
    assert '<Member Name="Bar_x0020_Code" Value="1" />' in document
    assert '<Property Name="grade" Type="Own.Level" Nullable="false" />' in document
    declared = service.client.get("$metadata", "$format=application/json").json()["Own"]
    assert declared["Level"] == {"$Kind": "EnumType", "None": 0, "Silver": 1, "Gold": 2}
    assert declared["thing"]["grade"] == {"$Type": "Own.Level"}
    schemas = service.origin.get("docs/openapi.json").json()["components"]["schemas"]
    for name in ("thing", "thing-create", "thing-update"):
        assert schemas[name]["properties"]["grade"]["enum"] == ["None", "Silver", "Gold"]


def test_captions_are_sent_by_request_under_the_other_profile(
    start_service: StartService, tmp_path: Path
) -> None:
    service = start_service(model_of(tmp_path, CATALOG), profile="business-central")
    company = service.new_company()
    made = company.post("things", {"number": "1", "kind": "Bar_x0020_Code"})
    assert made.json()["kind"] == "Bar_x0020_Code"
    assert '"Microsoft.NAV.Kind"' in service.client.get("$metadata").text
    for query, found in (
        ("$filter=kind eq Microsoft.NAV.Kind'Bar_x0020_Code'", "Bar_x0020_Code"),
        ("$filter=kind eq 'Bar code'&$schemaversion=1.0", "Bar code"),
        ("$orderby=kind&$schemaversion=1.0", "Bar code"),
    ):
        (record,) = company.get("things", query).json()["value"]
        assert record["kind"] == found


def test_members_are_added_at_the_end(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    with Service(fresh_database, tmp_path, model_of(tmp_path, CATALOG)) as service:
        company = service.new_company()
        company.post("things", {"number": "1", "grade": "Gold"})
        larger = model_of(tmp_path, LARGER)
        migrate(service.settings, larger)
        with Service(lambda *_: service.settings.database, tmp_path, larger) as grown:
            there = replace(company, carrier=grown)
            there.post("things", {"number": "2", "grade": "Platinum"})
            # the name is stored, and not the caption, which is another one now
            assert numbers(there, "$filter=grade eq 'Gold'") == ["1"]
        # a process with the earlier catalog answers what it does not know, and keeps it
        (found,) = company.get("things", "$filter=number eq '2'").json()["value"]
        assert found["grade"] == "Platinum"
        path = f"things({found['id']})"
        sent = {"grade": "Platinum", "kind": "Two_x0020_Words"}
        assert company.patch(path, sent, "*").json()["grade"] == "Platinum"


@together(
    ("members", "is_addition"),
    [
        ('["None", "Silver", "Gold", "Platinum"]', True),
        ('[["None", ""], "Silver", ["Gold", "Gold level"]]', True),
        ('["None", "Gold", "Silver"]', False),
        ('["None", "Silver"]', False),
    ],
)
def test_members_are_neither_moved_nor_removed(members: str, is_addition: bool) -> None:
    former = f'{{"enums": {{"Level": {LEVELS}}}}}'
    for wanted in (members, f'{{"members": {members}}}'):
        (change,) = changes(former, f'{{"enums": {{"Level": {wanted}}}}}')
        assert (change.is_addition, change.text.split(" ")[0]) == (is_addition, PLACE)


def test_files_have_names_or_captions(command: Command) -> None:
    file, data = command.folder / "own.toml", command.folder / "things.csv"
    file.write_text(CATALOG, encoding="utf-8")
    data.write_text("number,grade,kind\n1,Gold,Bar code\n2,,Two_x0020_Words\n", encoding="utf-8")
    command.done("catalog", "apply", str(file))
    company = command.done("company", "create", "Acme").out.splitlines()[-1]
    command.done("load", "--company", company, str(data))
    command.done("dump", "--company", company, str(command.folder / "out"))
    dumped = (command.folder / "out" / "things.ndjson").read_text()
    assert '"grade":"Gold"' in dumped
    assert '"kind":"Bar_x0020_Code"' in dumped
    data.write_text("number,grade\n3,Bronze\n", encoding="utf-8")
    assert MEMBERS in command.here("load", "--company", company, str(data)).err
